#!/usr/bin/env python3
"""Compile models for a GPU, run them in the emulator, compare with onnxruntime.

Every family of kernels at static, dynamic, odd and empty sizes, in both orders in which the emulator runs threads.
The emulator ends a run at the first access outside of memory, race, missing barrier or read of what nobody wrote, so
each case is also a check of these. usage: gpu.py [--build DIR] [--filter RE] [--real ARCHITECTURE]
"""
import argparse
import ctypes
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402

TOLERANCE = 1e-5
RANDOM = np.random.default_rng(7)


def floats(*shape):
    """Weights that keep sums near one."""
    fan = max(1, int(np.prod(shape[1:])))
    return (RANDOM.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)


class Case:
    """A model and the sizes of its symbolic dimensions to run it with."""

    def __init__(self, name, nodes, inputs, sizes, weights=None, outputs=("y",), reference=None, tolerance=TOLERANCE,
                 flags=(), opset=17):
        self.flags = list(flags)
        self.name, self.sizes, self.inputs = name, sizes, inputs
        self.reference, self.tolerance = reference, tolerance
        values = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
        results = [helper.make_empty_tensor_value_info(n) for n in outputs]
        graph = helper.make_graph(nodes, name, values, results,
                                  [numpy_helper.from_array(a, n) for n, a in (weights or {}).items()])
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        self.model.ir_version = 8 if opset < 20 else 10

    def feeds(self, sizes):
        """Random inputs of the given sizes."""
        made = {}
        for name, (kind, shape) in self.inputs.items():
            shape = [sizes[d] if isinstance(d, str) else d for d in shape]
            if kind in (TensorProto.FLOAT, TensorProto.DOUBLE):
                made[name] = RANDOM.standard_normal(shape).astype(helper.tensor_dtype_to_np_dtype(kind))
            elif kind == TensorProto.BOOL:
                made[name] = RANDOM.integers(0, 2, shape).astype(bool)
            elif kind in (TensorProto.INT8, TensorProto.UINT8):
                limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
                made[name] = RANDOM.integers(limits.min, limits.max + 1, shape).astype(limits.dtype)
            else:
                made[name] = RANDOM.integers(0, 4, shape).astype(helper.tensor_dtype_to_np_dtype(kind))
        return made


def node(op, inputs, output="y", **attributes):
    return helper.make_node(op, inputs.split(), output.split(), **attributes)


def f32(*shape):
    return TensorProto.FLOAT, list(shape)


def chain(*ops):
    """Nodes of one input each, from x to y."""
    names = ["x"] + [f"t{i}" for i in range(len(ops) - 1)] + ["y"]
    return [node(op, names[i], names[i + 1]) for i, op in enumerate(ops)]


def pointwise_cases():
    some = [{"n": 1, "m": 1}, {"n": 3, "m": 7}, {"n": 0, "m": 5}, {"n": 65, "m": 129}]
    yield Case("pointwise_chain", chain("Relu", "Tanh", "Sigmoid", "Neg", "Exp"), {"x": f32("n", "m")}, some)
    yield Case("pointwise_static", chain("Erf", "Abs", "Sqrt"), {"x": f32(3, 257)}, [{}])
    yield Case("broadcast", [node("Mul", "x w", "a"), node("Add", "a v")], {"x": f32("n", 4, "m")}, some,
               {"w": floats(4, 1), "v": floats(1)})
    yield Case("select", [node("Where", "c x v")], {"c": (TensorProto.BOOL, ["n", "m"]), "x": f32("n", "m")}, some,
               {"v": floats(1)})
    yield Case("transpose", [node("Transpose", "x", perm=[2, 0, 1])], {"x": f32("n", "m", 6)}, some)
    yield Case("gather", [node("Gather", "w i", axis=0)], {"i": (TensorProto.INT64, ["n", "m"])}, some,
               {"w": floats(4, 9)})
    yield Case("concat", [node("Concat", "x v", axis=1)], {"x": f32("n", "m"), "v": f32("n", 3)}, some)
    yield Case("slice", [node("Slice", "x b e a s")], {"x": f32("n", "m")}, some[1:2] + some[3:],
               {"b": np.array([1]), "e": np.array([1000]), "a": np.array([1]), "s": np.array([2])})
    yield Case("pad", [node("Pad", "x p")], {"x": f32("n", "m")}, some, {"p": np.array([1, 2, 0, 3])})
    yield Case("trigonometry", chain("Sin", "Atan", "Cos", "Tan", "Asinh", "Sinh"), {"x": f32("n", "m")}, some)
    yield Case("hyperbolic", chain("Cosh", "Log", "Tanh"), {"x": f32("n", "m")}, some)
    yield Case("inverse", chain("Sigmoid", "Asin", "Sigmoid", "Acos"), {"x": f32("n", "m")}, some[1:2] + some[3:])
    yield Case("power", [node("Abs", "x", "a"), node("Pow", "a v")], {"x": f32("n", "m"), "v": f32("n", 1)}, some)
    yield Case("integers", [node("Add", "x x", "a"), node("Mul", "a x")],
               {"x": (TensorProto.INT64, ["n", "m"])}, some)
    yield Case("cast", [node("Cast", "x", "a", to=TensorProto.FLOAT16), node("Cast", "a", to=TensorProto.FLOAT)],
               {"x": f32("n", "m")}, some)


