#!/usr/bin/env python3
"""Measure operators compiled for sizes that only the run knows beside the same compiled for those sizes.

usage: dynamic.py [--build DIR] [--filter RE] [--rounds N] [--seconds S] [--max-ratio R] [-- FLAG...]

Both are run in turns, on one thread; the ratio is that of the minima. FLAGS go to onnx-aot-compile.
"""
import argparse
import json
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import harness  # noqa: E402
import page  # noqa: E402

CASES = {}  # name: (nodes, {input: [(symbol or None, size)]}, constants)


def case(name, steps, inputs, **constants):
    """`steps` are "y = Op a b", or such a text with attributes; a size "M=128" is the symbol M, one without is fixed."""
    nodes = []
    for step in steps:
        text, attributes = (step, {}) if isinstance(step, str) else step
        result, op, *names = text.replace("=", "").split()
        nodes.append(helper.make_node(op, names, [result], **attributes))
    sizes = {n: [(d.split("=")[0], int(d.split("=")[1])) if "=" in d else (None, int(d)) for d in text.split()]
             for n, text in inputs.items()}
    CASES[name] = (nodes, sizes, constants)


def weights(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


for m, n, k in ((1, 768, 768), (7, 768, 768), (100, 768, 768), (128, 3072, 768), (129, 768, 3072), (1000, 1001, 77)):
    case(f"gemm {m}x{n}x{k}", ["p = MatMul x w", "s = Add p b", "y = Relu s"], {"x": f"M={m} {k}"}, w=weights(k, n), b=weights(n))
for m, n, k in ((100, 100, 64), (512, 512, 512)):
    case(f"gemm, all free {m}x{n}x{k}", ["y = MatMul x w"], {"x": f"M={m} K={k}", "w": f"K={k} N={n}"})
for h, m, n, k in ((12, 128, 128, 64), (12, 100, 100, 64), (12, 17, 17, 64), (2, 512, 512, 512)):
    case(f"batch matmul {h}x{m}x{n}x{k}", ["y = MatMul a b"], {"a": f"H={h} M={m} K={k}", "b": f"H={h} K={k} N={n}"})
for size, c in ((56, 64), (55, 64), (28, 128), (14, 256), (13, 64)):
    # At free sizes there is no Winograd: both are the direct sum.
    case(f"conv 3x3 {size}x{size}x{c}", [("p = Conv x w b", dict(pads=[1] * 4)), "y = Relu p"],
         {"x": f"1 {c} H={size} W={size}"}, w=weights(c, c, 3, 3), b=weights(c))
for m, n in ((128, 768), (1536, 128), (64, 1001)):
    case(f"layernorm {m}x{n}", ["y = LayerNormalization x s b"], {"x": f"M={m} {n}"}, s=weights(n), b=weights(n))
    case(f"softmax {m}x{n}", ["y = Softmax x"], {"x": f"M={m} N={n}"})
    case(f"elementwise {m}x{n}", ["p = Add x b", "q = Mul p s", "y = Relu q"], {"x": f"M={m} N={n}", "b": f"N={n}", "s": f"N={n}"})
case("elementwise 1000000", ["p = Add x b", "q = Mul p s", "y = Relu q"], {"x": "N=1000000", "b": "N=1000000", "s": "N=1000000"})
for h, m, d in ((12, 128, 64), (4, 1024, 64)):
    case(f"attention {h}x{m}x{d}", [("t = Transpose k", dict(perm=[0, 1, 3, 2])), "s = MatMul q t", "u = Mul s c",
                                    "p = Softmax u", "y = MatMul p v"],
         {n: f"B=1 {h} S={m} {d}" for n in "qkv"}, c=np.float32(d ** -0.5))


def build(name, dynamic):
    nodes, sizes, constants = CASES[name]
    graph = helper.make_graph(
        nodes, "dynamic", [helper.make_tensor_value_info(
            n, TensorProto.FLOAT, [symbol if dynamic and symbol else size for symbol, size in dims])
            for n, dims in sizes.items()], [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def measure(name, options, work):
    """Returns the least time of both in ms: (static, dynamic)."""
    runs = []
    for dynamic in (False, True):
        path = work / f"{int(dynamic)}.onnx"
        onnx.save(build(name, dynamic), path)
        flags = ["--strict-fp"] if name.startswith("conv") else []
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-compile"), path, "-o", path.with_suffix(".so"),
                                    *flags, *options.flags], 120)
        if done.status:
            raise RuntimeError(f"{name}: {done.message()}")
        symbols = {s: n for dims in CASES[name][1].values() for s, n in dims if s} if dynamic else {}
        runs.append([harness.tool(options.build, "onnx-aot-run"), path.with_suffix(".so"), "--random-inputs=1", "--threads", 1,
                     "--bench", options.seconds, "--json", *(f"--dim={s}={n}" for s, n in symbols.items())])
    times = [[], []]
    for _ in range(options.rounds):
        for command, into in zip(runs, times):
            done = harness.run_limited(command, 120)
            if done.status:
                raise RuntimeError(f"{name}: {done.message()}")
            into.append(json.loads(done.out.strip().splitlines()[-1])["min_ms"])
    return tuple(map(min, times))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only cases whose name matches")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each side in each round")
    parser.add_argument("--max-ratio", type=float, help="exit with status 1 when a ratio is above")
    options = harness.parse_arguments(parser)
    chosen = [name for name in CASES if re.search(options.filter, name)]
    rows, ratios, progress = [["kernel", "static us", "dynamic us", "ratio"]], [], harness.Progress(len(chosen))
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            static, dynamic = measure(name, options, pathlib.Path(work))
        ratios.append(dynamic / static)
        rows.append([name, f"{1e3 * static:.1f}", f"{1e3 * dynamic:.1f}", f"{ratios[-1]:.2f}"])
        progress.step(name)
    page.print_table(rows)
    sys.exit(1 if not ratios or (options.max_ratio and max(ratios) > options.max_ratio) else 0)


if __name__ == "__main__":
    main()
