#!/usr/bin/env python3
"""Convolutions with constant weights and what follows them, against direct sums in 64-bit floats.

usage: convolutions.py [--build DIR] [-- FLAG of onnx-aot-compile...]

The shapes are those at which code generation changes its ways: even and odd images, channels that fill vectors and
that do not, strides, groups, a residual. Every error is measured against what the terms of each sum add up to in
absolute value, times the rounding unit of 32-bit floats: the size of error that any order of summation may have.
Results must be the same bytes with 1 and with 3 threads.
"""
import argparse
import itertools
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

# (batch, channels, outputs, height, width, kernel, stride, pad, groups, tail)
CASES = [
    (1, 32, 32, 8, 12, 3, 1, 1, 1, ""), (1, 32, 64, 14, 14, 3, 1, 1, 1, "bias relu"),
    (1, 64, 32, 7, 7, 3, 1, 1, 1, "bias add relu"), (1, 32, 32, 16, 16, 3, 1, 1, 1, "add relu"),
    (2, 48, 64, 10, 9, 3, 1, 0, 1, "bias"), (3, 64, 64, 9, 10, 3, 1, 1, 1, "relu add"),
    (1, 64, 64, 28, 28, 3, 1, 1, 1, "bias clip"), (1, 64, 64, 13, 11, 3, 2, 1, 1, "bias relu"),
    (1, 33, 47, 12, 12, 3, 1, 1, 1, "bias relu"), (1, 64, 64, 12, 12, 1, 1, 0, 1, "bias add relu"),
    (1, 32, 32, 15, 14, 3, 1, 1, 32, "bias relu"), (1, 64, 64, 12, 12, 3, 1, 1, 2, "bias"),
    (1, 3, 32, 33, 31, 7, 2, 3, 1, "bias relu"), (1, 64, 64, 4, 4, 3, 1, 1, 1, ""),
]
# Bound of the error in units of the rounding unit times the sum of absolute terms.
BOUND = 8


def convolve(x, w, stride, pad, groups):
    """Direct sum: x is N x C x H x W, w is K x C/groups x R x S."""
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    kernel, outputs, inner = w.shape[2], w.shape[0] // groups, w.shape[1]
    rows, columns = ((size - kernel) // stride + 1 for size in x.shape[2:])
    y = np.zeros((x.shape[0], w.shape[0], rows, columns))
    for g, r, s in itertools.product(range(groups), range(kernel), range(kernel)):
        part = x[:, g * inner:(g + 1) * inner, r:r + stride * rows:stride, s:s + stride * columns:stride]
        mine = slice(g * outputs, (g + 1) * outputs)
        y[:, mine] += np.einsum("nchw,kc->nkhw", part, w[mine, :, r, s])
    return y


def build(number, case, rng):
    """Returns nodes, inputs, weights, the expected result and the size of its rounding errors."""
    batch, channels, outputs, height, width, kernel, stride, pad, groups, tail = case
    x = rng.standard_normal((batch, channels, height, width)).astype(np.float32)
    w = rng.standard_normal((outputs, channels // groups, kernel, kernel)).astype(np.float32)
    want = convolve(*(a.astype(np.float64) for a in (x, w)), stride, pad, groups)
    size = convolve(*(np.abs(a).astype(np.float64) for a in (x, w)), stride, pad, groups)
    inputs, weights, at = {f"x{number}": x}, {f"w{number}": w}, f"c{number}"
    names = [f"x{number}", f"w{number}"]
    if "bias" in tail:
        weights[f"b{number}"] = rng.standard_normal(outputs).astype(np.float32)
        names.append(f"b{number}")
        want += weights[f"b{number}"].astype(np.float64)[:, None, None]
    nodes = [helper.make_node("Conv", names, [at], strides=[stride] * 2, pads=[pad] * 4, group=groups)]
    for step in tail.replace("bias", "").split():
        operands, result = [at], f"{at}_{step}"
        if step == "add":
            inputs[f"r{number}"] = rng.standard_normal(want.shape).astype(np.float32)
            operands.append(f"r{number}")
            want = want + inputs[f"r{number}"]
        else:
            want = np.maximum(want, 0)
        if step == "clip":
            weights.update({f"lo{number}": np.float32(0), f"hi{number}": np.float32(6)})
            operands += [f"lo{number}", f"hi{number}"]
            want = np.minimum(want, 6)
        nodes.append(helper.make_node(step.capitalize(), operands, [result]))
        at = result
    return nodes, inputs, weights, {at: want}, size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    rng = np.random.default_rng(5)
    parts = [build(number, case, rng) for number, case in enumerate(CASES)]
    nodes = [node for part in parts for node in part[0]]
    inputs, weights, wanted = ({k: v for part in parts for k, v in part[i].items()} for i in (1, 2, 3))
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "convolutions", [helper.make_tensor_value_info(n, floats, a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info(n, floats, a.shape) for n, a in wanted.items()],
        [numpy_helper.from_array(a, n) for n, a in weights.items()])
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10),
                  work / "model.onnx")
        np.savez(work / "in.npz", **inputs)
        runner = [harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs", work / "in.npz"]
        for command in ([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o",
                         work / "model.so", *options.flags],
                        [*runner, "--threads", 1, "--outputs", work / "1.npz"],
                        [*runner, "--threads", 3, "--outputs", work / "3.npz"]):
            done = harness.run_limited(command, 300)
            if not tally.check(pathlib.Path(command[0]).name,
                               "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
                tally.finish()
        with np.load(work / "1.npz") as one, np.load(work / "3.npz") as three:
            for case, part in zip(CASES, parts):
                (name, want), size = *part[3].items(), part[4]
                error = np.max(np.abs(one[name] - want) / (size * np.finfo(np.float32).eps / 2 + 1e-30))
                tally.check(f"{case}: {error:.2f} rounding units", "" if error <= BOUND else f"above {BOUND}")
                tally.check(f"{case}: threads", "" if np.array_equal(one[name], three[name]) else "not the same bytes")
    tally.finish()


if __name__ == "__main__":
    main()
