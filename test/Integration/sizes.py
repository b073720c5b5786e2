#!/usr/bin/env python3
"""Give modules with symbolic sizes every combination of small, zero and huge ones.

usage: sizes.py [--build DIR] [--filter RE] [-- FLAG...]

With small sizes a module gives onnxruntime's values; where onnxruntime refuses, it refuses with a reason, or there are
no elements in a result or an input. With huge ones `plan` answers or refuses with a reason. Neither ever ends by a signal.
A few zero sizes are given to the compiler too: what it then makes gives the same.
"""
import argparse
import itertools
import pathlib
import random
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402

SMALL = (0, 1, 2, 3, 4, 7)
HUGE = (0, 1, 5, 2**31, 2**40)
RUNS, PLANS, FIXED = 12, 6, 3  # of each model
MODELS = {}
VALUES = {}  # the small sizes of a model, where onnxruntime has other rules for some


def model(name, nodes, inputs, outputs=("y",), **constants):
    """Notes a model of float inputs {name: shape}; `nodes` are (op, inputs, outputs, attributes), `_` no input."""
    made = [helper.make_node(op, ["" if n == "_" else n for n in ins.split()], outs.split(), name=f"the_{op}_{i}",
                             **attributes)
            for i, (op, ins, outs, attributes) in enumerate(nodes)]
    graph = helper.make_graph(
        made, name, [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_empty_tensor_value_info(o) for o in outputs],
        [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    MODELS[name] = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def single(op, inputs, name=None, attributes=None, **constants):
    model(name or op, [(op, " ".join([*inputs, *constants]), "y", attributes or {})], inputs, **constants)


def weight(*shape):
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def i64(*values):
    return np.array(values, np.int64)


IMAGE = {"x": ["N", 2, "H", "W"]}
single("Conv", IMAGE, w=weight(4, 2, 3, 3))
single("Conv", IMAGE, "Conv strided", {"strides": [2, 3], "dilations": [1, 2]}, w=weight(4, 2, 3, 2))
single("Conv", IMAGE, "Conv padded", {"pads": [1, 0, 2, 1]}, w=weight(2, 2, 5, 5))
single("Conv", IMAGE, "Conv same", {"auto_pad": "SAME_LOWER", "strides": [2, 2]}, w=weight(2, 2, 3, 4))
single("Conv", IMAGE, "Conv depthwise", {"group": 2}, w=weight(2, 1, 3, 3))
single("Conv", {"x": ["N", 2, "T"]}, "Conv of rank 1", {"strides": [2]}, w=weight(3, 2, 4))
single("ConvTranspose", IMAGE, None, {"pads": [2, 2, 1, 1], "strides": [2, 1]}, w=weight(2, 3, 3, 3))
single("MaxPool", IMAGE, None, {"kernel_shape": [3, 3], "strides": [2, 1]})
single("MaxPool", IMAGE, "MaxPool ceil", {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1],
                                          "ceil_mode": 1})
single("AveragePool", IMAGE, None, {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1]})
single("GlobalAveragePool", IMAGE)
model("Conv Relu MaxPool", [("Conv", "x w", "a", {"pads": [1, 1, 1, 1]}), ("Relu", "a", "b", {}),
                            ("MaxPool", "b", "y", {"kernel_shape": [4, 4], "strides": [3, 3]})], IMAGE,
      w=weight(3, 2, 3, 3))
model("Conv ReduceSum", [("Conv", "x w", "a", {}), ("ReduceSum", "a", "y", {"keepdims": 0})], IMAGE,
      w=weight(3, 2, 3, 3))
single("MatMul", {"a": ["M", "K"], "b": ["L", "N"]})
single("Gemm", {"a": ["M", "K"], "b": ["N", "K2"]}, None, {"transB": 1})
single("Add", {"a": ["M", "N"], "b": ["M2", "N2"]})
single("Concat", {"a": ["M", "N"], "b": ["M2", "N2"]}, None, {"axis": 1})
single("Softmax", {"x": ["M", "N"]})
single("LayerNormalization", {"x": ["M", "N"], "s": ["N2"]})
single("ReduceMax", {"x": ["M", "N"]}, None, {"keepdims": 0}, axes=i64(1))
single("ReduceMean", {"x": ["M", "N"]}, None, {"keepdims": 1}, axes=i64(0))
single("Reshape", {"x": ["M", "N"]}, None, None, shape=i64(-1, 6))
single("Reshape", {"x": ["M", "N", "K"]}, "Reshape to zeros", None, shape=i64(0, -1))
single("Flatten", {"x": ["M", "N", "K"]})
single("Tile", {"x": ["M", "N"]}, None, None, repeats=i64(3, 2**10))
single("Pad", {"x": ["M", "N"]}, None, None, pads=i64(-2, 1, 0, -1))
single("Slice", {"x": ["M", "N"]}, None, None, starts=i64(1, -2), ends=i64(2**62, 5), axes=i64(0, 1), steps=i64(2, 1))
single("Max", {"x": ["M", 5, 0, "N"]}, "Max without elements", c=weight(1, 7))
single("Split", {"x": ["M", "N"]}, None, {"axis": 0}, split=i64(3))
single("DepthToSpace", {"x": ["N", "C", "H", "W"]}, None, {"blocksize": 2})
model("Resize", [("Resize", "x  s", "y", {"mode": "nearest"})], IMAGE, s=np.float32([1, 1, 2, 2**10]))
MODELS["Resize"].graph.node[0].input[:] = ["x", "", "s"]
model("Shape arithmetic", [("Shape", "x", "s", {}), ("Mul", "s s", "t", {}), ("Sub", "t s", "u", {}),
                           ("ConstantOfShape", "u", "y", {})], {"x": ["M", "N"]})
