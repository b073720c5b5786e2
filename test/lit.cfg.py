import os
import shutil

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

# Objects for other processors run where a C library and an emulator are there.
for arch in ["aarch64", "riscv64"]:
    if shutil.which(f"{arch}-linux-gnu-gcc") and shutil.which(f"qemu-{arch}"):
        config.available_features.add(f"{arch}-emulator")
