#!/usr/bin/env python3
"""Break kernels on purpose and see that the emulator's checks notice.

Each barrier of a kernel and each wait for copies is taken out, each edge predicate made always true, one at a time; the
run must end with an error or a wrong answer. A mutation that nobody notices is a hole in the tests, or code that is not needed.
usage: gpu-mutations.py [--build DIR] [--filter RE]
"""
import argparse
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402

TYPES = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}
# Model and the sizes of its inputs: large enough for a second slice and a second warp, and odd. What SIZES has are
# symbols: products copy their first slice by code of its own, which has to meet an end of the reduction too.
MODELS = {
    "contraction": ("MatMul", {}, {"x": ("m", "k"), "v": ("k", 70)}),
    "rows": ("Softmax", {"axis": 1}, {"x": (3, 1100)}),
    "sums": ("ReduceL1", {"axes": [1]}, {"x": (3, 1100)}),
    "short rows": ("Softmax", {"axis": 1}, {"x": (9, 40)}),
    "point": ("Tanh", {}, {"x": (3, 100)}),
    "transpose": ("Transpose", {"perm": [1, 0]}, {"x": (67, 50)}),
    "tensor": ("MatMul", {}, {"x": (67, 50), "v": (50, 72)}),
    "attention": ("Attention", {}, {"q": (1, 1, 67, 33), "k": (1, 1, 70, 33), "v": (1, 1, 70, 24)}),
    "split_row": ("ReduceL1", {"axes": [1]}, {"x": (2, 140000)}),
    "split_column": ("ReduceL1", {"axes": [0]}, {"x": ("m", 50)}),
    "split": ("MatMul", {}, {"x": (9, "k"), "v": ("k", 17)}),
}
SIZES = {"contraction": [{"m": 67, "k": 37}, {"m": 67, "k": 9}], "split": [{"k": 600}, {"k": 9}],
         "split_column": [{"m": 300}, {"m": 3}]}
# What is looked for in a kernel's text, and what stands there afterwards.
BARRIER = re.compile(r"^\s*nvvm\.barrier0\n", re.M)
COPIES = re.compile(r"^\s*nvvm\.cp\.async\.(wait|commit)\.group.*\n", re.M)
EDGE = re.compile(r"^(\s*%\d+ = )llvm\.and %\d+, %\d+\s*: i1$", re.M)
BOUND = re.compile(r"^(\s*%\d+ = )llvm\.icmp \"(?:slt|eq)\" %\d+, %\d+ : i32$", re.M)


def mutations(family, text):
    """Yields (what, text) for each way to break the kernels of a module."""
    host, kernels = text[:text.index("gpu.module")], text[text.index("gpu.module"):]
    for what, broken in kernel_mutations(family, kernels):
        yield what, host + broken


def kernel_mutations(family, text):
    """The same for the kernels alone."""
    for number, found in enumerate(BARRIER.finditer(text)):
        yield f"barrier {number}", text[:found.start()] + text[found.end():]
    for number, found in enumerate(COPIES.finditer(text)):
        yield f"{found.group(1)} {number}", text[:found.start()] + text[found.end():]
    # Products have their edges in conjunctions, the others have one bound each. On tensor cores all results of a thread
    # are stored by the same code again and again, in attention scores are computed so.
    edges = list((EDGE if family in ("attention", "contraction", "split", "tensor", "transpose") else BOUND).finditer(text))
    for number, found in enumerate(edges[:{"attention": 10, "tensor": 4}.get(family)]):
        always = found.group(1) + "llvm.mlir.constant(true) : i1"
        yield f"edge {number}", text[:found.start()] + always + text[found.end():]