model("Expand", [("Shape", "b", "s", {}), ("Expand", "a s", "y", {})], {"a": ["M", "N"], "b": ["M2", "N2"]})
model("Transpose MatMul Softmax", [("Transpose", "a", "t", {"perm": [1, 0]}), ("MatMul", "a t", "u", {}),
                                   ("Softmax", "u", "v", {}), ("MatMul", "v a", "y", {})], {"a": ["M", "N"]})
single("GroupNormalization", {"x": ["N", "C", "H"], "s": ["C2"], "b": ["C3"]}, None, {"num_groups": 2})
for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    # A state of a fixed batch, and one of another batch than the input. Nothing at all ends onnxruntime by a signal.
    VALUES[f"{op} with a constant state"] = VALUES[f"{op} with a state"] = (1, 2, 3)
    layer = {"w": weight(1, 2 * gates, 3), "r": weight(1, 2 * gates, 2)}
    model(f"{op} with a constant state", [(op, "x w r _ _ h", "y z", {"hidden_size": 2})], {"x": ["T", "B", 3]},
          ("y", "z"), h=weight(1, 2, 2), **layer)
    model(f"{op} with a state", [(op, "x w r _ _ h", "y z", {"hidden_size": 2})],
          {"x": ["T", "B", 3], "h": [1, "B2", 2]}, ("y", "z"), **layer)
single("Einsum", {"a": ["B", "I", "J"], "b": ["B", "J2", "K"]}, None, {"equation": "bij,bjk->bik"})
single("InstanceNormalization", {"x": ["N", "C", "L"]}, s=weight(3), b=weight(3))
single("BatchNormalization", {"x": ["N", "C", "L"]}, s=weight(3), b=weight(3), m=weight(3), v=weight(3) + 2)
single("Conv", {**IMAGE, "w": [3, 2, 1, 1], "b": ["B"]}, "Conv with a bias")
single("Conv", {"x": ["N", "C", "H", "W"]}, "Conv of groups", {"group": 2}, w=weight(4, 2, 1, 1))
single("GridSample", {"x": ["N", 1, "H", "W"], "g": ["M", 3, 3, "S"]})
single("Det", {"x": ["M", "N"]})
single("Squeeze", {"x": ["M", "N"]}, None, None, axes=i64(0))
model("Squeeze of all", [("Squeeze", "x", "h", {}), ("Add", "h b", "y", {})], {"x": ["M", "N"]}, b=weight(2, 2))
single("LSTM", {"x": ["T", "B", "I"], "w": [1, "G", 2], "r": [1, 12, "H"]}, None, {"hidden_size": 3})
single("GRU", {"x": ["T", "B", 2], "w": [1, 9, 2], "r": [1, 9, 3], "b": [1, "K"]}, None, {"hidden_size": 3})
single("Resize", IMAGE, "Resize to a list", {"mode": "linear"}, roi=weight(0), s=np.float32([1, 1, 2, 2]))
single("OneHot", {"v": ["V"]})
MODELS["OneHot"].graph.node[0].input[:] = ["i", "d", "v"]
MODELS["OneHot"].graph.initializer.extend([numpy_helper.from_array(i64(0, 2), "i"), numpy_helper.from_array(i64(3), "d")])


# onnxruntime rounds the number of windows to zero, ignores tensors without elements in Concat, and takes 0 for their
# mean.
VALUES.update({"MaxPool": (0, 1, 3, 4, 7), "Conv Relu MaxPool": (0, 1, 4, 5, 7), "Concat": (1, 2, 3, 7),
               "Conv ReduceSum": (0, 1, 3, 4), "ReduceMean": (1, 2, 7), "Einsum": (0, 2, 3),
               "Squeeze of all": (0, 2, 3, 4)})