def transpose_cases():
    """Through shared memory: tiles with edges, lines of several dimensions, elements of other sizes, ops around it."""
    some = [{"n": 1, "m": 1}, {"n": 33, "m": 70}, {"n": 0, "m": 5}, {"n": 64, "m": 31}]
    yield Case("transposed", [node("Transpose", "x", perm=[1, 0])], {"x": f32("n", "m")}, some)
    yield Case("transposed_static", [node("Transpose", "x", perm=[0, 2, 1])], {"x": f32(3, 50, 67)}, [{}])
    yield Case("transposed_lines", [node("Transpose", "x", perm=[0, 2, 3, 1])], {"x": f32("n", 40, 5, 7)}, some)
    yield Case("transposed_reversed", [node("Transpose", "x", perm=[3, 2, 1, 0])], {"x": f32(3, "n", 4, "m")}, some)
    yield Case("transposed_chain", [node("Relu", "x", "a"), node("Transpose", "a", "b", perm=[1, 0]), node("Mul", "b r", "c"),
                                    node("Transpose", "u", "d", perm=[1, 0]), node("Add", "c d", "e"), node("Add", "e w")],
               {"x": f32("n", "m"), "u": f32("n", "m"), "r": f32("m", "n")}, some, {"w": floats(1)})
    for kind in (TensorProto.INT8, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.BOOL):
        yield Case(f"transposed_{TensorProto.DataType.Name(kind)}", [node("Transpose", "x", perm=[1, 0])],
                   {"x": (kind, ["n", "m"])}, some)
    yield Case("transposed_half", [node("Cast", "x", "a", to=TensorProto.FLOAT16), node("Transpose", "a", "b", perm=[1, 0]),
                                   node("Cast", "b", to=TensorProto.FLOAT)], {"x": f32("n", "m")}, some)


def joint_cases():
    """Equal kernels that do not depend on each other are one launch, also where shapes differ; a chain is not."""
    names = [f"x{i}" for i in range(5)]
    shapes = [(3, 7), (300,), (1, 2, 65), (16, 16), (4, 90)]
    yield Case("joint_points", [node("Tanh", n, f"y{n}") for n in names],
               {n: f32(*shape) for n, shape in zip(names, shapes)}, [{}], outputs=[f"y{n}" for n in names])
    yield Case("joint_dynamic", [node("Exp", n, f"y{n}") for n in names], {n: f32("n", f"m{n}") for n in names},
               [{"n": 3, **{f"m{n}": 7 * i for i, n in enumerate(names)}}], outputs=[f"y{n}" for n in names])
    yield Case("joint_norms", [node("ReduceSumSquare", n, f"y{n}", keepdims=0) for n in names],
               {n: f32(*shape) for n, shape in zip(names, shapes)}, [{}], outputs=[f"y{n}" for n in names])
    yield Case("joint_chain", [node("MaxPool", "x0", "a", kernel_shape=[1, 1]), node("Tanh", "a", "b"),
                               node("MaxPool", "b", "c", kernel_shape=[1, 1]), node("Tanh", "c")],
               {"x0": f32(2, 3, 4, 5)}, [{}])


def scatter_cases():
    """Several updates to one place, whose order shows in the answer; places counted from the end."""
    some = [{"n": 1, "m": 1}, {"n": 3, "m": 7}, {"n": 0, "m": 5}, {"n": 40, "m": 33}]
    indices = {"i": (TensorProto.INT64, ["n", 3])}
    for reduction in ("none", "add", "mul", "max", "min"):
        yield Case(f"scatter_{reduction}", [node("ScatterND", "x a u", reduction=reduction)],
                   {"x": f32(5, "m"), "a": (TensorProto.INT64, ["n", 1]), "u": f32("n", "m")}, some)
        yield Case(f"scatter_elements_{reduction}",
                   [node("Sub", "i two", "a"), node("ScatterElements", "x a u", axis=0, reduction=reduction)],
                   {"x": f32(6, 4), **indices, "u": f32("n", 3)}, [{"n": 1}, {"n": 9}, {"n": 0}],
                   {"two": np.array(2)})
    yield Case("scatter_points", [node("ScatterND", "x a u", reduction="add")],
               {"x": f32(4, 4, "m"), "a": (TensorProto.INT64, ["n", 5, 2]), "u": f32("n", 5, "m")}, some)
    yield Case("scatter_inner", [node("ScatterElements", "x i u", axis=1, reduction="add")],
               {"x": f32(50, 4), **indices, "u": f32("n", 3)}, [{"n": 1}, {"n": 50}])
    yield Case("scatter_integers", [node("ScatterElements", "x a u", axis=0, reduction="add")],
               {"x": (TensorProto.INT64, [4]), "a": (TensorProto.INT64, ["n"]), "u": (TensorProto.INT64, ["n"])}, some)


