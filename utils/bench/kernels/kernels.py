#!/usr/bin/env python3
"""Measure single operators, compiled by onnx-aot-compile, beside what the machine can do at best.

usage: kernels.py [--build DIR] [--filter RE] [--seconds S] [--json FILE] [-- FLAG...]

Each operator runs on one thread at several shapes: those that compute are told in GFLOP/s and percent of the FMA peak
measured in the same run, those that move data in GB/s and percent of the speed of reading memory (what fits in a
cache is faster than that). FLAGs go to onnx-aot-compile.
"""
import json
import pathlib
import argparse
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
import harness  # noqa: E402

CASES = {}  # name: (model, floating-point operations or 0)


def case(name, op, inputs, flops=0, weights=(), opset=23, **attributes):
    """A model of one node; `inputs` and `weights` are shapes, the weights constant."""
    names = [f"x{i}" for i in range(len(inputs))] + [f"w{i}" for i in range(len(weights))]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)], "kernel",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, inputs)],
        [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(w if isinstance(w, np.ndarray) else
                                 np.random.default_rng(1).standard_normal(w).astype(np.float32), n)
         for n, w in zip(names[len(inputs):], weights)])
    note(name, graph, flops, opset)


def note(name, graph, flops=0, opset=23):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    CASES[name] = (onnx.shape_inference.infer_shapes(model), flops)


def formula(name, steps, inputs, outputs, flops=0, **constants):
    """A model of several nodes, "y = Op a b" each; `inputs` maps names to shapes."""
    nodes = []
    for step in steps:
        result, op, *names = step.replace("=", "").split()
        attributes = dict(perm=[0, 1, 3, 2]) if op == "Transpose" else {}
        nodes.append(helper.make_node(op, names, [result], **attributes))
    note(name, helper.make_graph(
        nodes, "kernel", [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(np.float32(v), n) for n, v in constants.items()]), flops)