def symbols_of(proto):
    return sorted({d.dim_param for i in proto.graph.input for d in i.type.tensor_type.shape.dim if d.dim_param})


def choose(symbols, values, count, seed):
    """Some of all combinations, the same ones in every run."""
    every = list(itertools.product(values, repeat=len(symbols)))
    return [dict(zip(symbols, c)) for c in random.Random(seed).sample(every, min(count, len(every)))]


def make_inputs(proto, sizes):
    inputs = {}
    for value in proto.graph.input:
        shape = [sizes.get(d.dim_param, d.dim_value) for d in value.type.tensor_type.shape.dim]
        count = int(np.prod(shape))
        inputs[value.name] = (np.arange(count, dtype=np.float32) % 7 - 3).reshape(shape)
    return inputs


def check_run(tool, module, session, proto, sizes, work):
    """Returns what is wrong with a run, or an empty text."""
    inputs = make_inputs(proto, sizes)
    try:
        wanted = session.run(None, inputs)
    except Exception:  # onnxruntime has many kinds of error
        wanted = None
    np.savez(work / "in.npz", **inputs)
    done = harness.run_limited([tool, module, "--inputs", work / "in.npz", "--outputs", work / "out.npz"])
    if done.status not in (0, 1):
        return f"{done.ending()}: {done.message()}"
    if done.status == 1:
        if wanted is not None:
            return f"refused, onnxruntime gives {wanted[0].shape}: {done.message()}"
        return "" if len(done.message()) > 20 else f"no reason: {done.message()}"
    with np.load(work / "out.npz") as file:
        got = [file[o.name] for o in proto.graph.output]
    if wanted is None:
        empty = not any(a.size for a in got) or any(a.size == 0 for a in inputs.values())
        return "" if empty else f"a result of shape {got[0].shape}, onnxruntime refuses"
    for have, want in zip(got, wanted):
        if problem := harness.compare(have, want, rtol=1e-5, atol=1e-5).problem:
            return problem
    return ""


def check_fixed(compiler, runner, flags, session, proto, sizes, work):
    """Compiles for these sizes alone; the compiler may refuse what a run would refuse."""
    dims = [f"--dim={name}={size}" for name, size in sizes.items()]
    done = harness.run_limited([compiler, work / "model.onnx", "-o", work / "fixed.so", *dims, *flags])
    if done.status == 0:
        return check_run(runner, work / "fixed.so", session, proto, sizes, work)
    try:
        session.run(None, make_inputs(proto, sizes))
    except Exception:
        return "" if done.status == 1 and len(done.message()) > 20 else f"{done.ending()}: {done.message()}"
    return f"refused, onnxruntime does not: {done.message()}"


def check_plan(tool, module, sizes):
    dims = [f"--dim={name}={size}" for name, size in sizes.items()]
    done = harness.run_limited([tool, module, "--info", *dims])
    if done.status not in (0, 1):
        return f"{done.ending()}: {done.message()}"
    return f"no reason: {done.message()}" if done.status == 1 and len(done.message()) < 20 else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only models whose name matches")
    options = harness.parse_arguments(parser)
    compiler, runner = (harness.tool(options.build, t) for t in ("onnx-aot-compile", "onnx-aot-run"))
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level = 4
    tally = harness.Tally()
    for name, proto in MODELS.items():
        if not re.search(options.filter, name):
            continue
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as folder:
            work = pathlib.Path(folder)
            onnx.save(proto, work / "model.onnx")
            done = harness.run_limited([compiler, work / "model.onnx", "-o", work / "model.so", *options.flags])
            if not tally.check(f"{name}: compile", "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
                continue
            session = onnxruntime.InferenceSession(proto.SerializeToString(), quiet,
                                                   providers=["CPUExecutionProvider"])
            symbols = symbols_of(proto)
            for sizes in choose(symbols, VALUES.get(name, SMALL), RUNS, name):
                tally.check(f"{name}: run {sizes}",
                            check_run(runner, work / "model.so", session, proto, sizes, work))
            zero = [s for s in choose(symbols, VALUES.get(name, SMALL), 1000, name) if 0 in s.values()]
            for sizes in zero[:FIXED]:
                tally.check(f"{name}: fixed {sizes}",
                            check_fixed(compiler, runner, options.flags, session, proto, sizes, work))
            for sizes in choose(symbols, HUGE, PLANS, name):
                tally.check(f"{name}: plan {sizes}", check_plan(runner, work / "model.so", sizes))
    tally.finish()


if __name__ == "__main__":
    main()