def row_cases():
    some = [{"n": 1, "m": 1}, {"n": 3, "m": 33}, {"n": 0, "m": 5}, {"n": 5, "m": 1030}]
    yield Case("softmax", [node("Softmax", "x", axis=-1)], {"x": f32("n", "m")}, some)
    for size in (1, 31, 300, 1025):
        yield Case(f"softmax_{size}", [node("Softmax", "x", axis=-1)], {"x": f32("n", size)}, [{"n": 9}, {"n": 0}])
    yield Case("log_softmax_inner", [node("LogSoftmax", "x", axis=1)], {"x": f32("n", 70, 3)}, [{"n": 2}])
    yield Case("layer_norm", [node("LayerNormalization", "x w v", axis=-1)], {"x": f32("n", "m", 96)}, some,
               {"w": floats(96), "v": floats(96)})
    yield Case("instance_norm", [node("InstanceNormalization", "x w v")], {"x": f32("n", 5, "m", 4)}, some[1:2],
               {"w": floats(5), "v": floats(5)})
    for op in ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2"):
        extra = {"a": np.array([1])} if op == "ReduceSum" else {}
        axes = {} if extra else {"axes": [1]}
        yield Case(f"{op}_rows", [node(op, "x a" if extra else "x", **axes)], {"x": f32("n", "m")}, some[:2] + some[3:],
                   extra)
    yield Case("reduce_columns", [node("ReduceMax", "x", axes=[0], keepdims=0)], {"x": f32("n", "m")}, some[:2])
    for op in ("ArgMax", "ArgMin"):
        yield Case(f"{op}_rows", [node(op, "x", axis=1, select_last_index=1)], {"x": f32("n", "m", 3)}, some[:2] + some[3:])
    yield Case("reduce_all", [node("ReduceMean", "x", keepdims=0)], {"x": f32("n", "m")}, some[:2] + some[3:])


def contraction_cases():
    some = [{"n": 1}, {"n": 63}, {"n": 0}, {"n": 130}]
    yield Case("matmul", [node("MatMul", "x w")], {"x": f32("n", 33)}, some, {"w": floats(33, 70)})
    yield Case("matmul_static", [node("MatMul", "x w")], {"x": f32(65, 17)}, [{}], {"w": floats(17, 64)})
    yield Case("matmul_dynamic", [node("MatMul", "x v")], {"x": f32("a", "b"), "v": f32("b", "c")},
               [{"a": 5, "b": 3, "c": 2}, {"a": 70, "b": 40, "c": 65}, {"a": 4, "b": 0, "c": 4}])
    yield Case("matmul_batched", [node("MatMul", "x v")], {"x": f32("n", 2, 20, 31), "v": f32(2, 31, 24)},
               [{"n": 3}, {"n": 0}])
    yield Case("matmul_vector", [node("MatMul", "x w")], {"x": f32(1, 200)}, [{}], {"w": floats(200, 50)})
    yield Case("matmul_double", [node("MatMul", "x v")], {"x": (TensorProto.DOUBLE, ["n", 20]), "v": (TensorProto.DOUBLE, [20, 9])},
               some)
    yield Case("matmul_prologue", [node("Exp", "x", "a"), node("MatMul", "a w")], {"x": f32("n", 33)}, some, {"w": floats(33, 20)})
    yield Case("gemm", [node("Gemm", "x w v", "a", transB=1, alpha=0.5), node("Relu", "a")], {"x": f32("n", 40)}, some,
               {"w": floats(72, 40), "v": floats(72)})
    yield Case("gemm_transposed", [node("Gemm", "x w", transA=1)], {"x": f32(40, "n")}, some, {"w": floats(40, 20)})
    yield Case("epilogue", [node("MatMul", "x w", "a"), node("Add", "a v", "b"), node("Add", "b r", "c"),
                            node("Tanh", "c")],
               {"x": f32("n", 33), "r": f32("n", 48)}, some, {"w": floats(33, 48), "v": floats(48)})


