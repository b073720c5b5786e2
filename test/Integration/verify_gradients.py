#!/usr/bin/env python3
"""Verify the gradients of whole models by `--verify-gradients`: right ones pass, wrong ones are noticed and named.

usage: verify_gradients.py [--build DIR]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

RNG = np.random.default_rng(5)
BATCH = 6


def values(*shape, scale=0.5):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


class Net:
    """A model under construction: each method adds a node and returns its output."""

    def __init__(self, name, x):
        self.name, self.nodes, self.parameters, self.x = name, [], [], x
        self.last, self.targets = "x", {}

    def weight(self, name, array):
        self.parameters.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op, *more, outputs=1, first=True, **attributes):
        out = f"v{len(self.nodes)}"
        names = [out] + [f"{out}_{i}" for i in range(1, outputs)]
        inputs = ([self.last] if first else []) + list(more)
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        self.last = out
        return out

    def save(self, path, kind=np.float32):
        shape = ["N", *self.x.shape[1:]]
        typed = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(self.x.dtype), shape)]
        graph = helper.make_graph(self.nodes, self.name, typed, [helper.make_empty_tensor_value_info(self.last)], self.parameters)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)


def mlp():
    net = Net("mlp", values(BATCH, 5))
    net.add("MatMul", net.weight("w1", values(5, 8)))
    net.add("Add", net.weight("b1", np.zeros(8, np.float32)))
    net.add("LayerNormalization", net.weight("scale", np.ones(8, np.float32)), net.weight("bias", values(8)))
    net.add("Relu")
    net.add("Dropout", net.weight("ratio", np.float32(0.3)), net.weight("on", np.array(True)))
    net.add("Gemm", net.weight("w2", values(8, 4)), net.weight("b2", values(4)))
    return net


def cnn():
    net = Net("cnn", values(BATCH, 2, 8, 8, scale=1.0))
    net.add("Conv", net.weight("conv", values(3, 2, 3, 3)), pads=[1, 1, 1, 1])
    net.add("BatchNormalization", net.weight("scale", np.ones(3, np.float32)), net.weight("shift", values(3)),
            net.weight("mean", np.zeros(3, np.float32)), net.weight("var", np.ones(3, np.float32)), outputs=3, training_mode=1)
    net.add("Relu")
    net.add("Resize", "", net.weight("scales", np.array([1, 1, 0.5, 2], np.float32)), mode="linear")
    net.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    net.add("Flatten")
    net.add("Gemm", net.weight("w", values(48, 4, scale=0.2)))
    return net


def sequence():
    net = Net("sequence", RNG.integers(0, 7, (BATCH, 5)))
    tokens = net.weight("tokens", values(7, 4))
    net.nodes.append(helper.make_node("Gather", [tokens, "x"], ["rows"]))
    net.last = "rows"
    net.add("Transpose", perm=[1, 0, 2])
    net.add("LSTM", net.weight("w", values(1, 12, 4)), net.weight("r", values(1, 12, 3)), net.weight("b", values(1, 24)), hidden_size=3)
    net.add("ReduceMean", net.weight("axes", np.array([0, 1])), keepdims=0)
    # One matrix used twice, and the table of tokens once more at the end.
    net.add("MatMul", net.weight("square", values(3, 3)))
    net.add("Tanh")
    net.add("MatMul", "square")
    net.add("Gemm", net.weight("up", values(3, 4)))
    net.add("Gemm", tokens, transB=1)
    return net


def parts():
    """A sequence in the middle: cut, one part twice, joined."""
    net = Net("parts", values(BATCH, 6))
    net.add("MatMul", net.weight("below", values(6, 6)))
    net.add("Tanh")
    cut = net.add("SplitToSequence", net.weight("sizes", np.array([2, 1, 3])), axis=1)
    ends = [net.nodes.append(helper.make_node("SequenceAt", [cut, net.weight(f"at{i}", np.array(i))], [f"part{i}"])) or f"part{i}"
            for i in (0, 2)]
    net.nodes.append(helper.make_node("SequenceConstruct", [ends[1], ends[0], ends[1]], ["chosen"]))
    net.last = "chosen"
    net.add("ConcatFromSequence", axis=1)
    net.add("MatMul", net.weight("above", values(8, 4)))
    return net


def rounded():
    """Round is differentiated straight through: the loss does not change as that says."""
    net = Net("rounded", values(BATCH, 5))
    net.add("MatMul", net.weight("below", values(5, 4)))
    net.add("Round")
    net.add("MatMul", net.weight("above", values(4, 4)))
    return net


class Bench:
    def __init__(self, options, work):
        self.work = work
        self.compiler, self.runner = (str(harness.tool(options.build, f"onnx-aot-{t}")) for t in ("compile", "run"))

    def prepare(self, net, classes):
        net.save(self.work / f"{net.name}.onnx")
        np.savez(self.work / f"{net.name}.npz", x=net.x, labels=RNG.integers(0, classes, BATCH))

    def compile(self, name, output, *flags):
        done = subprocess.run([self.compiler, self.work / f"{name}.onnx", "--train", "--loss=cross-entropy", *flags,
                               "-O1", "-o", self.work / output], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr.strip()[-400:]

    def verify(self, name, module, *flags):
        done = subprocess.run([self.runner, self.work / module, "--train", self.work / f"{name}.npz", "--verify-gradients", "--json",
                               *flags], capture_output=True, text=True)
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None, done.stderr.strip()[-400:]


def check_right(bench, tally, net, flags, bound):
    where = "float64" if flags else "float32"
    name = f"{net.name}: gradients are right in {where}"
    problem = bench.compile(net.name, "net.so", *flags)
    if problem:
        return tally.check(name, problem)
    status, result, error = bench.verify(net.name, "net.so")
    if status or not result:
        return tally.check(name, f"status {status}: {error} {result}")
    trained = {p.name for p in net.parameters if p.data_type == TensorProto.FLOAT} - {"ratio", "mean", "var", "scales"}
    told = {row["parameter"] for row in result["parameters"]}
    bad = [row for row in result["parameters"] if row["verdict"] != "right" or row["error"] > bound and row["norm"] > 1e-3]
    return tally.check(name, f"{told} are checked, not {trained}" if told != trained else f"{bad}" if bad else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        bench = Bench(options, pathlib.Path(work))
        for net, classes in ((mlp(), 4), (cnn(), 4), (sequence(), 7), (parts(), 4)):
            bench.prepare(net, classes)
            check_right(bench, tally, net, ["--verify-gradients"], 1e-6)
            check_right(bench, tally, net, [], 5e-2)
        net = rounded()
        bench.prepare(net, 4)
        problem = bench.compile("rounded", "rounded.so", "--verify-gradients")
        status, result, error = bench.verify("rounded", "rounded.so") if not problem else (None, None, problem)
        verdicts = {row["parameter"]: row["verdict"] for row in (result or {"parameters": []})["parameters"]}
        tally.check("a gradient that is not the loss's is noticed, and named",
                    "" if verdicts == {"below": "WRONG", "above": "right"} and status == 1 and result["wrong"] == 1
                    else f"status {status}: {verdicts} {error}")
    tally.finish()


if __name__ == "__main__":
    main()
