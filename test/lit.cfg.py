import os
import shutil
import subprocess

import lit.formats

config.name = "onnx-aot"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.join(config.source_dir, "test")
config.test_exec_root = os.path.join(config.build_dir, "test")
config.excludes = ["Inputs", "CMakeLists.txt"]
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.build_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%build-dir", config.build_dir))
# Stands in for the CUDA driver.
config.substitutions.append(("%emulator", os.path.join(config.build_dir, "lib", "libonnx-aot-emulator.so")))

# Objects for other processors run where a C library and an emulator are there.
for arch in ["aarch64", "riscv64"]:
    if shutil.which(f"{arch}-linux-gnu-gcc") and shutil.which(f"qemu-{arch}"):
        config.available_features.add(f"{arch}-emulator")

def find_python():
    """The Python that has the onnx package: tests write their models with it."""
    deps = os.environ.get("ONNX_AOT_DEPS", "")
    for python in (os.path.join(deps, "venv/bin/python"), os.path.join(config.source_dir, ".venv/bin/python"),
                   shutil.which("python3"), config.python):
        if python and os.path.exists(python) and subprocess.run([python, "-c", "import onnx"],
                                                                stderr=subprocess.DEVNULL).returncode == 0:
            return python
    return None


onnx_python = find_python()
if onnx_python:
    config.available_features.add("onnx")
    config.substitutions.append(
        ("%make-model", f"{onnx_python} {config.test_source_root}/Import/Inputs/make-model.py"))
    config.substitutions.append(("%onnx-python", onnx_python))