def split_cases():
    """Few results of long sums, which several blocks sum up in parts."""
    some = [{"n": 1}, {"n": 257}, {"n": 0}, {"n": 1300}]
    yield Case("split_depth", [node("Gemm", "x v w", transA=1)], {"x": f32("n", 40), "v": f32("n", 20)}, some,
               {"w": floats(20)}, tolerance=3e-5)
    yield Case("split_epilogue", [node("MatMul", "x w", "a"), node("Add", "a v", "b"), node("Relu", "b")],
               {"x": f32(65, 700)}, [{}], {"w": floats(700, 30), "v": floats(30)})
    yield Case("split_batched", [node("MatMul", "x v")], {"x": f32(3, 9, "n"), "v": f32(3, "n", 70)}, some[1:])
    yield Case("split_conv", [node("Conv", "x w v", pads=[1, 1, 1, 1])], {"x": f32(2, 64, 5, 6)}, [{}],
               {"w": floats(17, 64, 3, 3), "v": floats(17)})
    yield Case("split_tf32", [node("MatMul", "x v")], {"x": f32(33, "n"), "v": f32("n", 72)}, some[1:],
               reference=lambda feeds: {"y": (tf32(feeds["x"]) @ tf32(feeds["v"])).astype(np.float32)}, flags=["--allow-tf32"])
    for kind, name in ((TensorProto.INT8, "int8"), (TensorProto.UINT8, "uint8")):
        yield Case(f"split_{name}", [node("MatMulInteger", "x v")], {"x": (kind, [20, "n"]), "v": (kind, ["n", 40])}, some,
                   reference=lambda feeds: {"y": feeds["x"].astype(np.int32) @ feeds["v"].astype(np.int32)})


def rounded(array, kind):
    """The nearest numbers of a 16-bit type, as f64."""
    if kind == TensorProto.FLOAT16:
        return array.astype(np.float16).astype(np.float64)
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000
    return bits.astype(np.uint32).view(np.float32).astype(np.float64)


def long_reduction_cases():
    """Few results of long reductions, in parts by several blocks: rows, columns, both, and none at all."""
    some = [{"n": 1}, {"n": 200}, {"n": 0}, {"n": 5000}]
    for op in ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceProd"):
        extra, axes = ({"a": np.array([0])}, {}) if op == "ReduceSum" else ({}, {"axes": [0]})
        close = 1e-4 if op == "ReduceProd" else TOLERANCE
        yield Case(f"long_columns_{op}", [node(op, "x a" if extra else "x", "b", keepdims=0, **axes), node("Neg", "b")],
                   {"x": f32("n", 70)}, some if extra else some[:2], extra, tolerance=close)
    yield Case("long_columns_static", [node("ReduceMin", "x", axes=[0, 1])], {"x": f32(50, 9, 33)}, [{}])
    yield Case("long_columns_integers", [node("ReduceSum", "x a", keepdims=0)], {"x": (TensorProto.INT64, ["n", 5])}, some,
               {"a": np.array([0])})
    yield Case("long_rows", [node("ReduceSumSquare", "x", "a", keepdims=0), node("Sqrt", "a")], {"x": f32("n", 50)}, some)
    yield Case("long_rows_few", [node("ReduceL1", "x", axes=[1])], {"x": f32(3, 140000)}, [{}])
    yield Case("long_rows_double", [node("ReduceMean", "x", keepdims=0)], {"x": (TensorProto.DOUBLE, [300, 500])}, [{}])
    yield Case("long_channels", [node("Mul", "x x", "a"), node("ReduceMean", "a", axes=[0, 2, 3])], {"x": f32("n", 4, 9, 7)},
               [{"n": 1}, {"n": 700}])


def narrow_cases():
    """Products on tensor cores. onnxruntime may leave the rounding of operands out, so numpy says what is right."""
    some = [{"n": 1}, {"n": 70}, {"n": 0}]
    for kind, name, tolerance in ((TensorProto.FLOAT16, "half", 1e-3), (TensorProto.BFLOAT16, "bfloat", 8e-3)):
        nodes = [node("Cast", "x", "a", to=kind), node("Cast", "v", "b", to=kind), node("MatMul", "a b", "c"),
                 node("Cast", "c", to=TensorProto.FLOAT)]

        def product(feeds, kind=kind):
            exact = rounded(feeds["x"], kind) @ rounded(feeds["v"], kind)
            return {"y": rounded(exact.astype(np.float32), kind).astype(np.float32)}
        for shape, inputs in (("", {"x": f32("n", 50), "v": f32(50, 72)}),
                              ("_batched", {"x": f32("n", 3, 33, 64), "v": f32(3, 64, 40)}),
                              ("_row_major", {"x": f32("n", 16), "v": f32(16, 16)})):
            yield Case(f"tensor_{name}{shape}", nodes, inputs, some, reference=product, tolerance=tolerance)