class Mutator:
    """Compiles a model to kernels, and mutated kernels to modules."""

    def __init__(self, build, work):
        harness.emulate_device(build)
        self.work = work
        self.tools = {name: harness.tool(build, f"onnx-aot-{name}") for name in ("compile", "opt", "run")}

    def call(self, name, *arguments):
        return harness.run_limited([self.tools[name], *arguments], 60, 8 * harness.GIB)

    def kernels(self, op, attributes, inputs, kind):
        """Returns the module's text with its kernels, in the LLVM dialect."""
        values = [helper.make_tensor_value_info(n, TYPES[kind], s) for n, s in inputs.items()]
        graph = helper.make_graph([helper.make_node(op, list(inputs), ["y"], **attributes)], "model", values,
                                  [helper.make_empty_tensor_value_info("y")])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23 if op == "Attention" else 17)])
        model.ir_version = 10
        onnx.save(model, self.work / "model.onnx")
        linalg, kernels = self.work / "linalg.mlir", self.work / "kernels.mlir"
        done = self.call("compile", self.work / "model.onnx", "--emit=linalg", "-o", linalg)
        if done.status == 0:
            done = self.call("opt", linalg, "--pass-pipeline=builtin.module(gpu-codegen{architecture=80})", "-o", kernels)
        return kernels.read_text() if done.status == 0 else sys.exit(done.message() or done.ending())

    def answer(self, text, inputs):
        """Runs kernels; returns their output, or the reason why there is none."""
        mutated, emulated, module = (self.work / n for n in ("mutated.mlir", "emulated.mlir", "model.so"))
        mutated.write_text(text)
        (self.work / "out.npz").unlink(missing_ok=True)
        steps = (("opt", mutated, "--pass-pipeline=builtin.module(gpu.module(gpu-emulate-device))", "-o", emulated),
                 ("compile", emulated, "--device=cuda", "--gpu-arch=emu", "-o", module))
        for step in steps:
            done = self.call(*step)
            if done.status != 0:
                sys.exit(f"a mutated module does not compile: {done.message() or done.ending()}")
        np.savez(self.work / "in.npz", **inputs)
        done = self.call("run", module, "--inputs", self.work / "in.npz", "--outputs", self.work / "out.npz")
        if done.status != 0:
            return done.message() or done.ending()
        with np.load(self.work / "out.npz") as file:
            return file["y"]


def notice(mutator, broken, feeds, whole):
    """Returns (problem, what is noticed) for broken kernels, in the first order of threads and blocks that shows it."""
    for inputs, right in zip(feeds, whole):
        for order, blocks in (("forward", "0"), ("reverse", "0"), ("forward", "1"), ("reverse", "1")):
            os.environ["ONNX_AOT_EMULATOR_ORDER"], os.environ["ONNX_AOT_EMULATOR_BLOCKS"] = order, blocks
            got = mutator.answer(broken, inputs)
            if isinstance(got, str):
                return "", got[:110]
            if not np.array_equal(got, right):
                return "", "wrong answer"
    return "nobody notices", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only families whose name matches")
    options = parser.parse_args()
    tally = harness.Tally()
    random = np.random.default_rng(3)
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        mutator = Mutator(options.build, pathlib.Path(work))
        for family, (op, attributes, shapes) in MODELS.items():
            if not re.search(options.filter, family):
                continue
            kind = np.float16 if family == "tensor" else np.float32
            feeds = [{n: random.standard_normal([sizes.get(d, d) for d in s]).astype(kind) for n, s in shapes.items()}
                     for sizes in SIZES.get(family, [{}])]
            text = mutator.kernels(op, attributes, shapes, kind)
            if family in ("attention", "split_column", "split_row", "tensor", "transpose") and \
                    not tally.check(f"{family}: its kernel", "" if f"@{family}_" in text else "another family"):
                continue
            whole = [mutator.answer(text, inputs) for inputs in feeds]
            if not tally.check(f"{family}: as it is", next((w for w in whole if isinstance(w, str)), "")):
                continue
            found = list(mutations(family, text))
            tally.check(f"{family}: {len(found)} mutations", "" if found else "nothing to break")
            for what, broken in found:
                tally.check(f"{family}: without {what}", *notice(mutator, broken, feeds, whole))
    tally.finish()


if __name__ == "__main__":
    main()