def integer_product(m, n, k):
    rng = np.random.default_rng(1)
    weights = rng.integers(-128, 128, (k, n)).astype(np.int8)
    note(f"gemm-int8/{m}x{n}x{k}", helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w", "z"], ["y"])], "kernel",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, (m, k))], [helper.make_empty_tensor_value_info("y")],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(np.uint8(121), "z")]), 2 * m * n * k)


for m, n, k in ((1, 1024, 1024), (64, 64, 64), (128, 768, 768), (128, 3072, 768), (512, 512, 512), (1024, 1024, 1024)):
    case(f"gemm/{m}x{n}x{k}", "MatMul", [(m, k)], 2 * m * n * k, [(k, n)])
    case(f"gemm-both-inputs/{m}x{n}x{k}", "MatMul", [(m, k), (k, n)], 2 * m * n * k)
for c, size, kernel, stride in ((3, 224, 7, 2), (64, 56, 1, 1), (64, 56, 3, 1), (128, 28, 3, 1), (256, 14, 3, 1),
                                (512, 7, 3, 1), (512, 7, 1, 1)):
    out = 64 if c == 3 else c
    count = (size // stride) ** 2
    case(f"conv/{c}x{size}-{kernel}x{kernel}-{out}", "Conv", [(1, c, size, size)],
         2 * count * out * c * kernel * kernel, [(out, c, kernel, kernel)], strides=[stride] * 2,
         pads=[kernel // 2] * 4)
for c, size, kernel in ((32, 112, 3), (144, 56, 3), (384, 14, 3), (960, 7, 3), (384, 14, 5)):
    case(f"depthwise/{c}x{size}-{kernel}x{kernel}", "Conv", [(1, c, size, size)], 2 * c * size * size * kernel * kernel,
         [(c, 1, kernel, kernel)], group=c, pads=[kernel // 2] * 4)
for rows, columns in ((12 * 128, 128), (64, 50257), (4096, 64)):
    case(f"softmax/{rows}x{columns}", "Softmax", [(rows, columns)])
for rows, columns in ((128, 768), (1024, 1024)):
    case(f"layernorm/{rows}x{columns}", "LayerNormalization", [(rows, columns)], 0, [(columns,), (columns,)])
for m, n, k in ((128, 768, 768), (1024, 1024, 1024)):
    integer_product(m, n, k)
for heads, length, depth in ((12, 64, 64), (12, 128, 64), (8, 512, 64), (12, 2048, 64)):
    shape = (1, heads, length, depth)
    formula(f"attention/{heads}x{length}x{depth}",
            ["t = Transpose k", "s = MatMul q t", "u = Mul s scale", "p = Softmax u", "y = MatMul p v"],
            {"q": shape, "k": shape, "v": shape}, "y", 4 * heads * length * length * depth, scale=depth ** -0.5)
for count in (1 << 12, 1 << 18, 1 << 23):
    case(f"add/{count}", "Add", [(count,)] * 2)
    case(f"relu/{count}", "Relu", [(count,)])
    case(f"exp/{count}", "Exp", [(count,)])
    case(f"gelu/{count}", "Gelu", [(count,)])
for rows, columns in ((1024, 1024), (64, 50257)):
    for axis in (0, 1):
        case(f"reduce-sum-axis{axis}/{rows}x{columns}", "ReduceSum", [(rows, columns)], 0, [np.array([axis], np.int64)])
    case(f"transpose/{rows}x{columns}", "Transpose", [(rows, columns)], perm=[1, 0])
for count in (1 << 12, 1 << 18, 1 << 23):
    state = {n: (count,) for n in "pgmv"}
    formula(f"sgd/{count}", ["s = Mul g rate", "q = Sub p s"], {n: (count,) for n in "pg"}, "q", rate=1e-3)
    formula(f"momentum/{count}", ["a = Mul m decay", "n = Add a g", "s = Mul n rate", "q = Sub p s"],
            {n: (count,) for n in "pgm"}, "nq", rate=1e-3, decay=0.9)
    formula(f"adam/{count}", ["a = Mul m b1", "b = Mul g c1", "n = Add a b", "c = Mul v b2", "d = Mul g g", "e = Mul d c2",
                              "w = Add c e", "f = Sqrt w", "h = Add f epsilon", "i = Div n h", "s = Mul i rate",
                              "q = Sub p s"], state, "nwq", b1=0.9, c1=0.1, b2=0.999, c2=1e-3, epsilon=1e-8, rate=1e-3)


def bytes_moved(model):
    """Bytes of the inputs, weights and outputs."""
    total = sum(numpy_helper.to_array(t).nbytes for t in model.graph.initializer)
    for value in [*model.graph.input, *model.graph.output]:
        tensor = value.type.tensor_type
        size = helper.tensor_dtype_to_np_dtype(tensor.elem_type).itemsize
        total += size * int(np.prod([d.dim_value for d in tensor.shape.dim]))
    return total


def measure_peak(work):
    """GFLOP/s of fused multiply-adds and GB/s of reading memory, of one core."""
    program = work / "peak"
    subprocess.run(["clang-22", "-O3", "-march=native", "-ffp-contract=fast", HERE.parent / "peak.c", "-o", program],
                   check=True)
    return map(float, subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only cases whose name matches")
    parser.add_argument("--seconds", type=float, default=0.2, metavar="S", help="time for each case")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the figures there")
    options = harness.parse_arguments(parser)
    compiler = harness.tool(options.build, "onnx-aot-compile")
    program = harness.tool(options.build, "onnx-aot-kernel-bench")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as folder:
        work, lines = pathlib.Path(folder), []
        for number, (name, (model, flops)) in enumerate(CASES.items()):
            if not re.search(options.filter, name):
                continue
            path = work / f"{number}.onnx"
            onnx.save(model, path)
            done = harness.run_limited([compiler, path, "-o", path.with_suffix(".so"), *options.flags], 120)
            if done.status:
                print(f"{name}: {done.message()}", file=sys.stderr)
                failed = 1
                continue
            lines.append(f"{name} {path.with_suffix('.so')} {flops} {bytes_moved(model)}\n")
        (work / "cases.txt").write_text("".join(lines))
        gflops, gbytes = measure_peak(work)
        done = subprocess.run([program, work / "cases.txt", "--benchmark_format=json",
                               f"--benchmark_min_time={options.seconds}"], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit("the measuring program failed")
        figures = json.loads(done.stdout)["benchmarks"]
    print(f"one core's peak in this run: {gflops:.0f} GFLOP/s (FMA), {gbytes:.0f} GB/s (reading memory)\n")
    print(f"{'kernel':38} {'time us':>10} {'GFLOP/s':>9} {'of peak':>8} {'GB/s':>8} {'of peak':>8}")
    for figure in figures:
        if figure.get("error_occurred"):
            print(f"{figure['name']}: {figure['error_message']}")
            failed = 1
            continue
        speed, moved = figure["flops"] / 1e9, figure["bytes"] / 1e9
        computed = f"{speed:9.1f} {100 * speed / gflops:7.0f}%" if speed else " " * 18
        print(f"{figure['name']:38} {figure['cpu_time']:10.1f} {computed} {moved:8.1f} {100 * moved / gbytes:7.0f}%")
    if options.json:
        options.json.write_text(json.dumps({"peak_gflops": gflops, "peak_gbytes": gbytes, "kernels": figures}, indent=1))
    return failed


if __name__ == "__main__":
    sys.exit(main())