def tf32(array):
    """The nearest numbers of 10 bits of fraction, as f64."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x1000) & 0xffffe000).astype(np.uint32).view(np.float32).astype(np.float64)


def tf32_cases():
    """Products of f32 on tensor cores, where that is allowed: exact for the rounded operands."""
    def product(feeds):
        return {"y": (tf32(feeds["x"]) @ tf32(feeds["v"])).astype(np.float32)}
    some = [{"n": 1}, {"n": 70}, {"n": 0}]
    for shape, inputs in (("", {"x": f32("n", 50), "v": f32(50, 72)}),
                          ("_batched", {"x": f32("n", 3, 33, 64), "v": f32(3, 64, 40)})):
        yield Case(f"tf32{shape}", [node("MatMul", "x v")], inputs, some, reference=product, flags=["--allow-tf32"])


def integer_cases():
    """Exact products of 8-bit integers on tensor cores."""
    for kind, name in ((TensorProto.INT8, "int8"), (TensorProto.UINT8, "uint8")):
        yield Case(f"{name}_product", [node("MatMulInteger", "x v")], {"x": (kind, ["n", 70]), "v": (kind, [70, 40])},
                   [{"n": 1}, {"n": 70}, {"n": 0}],
                   reference=lambda feeds: {"y": feeds["x"].astype(np.int32) @ feeds["v"].astype(np.int32)})


def attend(feeds, kind=None, mask=0.0, scale=1.0):
    """Softmax of the scaled products of queries and keys plus the mask, times the values, all in f64."""
    q, k, v = (rounded(feeds[n], kind) if kind else feeds[n].astype(np.float64) for n in "qkv")
    scores = scale * q @ np.swapaxes(k, -1, -2) + mask
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    return {"y": (weights / weights.sum(axis=-1, keepdims=True) @ v).astype(np.float32)}


def attention_cases():
    """Both products and the softmax in one kernel: several blocks of keys, the first of them hidden, none at all."""
    some = [{"q": 1, "k": 1}, {"q": 70, "k": 9}, {"q": 9, "k": 200}, {"q": 5, "k": 0}, {"q": 0, "k": 5}]
    heads = {n: f32(2, s, 3, 32) for n, s in zip("qkv", "qkk")}
    split = [node("Transpose", "q", "a", perm=[0, 2, 1, 3]), node("Transpose", "k", "b", perm=[0, 2, 3, 1]),
             node("Transpose", "v", "c", perm=[0, 2, 1, 3])]
    tail = [node("Softmax", "s", "w", axis=-1), node("MatMul", "w c", "d"), node("Transpose", "d", perm=[0, 2, 1, 3])]
    scaled = [*split, node("MatMul", "a b", "p"), node("Mul", "p scale", "t")]
    factor = {"scale": np.array(0.2, np.float32)}
    yield Case("attention", [*scaled, node("Add", "t m", "s"), *tail], {**heads, "m": f32(2, 1, 1, "k")}, some, factor)
    yield Case("attention_where", [*scaled, node("Where", "m t hidden", "s"), *tail],
               {**heads, "m": (TensorProto.BOOL, ["q", "k"])}, some, {**factor, "hidden": np.array(-3e38, np.float32)})
    late = np.where(np.arange(150) < 100, -np.inf, 0).astype(np.float32)
    yield Case("attention_late", [*scaled, node("Add", "t m", "s"), *tail],
               {n: f32(1, s, 2, 24) for n, s in zip("qkv", (67, 150, 150))}, [{}], {**factor, "m": late})
    for size in (40, 100, 130, "d"):
        plain = {"q": f32("q", 16), "k": f32("k", 16), "v": f32("k", size)}
        yield Case(f"attention_{size}_values", [node("Transpose", "k", "b"), node("MatMul", "q b", "s"),
                                                node("Softmax", "s", "w"), node("MatMul", "w v")],
                   plain, [{**sizes, "d": 65} for sizes in some])
    op = {n: f32("b", h, s, d) for n, h, s, d in zip("qkv", (4, 4, 4), "qkk", (16, 16, 24))}
    for causal in (0, 1):
        yield Case(f"attention_op_{causal}", [node("Attention", "q k v", is_causal=causal, scale=0.25)], op,
                   [{"b": 1, **sizes} for sizes in some[:3]] + [{"b": 2, "q": 66, "k": 66}, {"b": 0, "q": 5, "k": 5}], opset=23,
                   reference=lambda feeds, causal=causal: attend(
                       feeds, scale=0.25, mask=np.where(np.tri(feeds["q"].shape[2], feeds["k"].shape[2]) + 1 > causal, 0, -np.inf)))
    flat = {n: f32("b", s, d) for n, s, d in zip("qkv", "qkk", (48, 48, 72))}
    seventh = np.array(1 / 7, np.float32)
    turned = [node("Transpose", "k", "r", perm=[0, 2, 1])]
    for kind, name, tolerance in ((TensorProto.FLOAT16, "half", 4e-3), (TensorProto.BFLOAT16, "bfloat", 2e-2)):
        yield Case(f"attention_{name}", [*turned, node("Mul", "q seventh", "p"), *(node("Cast", n, f"{n}_", to=kind) for n in "prv"), node("MatMul", "p_ r_", "s"),
                                         node("Softmax", "s", "w"), node("MatMul", "w v_", "c"),
                                         node("Cast", "c", to=TensorProto.FLOAT)],
                   flat, [{"b": 2, **sizes} for sizes in some[:3]], {"seventh": seventh}, tolerance=tolerance,
                   reference=lambda feeds, kind=kind: attend({**feeds, "q": feeds["q"] * seventh}, kind))
    yield Case("attention_tf32", [*turned, node("MatMul", "q r", "s"), node("Softmax", "s", "w"), node("MatMul", "w v")], flat,
               [{"b": 2, **sizes} for sizes in some[:3]], flags=["--allow-tf32"], tolerance=1e-2)


def window_cases():
    some = [{"n": 1}, {"n": 3}, {"n": 0}]
    image = {"x": f32("n", 3, 13, 11)}
    yield Case("conv", [node("Conv", "x w v", "a", pads=[1, 1, 1, 1]), node("Relu", "a")], image, some,
               {"w": floats(9, 3, 3, 3), "v": floats(9)})
    yield Case("conv_strided", [node("Conv", "x w", strides=[2, 3], dilations=[2, 1])], image, some,
               {"w": floats(16, 3, 3, 2)})
    yield Case("conv_grouped", [node("Conv", "x w", group=2, pads=[0, 1, 1, 0])], {"x": f32("n", 8, 9, 9)}, some,
               {"w": floats(24, 4, 3, 3)})
    yield Case("conv_depthwise", [node("Conv", "x w", group=8)], {"x": f32("n", 8, 9, 9)}, some,
               {"w": floats(8, 1, 3, 3)})
    yield Case("conv_dynamic", [node("Conv", "x w", pads=[1, 1, 1, 1])], {"x": f32("n", 3, "h", "w0")},
               [{"n": 2, "h": 9, "w0": 14}, {"n": 1, "h": 1, "w0": 1}], {"w": floats(8, 3, 3, 3)})
    yield Case("conv_1d", [node("Conv", "x w")], {"x": f32("n", 4, 50)}, some, {"w": floats(8, 4, 5)})
    yield Case("conv_transposed", [node("ConvTranspose", "x w", strides=[2, 2])], image, some[:2],
               {"w": floats(3, 4, 3, 3)})
    pool = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}
    yield Case("max_pool", [node("MaxPool", "x", **pool)], image, some)
    yield Case("max_pool_places", [helper.make_node("MaxPool", ["x"], ["y", "i"], **pool)], image, some,
               outputs=("y", "i"))
    yield Case("average_pool", [node("AveragePool", "x", **pool)], image, some)
    yield Case("global_pool", [node("GlobalAveragePool", "x")], image, some)


def model_cases():
    yield Case("mlp", [node("Gemm", "x w v", "a"), node("Relu", "a", "b"), node("Gemm", "b w2 v2", "c"),
                       node("Softmax", "c", axis=1)],
               {"x": f32("n", 64)}, [{"n": 1}, {"n": 33}],
               {"w": floats(64, 100), "v": floats(100), "w2": floats(100, 10), "v2": floats(10)})
    yield Case("lenet", [node("Conv", "x w v", "a", pads=[2, 2, 2, 2]), node("Relu", "a", "b"),
                         node("MaxPool", "b", "c", kernel_shape=[2, 2], strides=[2, 2]), node("Conv", "c w2 v2", "d"),
                         node("Relu", "d", "e"), node("MaxPool", "e", "f", kernel_shape=[2, 2], strides=[2, 2]),
                         node("Flatten", "f", "g"), node("Gemm", "g w3 v3", "h"), node("Relu", "h", "i"),
                         node("Gemm", "i w4 v4")],
               {"x": f32("n", 1, 28, 28)}, [{"n": 2}],
               {"w": floats(6, 1, 5, 5), "v": floats(6), "w2": floats(16, 6, 5, 5), "v2": floats(16),
                "w3": floats(400, 120), "v3": floats(120), "w4": floats(120, 10), "v4": floats(10)})


class Runner:
    """Compiles cases for the emulator and compares what they answer."""

    def __init__(self, build, tally, architecture):
        self.flags = ["--device=cuda", f"--gpu-arch={architecture}"] if architecture else harness.emulate_device(build)
        # Few blocks: kernels run over their results in strides of the grid.
        self.orders = ["real"] if architecture else ["forward", "reverse", "forward 2"]
        self.compiler = harness.tool(build, "onnx-aot-compile")
        self.runner = harness.tool(build, "onnx-aot-run")
        self.tally = tally

    def run(self, case, work):
        onnx.save(case.model, work / "model.onnx")
        done = harness.run_limited([self.compiler, work / "model.onnx", "-o", work / "model.so", *self.flags, *case.flags], 120,
                                   8 * harness.GIB)
        if not self.tally.check(f"{case.name}: compile", "" if done.status == 0 else done.message() or done.ending()):
            return
        session = None if case.reference else onnxruntime.InferenceSession(str(work / "model.onnx"))
        for sizes in case.sizes:
            feeds = case.feeds(sizes)
            expected = case.reference(feeds) if case.reference else \
                dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
            np.savez(work / "in.npz", **feeds)
            for order in self.orders:
                os.environ["ONNX_AOT_EMULATOR_ORDER"], _, os.environ["ONNX_AOT_EMULATOR_BLOCKS"] = order.partition(" ")
                title = " ".join([case.name, order, *(f"{k}={v}" for k, v in sizes.items())])
                self.tally.check(title, self.answer(work, expected, case.tolerance))

    def answer(self, work, expected, tolerance):
        """Runs the module; says what is wrong with its outputs."""
        done = harness.run_limited([self.runner, work / "model.so", "--inputs", work / "in.npz", "--outputs",
                                    work / "out.npz"], 120, 8 * harness.GIB)
        if done.status != 0:
            return done.message() or done.ending()
        with np.load(work / "out.npz") as file:
            got = {name: file[name] for name in file.files}
        scale = max([float(np.abs(v).max()) for v in expected.values() if v.size and v.dtype != bool] + [1e-30])
        return harness.compare_outputs(got, expected, rtol=tolerance, atol=tolerance * scale).problem


class DeviceSession:
    """A session through the C interface, with inputs and outputs in device memory and on a stream of the caller."""

    class Options(ctypes.Structure):
        _fields_ = [("struct_bytes", ctypes.c_uint32), ("threads", ctypes.c_int32), ("arena", ctypes.c_void_p),
                    ("arena_bytes", ctypes.c_uint64), ("stream", ctypes.c_void_p)]

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("type", ctypes.c_int32),
                    ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 16)]

    class Error(ctypes.Structure):
        _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 1020)]

    def __init__(self, build, module, ownStream=False):
        folder = pathlib.Path(build).resolve() / "lib"
        self.runtime = ctypes.CDLL(str(folder / "libonnx-aot-runtime.so"))
        self.driver = ctypes.CDLL(os.environ["ONNX_AOT_CUDA_DRIVER"])
        self.error, self.handle, self.session = self.Error(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("onnxAotModuleLoad", str(module).encode(), None, ctypes.byref(self.handle))
        self.driver.cuInit(0)
        stream = ctypes.c_void_p()
        assert self.driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
        options = self.Options()
        self.runtime.onnxAotSessionOptionsInit(ctypes.byref(options))
        options.stream = None if ownStream else stream
        self.call("onnxAotSessionCreate", self.handle, ctypes.byref(options), ctypes.byref(self.session))

    def call(self, name, *arguments):
        if getattr(self.runtime, name)(*arguments, ctypes.byref(self.error)):
            raise RuntimeError(self.error.message.decode())

    def of(self, array):
        """A tensor over the array's memory."""
        return self.Tensor(array.ctypes.data if array.size else None, array.nbytes, TensorProto.FLOAT, array.ndim,
                           (ctypes.c_int64 * 16)(*array.shape))

    def on_device(self, array):
        """A tensor in device memory with the array's values."""
        pointer = ctypes.c_uint64()
        assert self.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(array.nbytes)) == 0
        assert self.driver.cuMemcpyHtoDAsync_v2(pointer, array.ctypes.data_as(ctypes.c_void_p),
                                                ctypes.c_size_t(array.nbytes), None) == 0
        kind = {np.float32: TensorProto.FLOAT, np.int64: TensorProto.INT64}[array.dtype.type]
        return self.Tensor(pointer.value, array.nbytes, kind, array.ndim, (ctypes.c_int64 * 16)(*array.shape))

    def run_into(self, inputs, output, array):
        """Runs, and copies the output's bytes to an array."""
        ins = (self.Tensor * len(inputs))(*inputs)
        self.call("onnxAotSessionRun", self.session, ins, len(ins), ctypes.byref(output), 1)
        assert self.driver.cuMemcpyDtoHAsync_v2(array.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(output.data),
                                                ctypes.c_size_t(array.nbytes), None) == 0


