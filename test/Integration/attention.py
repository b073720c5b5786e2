#!/usr/bin/env python3
"""Attention in the forms in which exporters write it, against the formula in 64-bit floats.

usage: attention.py [--build DIR] [-- FLAG of onnx-aot-compile...]

Products, scale, mask, softmax, products, with heads split by reshapes and transpositions or given as such, sizes known
or not, blocks of rows that are full and that are not. Results are the same bytes with 1, 2, 3 and 8 threads, a mask
that hides every key gives what the softmax of equal numbers does, and the memory for a long sequence stays far
below that of its matrix of scores.
"""
import argparse
import dataclasses
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
from onnx import helper, numpy_helper  # noqa: E402

FLOAT, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL
LOWEST = float(np.finfo(np.float32).min)


@dataclasses.dataclass
class Case:
    """`layout`: flat (batch, sequence, heads * size), heads (batch, heads, sequence, size), or plain (sequence, size)."""
    name: str
    queries: int
    keys: int
    size: int = 32
    batch: int = 1
    heads: int = 2
    layout: str = "flat"
    scale: str = "mul"  # mul or div of the scores, or query: of the queries
    mask: str = ""  # add, where, or hidden: add, with a row that sees nothing
    dynamic: bool = False
    small_arena: bool = False


CASES = [
    Case("bert", 128, 128, 64, 1, 4, mask="add"), Case("causal", 64, 64, 64, 1, 3, mask="where"),
    Case("free sizes", 37, 37, 32, 2, 3, mask="add", scale="div", dynamic=True),
    Case("free sizes, full blocks", 128, 128, 32, 1, 2, mask="add", dynamic=True),
    Case("heads apart", 50, 70, 24, 2, 2, layout="heads", scale="query"),
    Case("heads apart, free", 33, 65, 40, 2, 2, layout="heads", dynamic=True),
    Case("one head", 19, 300, 16, layout="plain"), Case("one query", 1, 77, 64, 2, 4, mask="add"),
    Case("one free query", 1, 77, 64, 2, 4, mask="add", dynamic=True), Case("two queries", 2, 5, 3),
    Case("vision", 197, 197, 64, 1, 3), Case("odd", 67, 13, 7, 3, 5, mask="where"),
    Case("all hidden", 40, 24, 16, 2, 2, mask="hidden"), Case("long", 1024, 1024, 64, 1, 4, small_arena=True),
    Case("long, free", 1500, 1500, 64, 1, 4, mask="add", dynamic=True, small_arena=True),
    Case("very long", 256, 9000, 16, 1, 2, small_arena=True),
]


def draw(case, rng):
    """Returns the inputs by name."""
    def tensor(sequence):
        shape = {"flat": (case.batch, sequence, case.heads * case.size), "plain": (sequence, case.size),
                 "heads": (case.batch, case.heads, sequence, case.size)}[case.layout]
        return rng.standard_normal(shape).astype(np.float32)

    inputs = {"q": tensor(case.queries), "k": tensor(case.keys), "v": tensor(case.keys)}
    if case.mask in ("add", "hidden"):
        inputs["m"] = np.where(rng.random((case.batch, 1, 1, case.keys)) < 0.3, LOWEST, 0).astype(np.float32)
        if case.mask == "hidden":
            inputs["m"] = np.repeat(inputs["m"], case.queries, axis=2)
            inputs["m"][:, :, 3] = LOWEST
    elif case.mask == "where":
        inputs["m"] = np.tri(case.queries, case.keys, dtype=bool)[None, None]
    return inputs


