#!/usr/bin/env python3
"""Assemble the kernels of models with NVIDIA's ptxas and print what they use.

usage: check-ptx.py [--build DIR] [--ptxas FILE] [--arch 75,80,90] MODEL.onnx... [-- FLAG...]

Each model is compiled for each architecture. A kernel that does not assemble, or whose registers spill to memory, is a
failure. Needs ptxas (of CUDA 12 or later; `pip install nvidia-cuda-nvcc-cu12` in an environment of its own has it), but
no device. Flags of onnx-aot-compile may follow after --: "-- --train --loss=mse" checks the kernels of a training.
"""
import argparse
import pathlib
import re
import shutil
import sys
import tempfile

import harness


def read_kernels(text):
    """Yields (name, registers, bytes of shared memory, bytes spilled) from what `ptxas -v` prints."""
    name, spilled = "", 0
    for line in text.splitlines():
        if found := re.search(r"Compiling entry function '(\w+)'", line):
            name = found.group(1)
        elif found := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            spilled = int(found.group(1)) + int(found.group(2))
        elif found := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            yield name, int(found.group(1)), int(shared.group(1)) if shared else 0, spilled


def split_programs(text):
    """The PTX of each program of a training, by name; of a model for inference the one that there is."""
    parts = re.split(r"^// ----- (\w+)\n", text, flags=re.M)
    return {"": text} if len(parts) == 1 else dict(zip(parts[1::2], parts[2::2]))


def check(model, architecture, options, tally, work):
    """Compiles and assembles one model for one architecture."""
    title = f"{model.stem} sm_{architecture}"
    ptx = work / "kernels.ptx"
    done = harness.run_limited([harness.tool(options.build, "onnx-aot-compile"), model, "--device=cuda",
                                f"--gpu-arch=sm_{architecture}", "--emit=ptx", "-o", ptx, *options.flags], 300,
                               16 * harness.GIB)
    if not tally.check(f"{title}: compile", "" if done.status == 0 else done.message() or done.ending()):
        return
    for program, text in split_programs(ptx.read_text()).items():
        ptx.write_text(text)
        assemble(f"{title} {program}".strip(), architecture, options, tally, work)


def assemble(title, architecture, options, tally, work):
    """Assembles one text, and says what its kernels use."""
    ptx = work / "kernels.ptx"
    done = harness.run_limited([options.ptxas, f"-arch=sm_{architecture}", "-v", ptx, "-o", work / "kernels.cubin"],
                               300, 16 * harness.GIB)
    if not tally.check(f"{title}: assemble", "" if done.status == 0 else done.err.strip()[-300:] or done.ending()):
        return
    kernels = list(read_kernels(done.err))
    spilling = [name for name, _, _, spilled in kernels if spilled]
    most = max((registers for _, registers, _, _ in kernels), default=0)
    tally.check(f"{title}: spills", f"{', '.join(spilling)} spill" if spilling else "",
                f"{len(kernels)} kernels, at most {most} registers")
    if options.verbose:
        for name, registers, shared, _ in kernels:
            print(f"      {name}: {registers} registers, {shared} bytes of shared memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("models", type=pathlib.Path, nargs="+", metavar="MODEL.onnx")
    parser.add_argument("--ptxas", default=shutil.which("ptxas"), help="default: the one in PATH")
    parser.add_argument("--arch", default="75,80,90", help="architectures (default: %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="print every kernel")
    options = harness.parse_arguments(parser)
    if not options.ptxas:
        sys.exit("there is no ptxas in PATH: give --ptxas")
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        for model in options.models:
            for architecture in options.arch.split(","):
                check(model, architecture, options, tally, pathlib.Path(work))
    tally.finish()


if __name__ == "__main__":
    main()