def check_device_memory(runner, build, work):
    """Inputs and outputs in device memory are used in place; a part on the host refuses them with a reason."""
    relu = Case("resident", [node("MatMul", "x w", "a"), node("Relu", "a")], {"x": f32(9, 33)}, [], {"w": floats(33, 20)})
    host = Case("resident_host", [node("CumSum", "x a")], {"x": f32(9, 33)}, [], {"a": np.array(1)})
    for case in (relu, host):
        onnx.save(case.model, work / "model.onnx")
        module = work / f"{case.name}.so"
        done = harness.run_limited([runner.compiler, work / "model.onnx", "-o", module, *runner.flags], 120, 8 * harness.GIB)
        if not runner.tally.check(f"{case.name}: compile", "" if done.status == 0 else done.message()):
            continue
        x = RANDOM.standard_normal((9, 33)).astype(np.float32)
        expected = onnxruntime.InferenceSession(str(work / "model.onnx")).run(None, {"x": x})[0]
        got = np.zeros_like(expected)
        problem = ""
        try:
            session = DeviceSession(build, module)
            session.run_into([session.on_device(x)], session.on_device(got), got)
            if not np.allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE):
                problem = f"wrong by {abs(got - expected).max()}"
        except RuntimeError as error:
            problem = str(error)
        if case is host:
            problem = "" if "given in device memory" in problem else f"not refused: {problem}"
        runner.tally.check(f"{case.name}: tensors in device memory", problem)