def build(case, inputs):
    """Writes the graph as exporters do."""
    declared = []
    for name, array in inputs.items():
        shape = list(array.shape)
        if case.dynamic:  # equal sizes have equal names
            length = "Q" if name == "q" or case.queries == case.keys else "K"
            free = {"flat": {0: "B", 1: length}, "plain": {0: length}, "heads": {0: "B", 2: length}}[case.layout]
            for axis, symbol in ({0: "B", 3: length} if name == "m" else free).items():
                shape[axis] = symbol
        declared.append(helper.make_tensor_value_info(name, BOOL if array.dtype == bool else FLOAT, shape))
    scale = np.float32(case.size ** -0.5 if case.scale != "div" else case.size ** 0.5)
    constants = {"scale": scale, "hidden": np.float32(-1e9),
                 "split": np.array([0, 0, case.heads, case.size], np.int64),
                 "merge": np.array([0, 0, case.heads * case.size], np.int64)}
    nodes, at = [], {}

    def add(op, *names, **attributes):
        nodes.append(helper.make_node(op, names, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    for name in "qkv":
        value = add("Reshape", name, "split") if case.layout == "flat" else name
        order = {"flat": [0, 2, 3, 1] if name == "k" else [0, 2, 1, 3], "heads": [0, 1, 3, 2], "plain": [1, 0]}
        turned = case.layout == "flat" or name == "k"
        at[name] = add("Transpose", value, perm=order[case.layout]) if turned else value
    if case.scale == "query":
        at["q"] = add("Mul", at["q"], "scale")
    scores = add("MatMul", at["q"], at["k"])
    if case.scale != "query":
        scores = add(case.scale.capitalize(), scores, "scale")
    if case.mask in ("add", "hidden"):
        scores = add("Add", scores, "m")
    elif case.mask == "where":
        scores = add("Where", "m", scores, "hidden")
    y = add("MatMul", add("Softmax", scores, axis=-1), at["v"])
    if case.layout == "flat":
        y = add("Reshape", add("Transpose", y, perm=[0, 2, 1, 3]), "merge")
    graph = helper.make_graph(nodes, "attention", declared, [helper.make_empty_tensor_value_info(y)],
                              [numpy_helper.from_array(a, n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), y


def expect(case, inputs):
    """The formula, in float64."""
    def heads(name):
        array = inputs[name].astype(np.float64)
        if case.layout == "flat":
            return array.reshape(case.batch, -1, case.heads, case.size).transpose(0, 2, 1, 3)
        return array
    scores = heads("q") @ heads("k").swapaxes(-1, -2) * case.size ** -0.5
    if case.mask in ("add", "hidden"):
        # In 32 bits the lowest number swallows any score.
        scores = (scores.astype(np.float32) + inputs["m"]).astype(np.float64)
    elif case.mask == "where":
        scores = np.where(inputs["m"], scores, -1e9)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = weights / weights.sum(axis=-1, keepdims=True) @ heads("v")
    return y.transpose(0, 2, 1, 3).reshape(inputs["q"].shape) if case.layout == "flat" else y


def run(case, options, work, tally, rng):
    inputs = draw(case, rng)
    model, output = build(case, inputs)
    onnx.save(model, work / "model.onnx")
    np.savez(work / "in.npz", **inputs)
    runner = [harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs", work / "in.npz"]
    commands = [[harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o", work / "model.so",
                 *options.flags]]
    commands += [[*runner, "--threads", n, "--outputs", work / f"{n}.npz"] for n in (1, 2, 3, 8)]
    for command in commands:
        done = harness.run_limited(command, 120)
        if done.status != 0:
            tally.check(case.name, f"{pathlib.Path(command[0]).name}: {done.ending()}: {done.message()}")
            return
    results = [np.load(work / f"{n}.npz")[output] for n in (1, 2, 3, 8)]
    tally.check(case.name, harness.compare(results[0], expect(case, inputs).astype(np.float32), rtol=0,
                                           atol=2e-6 * max(1, case.keys / 2048), scaled=True).problem)
    tally.check(f"{case.name}: threads",
                "" if all(np.array_equal(results[0], r) for r in results) else "not the same bytes")
    if case.small_arena:
        done = harness.run_limited([*runner, "--bench", 0.01, "--json"], 120)
        arena = json.loads(done.out.strip().splitlines()[-1])["arena_bytes"]
        scores = 4 * case.batch * case.heads * case.queries * case.keys
        tally.check(f"{case.name}: memory", "" if arena < scores / 2 else f"{arena} bytes, the scores take {scores}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    rng, tally = np.random.default_rng(3), harness.Tally()
    for case in CASES:
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            run(case, options, pathlib.Path(work), tally, rng)
    tally.finish()


if __name__ == "__main__":
    main()