def check_counters(runner, work):
    """Transpositions read and write whole lines of device memory, and all banks of shared memory at once."""
    for kind in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT8, TensorProto.DOUBLE):
        case = Case(f"counters_{TensorProto.DataType.Name(kind)}", [node("Transpose", "x", perm=[0, 2, 1])],
                    {"x": (kind, [2, 64, 96])}, [])
        onnx.save(case.model, work / "model.onnx")
        done = harness.run_limited([runner.compiler, work / "model.onnx", "-o", work / "model.so", *runner.flags], 120,
                                   8 * harness.GIB)
        if not runner.tally.check(f"{case.name}: compile", "" if done.status == 0 else done.message()):
            continue
        np.savez(work / "in.npz", x=np.zeros([2, 64, 96], helper.tensor_dtype_to_np_dtype(kind)))
        report = work / f"{case.name}.txt"
        os.environ["ONNX_AOT_EMULATOR_REPORT"] = str(report)
        done = harness.run_limited([runner.runner, work / "model.so", "--inputs", work / "in.npz", "--outputs",
                                    work / "out.npz"], 120, 8 * harness.GIB)
        del os.environ["ONNX_AOT_EMULATOR_REPORT"]
        text = report.read_text() if report.exists() else done.message()
        runner.tally.check(f"{case.name}: sectors and banks", "" if text.count(" 1.00 times the least") == 2 else text)


def check_repeats(runner, build, work):
    """Runs of one session whose inputs lie elsewhere and have other sizes each time: recorded work must follow."""
    case = Case("repeats", [node("MatMul", "x w", "a"), node("Softmax", "a", "b", axis=1), node("MatMul", "b v")],
                {"x": f32("n", 33)}, [], {"w": floats(33, 20), "v": floats(20, 9)})
    onnx.save(case.model, work / "model.onnx")
    done = harness.run_limited([runner.compiler, work / "model.onnx", "-o", work / "model.so", *runner.flags], 120,
                               8 * harness.GIB)
    if not runner.tally.check("repeats: compile", "" if done.status == 0 else done.message()):
        return
    reference = onnxruntime.InferenceSession(str(work / "model.onnx"))
    session = DeviceSession(build, work / "model.so", ownStream=True)
    kept = []
    for number, size in enumerate([5, 5, 5, 70, 5, 70, 70, 0, 5, 70]):
        kept.append(RANDOM.standard_normal((size, 33)).astype(np.float32))
        got = np.zeros((size, 9), np.float32)
        ins, output = session.of(kept[-1]), session.of(got)
        session.call("onnxAotSessionRun", session.session, ctypes.byref(ins), 1, ctypes.byref(output), 1)
        expected = reference.run(None, {"x": kept[-1]})[0]
        far = abs(got - expected).max(initial=0)
        runner.tally.check(f"repeats: run {number} of {size} rows", "" if far < TOLERANCE else f"wrong by {far}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only cases whose name matches")
    parser.add_argument("--real", metavar="sm_80", help="run on a GPU of this architecture, not in the emulator")
    options = parser.parse_args()
    tally = harness.Tally()
    runner = Runner(options.build, tally, options.real)
    for cases in (pointwise_cases, transpose_cases, joint_cases, scatter_cases, row_cases, contraction_cases, split_cases, long_reduction_cases, narrow_cases, tf32_cases,
                  integer_cases, attention_cases, window_cases, model_cases):
        for case in cases():
            if re.search(options.filter, case.name):
                with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
                    runner.run(case, pathlib.Path(work))
    if not options.real and re.search(options.filter, "resident"):
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            check_device_memory(runner, options.build, pathlib.Path(work))
    if not options.real and re.search(options.filter, "counters"):
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            check_counters(runner, pathlib.Path(work))
    if not options.real and re.search(options.filter, "repeats"):
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            check_repeats(runner, options.build, pathlib.Path(work))
    tally.finish()


if __name__ == "__main__":
    main()
