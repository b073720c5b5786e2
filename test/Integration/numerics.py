#!/usr/bin/env python3
"""Run operators where their text is subtle or silent: NaN, infinities, empty tensors, ties, overflow.

usage: numerics.py [--build DIR] [--filter RE] [-- FLAG...]

docs/Numerics.md is the rule. All cases together are one model. It is compiled twice: with the cases' inputs as inputs of
the model, so that they are computed at run time, and as constants, so that the compiler may compute them. Both must give
the same expected values, exactly unless a case says otherwise.
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402

NAN, INF = np.nan, np.inf


@dataclasses.dataclass
class Case:
    """One node: its inputs (None: left out), the expected first outputs, the relative tolerance."""
    op: str
    inputs: list
    outputs: list
    attributes: dict
    rtol: float = 0.0


CASES = []


def case(op, inputs, *outputs, rtol=0.0, **attributes):
    CASES.append(Case(op, list(inputs), list(outputs), attributes, rtol))


def f32(*values):
    return np.array(values, np.float32)


def i64(*values):
    return np.array(values, np.int64)


def empty(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


# ---- Arithmetic --------------------------------------------------------------------------------------

for dtype in (np.int8, np.int16, np.int32, np.int64):
    low = np.iinfo(dtype).min
    case("Div", [np.array([7, -7, 5, low, low, -7], dtype), np.array([2, 2, 0, -1, 0, -2], dtype)],
         np.array([3, -3, 0, low, 0, 3], dtype))
    case("Mod", [np.array([7, -7, 7, -7, 5, low], dtype), np.array([3, 3, -3, -3, 0, -1], dtype)],
         np.array([1, 2, -2, -1, 0, 0], dtype))
    case("Mod", [np.array([7, -7, 7, -7, 5, low], dtype), np.array([3, 3, -3, -3, 0, -1], dtype)],
         np.array([1, -1, 1, -1, 0, 0], dtype), fmod=1)
    case("Abs", [np.array([low, -1, 0], dtype)], np.array([low, 1, 0], dtype))
for dtype in (np.uint8, np.uint16, np.uint32, np.uint64):
    high, bits = np.iinfo(dtype).max, np.iinfo(dtype).bits
    case("Div", [np.array([high, 7, 0], dtype), np.array([2, 0, 0], dtype)], np.array([high // 2, 0, 0], dtype))
    case("Mod", [np.array([high, 7], dtype), np.array([high - 1, 0], dtype)], np.array([1, 0], dtype))
    for direction, expected in (("LEFT", [2, 0, 0]), ("RIGHT", [high >> 1, 0, 0])):
        x = np.array([1 if direction == "LEFT" else high] * 3, dtype)
        case("BitShift", [x, np.array([1, bits, high], dtype)], np.array(expected, dtype), direction=direction)
    case("Less", [np.array([high, 1], dtype), np.array([1, high], dtype)], np.array([False, True]))
    case("Max", [np.array([high, 1], dtype), np.array([1, 2], dtype)], np.array([high, 2], dtype))
for dtype in (np.int8, np.int32, np.int64, np.uint8, np.uint32, np.uint64):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    case("Add", [np.array([high], dtype), np.array([1], dtype)], np.array([low], dtype))
    case("Sub", [np.array([low], dtype), np.array([1], dtype)], np.array([high], dtype))
    case("Mul", [np.array([high], dtype), np.array([2], dtype)], np.array([-2 if low else high - 1], dtype))
case("Mod", [f32(INF, 5, -5, 5.5, NAN), f32(3, 0, INF, -2, 1)], f32(NAN, NAN, -5, 1.5, NAN), fmod=1)
case("Pow", [np.array([2, -1, -1, 0, 0, 3, 1], np.int32), np.array([-1, -3, -2, 0, -1, 21, -9], np.int32)],
     np.array([0, -1, 1, 1, 0, 1870418611, 1], np.int32))
case("Pow", [f32(NAN, 1, -8, 2, -2), f32(0, NAN, 1 / 3, -1, 3)], f32(1, 1, NAN, 0.5, -8), rtol=1e-6)
case("Pow", [f32(-INF, -0.0, 4, -4, INF), f32(0.5)], f32(INF, 0, 2, NAN, INF))
case("Pow", [f32(-1, 2), np.array([2**25 + 1, 3], np.uint64)], f32(-1, 8), rtol=1e-6)
case("Sign", [f32(-3, -0.0, 0, 2, NAN, -INF)], f32(-1, 0, 0, 1, NAN, -1))
case("Round", [f32(0.5, 1.5, 2.5, -0.5, -1.5, 1e30, NAN)], f32(0, 2, 2, 0, -2, 1e30, NAN))
case("Floor", [f32(-0.5, 1e30, -INF)], f32(-1, 1e30, -INF))
case("Ceil", [f32(-0.5, 0.5, -1e30, NAN)], f32(-0.0, 1, -1e30, NAN))
case("Reciprocal", [f32(0, -0.0, INF)], f32(INF, -INF, 0))
case("Add", [empty(0, 3), empty(1, 3)], empty(0, 3))
case("Mul", [empty(2, 0, 1), f32(1, 2)], empty(2, 0, 2))
case("Split", [f32(1, 2, 3), i64(0, 3, 0)], f32(), f32(1, 2, 3), f32())

# Nothing at all along a dimension that is short enough to unroll.
case("Greater", [empty(0, 4, 5, 17), f32(1)], np.zeros((0, 4, 5, 17), bool))
case("Greater", [empty(4, 0, 5, 17), f32(1)], np.zeros((4, 0, 5, 17), bool))

# ---- NaN ----------------------------------------------------------------------------------------------

case("Relu", [f32(NAN, -1, INF)], f32(NAN, 0, INF))
case("Max", [f32(NAN, 1, 2), f32(1, NAN, 1)], f32(NAN, NAN, 2))
case("Min", [f32(NAN, 1, 2), f32(1, NAN, 1)], f32(NAN, NAN, 1))
case("Clip", [f32(NAN, -5, 5), np.float32(-1), np.float32(1)], f32(NAN, -1, 1))
case("Clip", [f32(-5, 5), np.float32(NAN), np.float32(1)], f32(NAN, NAN))
case("Clip", [f32(-5, 0, 5), np.float32(3), np.float32(1)], f32(1, 1, 1))
case("Clip", [f32(-5, 5), None, np.float32(1)], f32(-5, 1))
case("HardSigmoid", [f32(NAN, -INF, INF)], f32(NAN, 0, 1))
case("LeakyRelu", [f32(NAN, -INF)], f32(NAN, -INF))
case("Equal", [f32(NAN, 0.0), f32(NAN, -0.0)], np.array([False, True]))
case("LessOrEqual", [f32(NAN, 1), f32(1, 1)], np.array([False, True]))
case("IsNaN", [f32(NAN, INF, 0)], np.array([True, False, False]))
case("IsInf", [f32(NAN, INF, -INF, 0)], np.array([False, True, False, False]), detect_negative=0)
case("Where", [np.array([True, False]), f32(NAN, 1), f32(2, INF)], f32(NAN, INF))

# ---- Functions ----------------------------------------------------------------------------------------

case("Exp", [f32(89, -INF, INF, NAN, 0)], f32(INF, 0, INF, NAN, 1))
case("Log", [f32(0, -1, INF, 1)], f32(-INF, NAN, INF, 0))
case("Log", [f32(1e-40, 1e-44, 1e-38, 1.17e-38)], np.log(np.array([1e-40, 1e-44, 1e-38, 1.17e-38], np.float32).astype(
    np.float64)).astype(np.float32), rtol=1e-6)
case("Sqrt", [f32(-1, 0, INF, 2)], f32(NAN, 0, INF, np.sqrt(np.float32(2))))
case("Tanh", [f32(INF, -INF, NAN, 20)], f32(1, -1, NAN, 1), rtol=1e-6)
case("Erf", [f32(INF, -INF, NAN, 6)], f32(1, -1, NAN, 1), rtol=1e-6)
case("Asin", [f32(2, 1)], f32(NAN, np.pi / 2), rtol=1e-6)
case("Acosh", [f32(0.5, 1)], f32(NAN, 0))
case("Atanh", [f32(1, -1, 2)], f32(INF, -INF, NAN))
case("Sigmoid", [f32(200, -200, INF, -INF, NAN)], f32(1, 0, 1, 0, NAN), rtol=1e-6)
case("Softplus", [f32(100, 1000, -20, -INF, INF, NAN)], f32(100, 1000, np.exp(-20), 0, INF, NAN), rtol=1e-6)
case("Elu", [f32(1e-6, -1e-6, -INF, NAN)], f32(1e-6, -1e-6, -1, NAN), rtol=1e-5)
case("Mish", [f32(100, NAN)], f32(100, NAN), rtol=1e-6)

# ---- Casts --------------------------------------------------------------------------------------------


def cast(x, dtype, expected):
    case("Cast", [x], np.array(expected).astype(dtype), to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


cast(f32(127.9, 128, -129, NAN, INF, -INF, -0.9), np.int8, [127, 127, -128, 0, 127, -128, 0])
cast(f32(255.9, 256, -1, NAN), np.uint8, [255, 255, 0, 0])
cast(f32(3e9, -3e9, 2147483520), np.int32, [2**31 - 1, -(2**31), 2147483520])
cast(f32(1e30, -1e30, NAN), np.int64, [2**63 - 1, -(2**63), 0])
cast(np.array([1e30, -1.0, 2.0**63]), np.uint64, np.array([2**64 - 1, 0, 2**63], np.uint64))
cast(f32(NAN, 0.5, -0.0, 0), np.bool_, [True, True, False, False])
cast(i64(-1, 256, 0), np.bool_, [True, True, False])
cast(i64(200, -129, 2**40 + 7), np.int8, [-56, 127, 7])
cast(np.array([200], np.uint8), np.float32, [200])
cast(np.array([2**64 - 1], np.uint64), np.float32, [2.0**64])
cast(np.array([1e300, -1e300, NAN]), np.float32, [INF, -INF, NAN])
# Rounded twice, through f32, these would be ties and go down.
cast(np.array([1 + 2.0**-11 + 2.0**-40, 65519.99999, 65520]), np.float16, [1 + 2.0**-10, 65504, INF])
cast(np.array([1 + 2.0**-8 + 2.0**-40]), ml_dtypes.bfloat16, [1 + 2.0**-7])
cast(np.array([2**30 + 2**22 + 1], np.int32), ml_dtypes.bfloat16, [2.0**30 + 2.0**23])

# ---- Reductions ---------------------------------------------------------------------------------------


def reduce(op, data, axes, *outputs, **attributes):
    case(op, [data, None if axes is None else i64(*axes)], *outputs, **attributes)


reduce("ReduceMax", empty(0, 2), [0], f32(-INF, -INF), keepdims=0)
reduce("ReduceMin", empty(0, 2), [0], f32(INF, INF), keepdims=0)
for dtype in (np.int8, np.uint8, np.int32, np.int64, np.uint64):
    reduce("ReduceMax", empty(0, 1, dtype=dtype), [0], np.array([[np.iinfo(dtype).min]], dtype))
    reduce("ReduceMin", empty(0, 1, dtype=dtype), [0], np.array([[np.iinfo(dtype).max]], dtype))
reduce("ReduceMax", empty(0, 1, dtype=np.bool_), [0], np.array([[False]]))
reduce("ReduceMin", empty(0, 1, dtype=np.bool_), [0], np.array([[True]]))
reduce("ReduceSum", empty(2, 0), [1], f32(0, 0), keepdims=0)
reduce("ReduceProd", empty(2, 0), [1], f32(1, 1), keepdims=0)
reduce("ReduceMean", empty(2, 0), [1], f32(NAN, NAN), keepdims=0)
reduce("ReduceMean", empty(0, dtype=np.int32), [0], np.array([0], np.int32))
reduce("ReduceMean", np.full(3, 2**31 - 1, np.int32), [0], np.array([2**31 - 1], np.int32))
reduce("ReduceLogSumExp", empty(0), [0], f32(-INF))
reduce("ReduceLogSumExp", f32(-INF, -INF), [0], f32(-INF))
reduce("ReduceLogSumExp", f32(INF, 1), [0], f32(INF))
reduce("ReduceLogSumExp", f32(1000, 1000), [0], f32(1000 + np.log(2)), rtol=1e-6)
reduce("ReduceLogSum", empty(0), [0], f32(-INF))
reduce("ReduceLogSum", f32(1e-40, 1e-40), [0], f32(-91.41026), rtol=1e-6)
reduce("ReduceL2", np.array([3, 4], np.int32), [0], np.array([5], np.int32))
reduce("ReduceMax", f32(1, NAN, 3), [0], f32(NAN))
reduce("ReduceMin", f32(1, NAN, 3), [-1], f32(NAN))
reduce("ReduceSumSquare", f32(2, 3), [], f32(4, 9), noop_with_empty_axes=1)
reduce("ReduceSumSquare", f32(2, 3), [], f32(13))
for op, kept in (("ReduceL1", (2, 3)), ("ReduceL2", (2, 3)), ("ReduceLogSumExp", (-2, 3)), ("ReduceMean", (-2, 3)),
                 ("ReduceMax", (-2, 3)), ("ReduceProd", (-2, 3)), ("ReduceLogSum", (NAN, np.log(3)))):
    reduce(op, f32(-2, 3), [], f32(*kept), noop_with_empty_axes=1, rtol=1e-6)
# One accumulator of 32 bits would be 5e-4 off.
reduce("ReduceSum", np.full(50000, 0.1, np.float32), [0], f32(5000), rtol=1e-4)
reduce("ReduceSumSquare", np.full(50000, 0.3, np.float32), [0], f32(4500), rtol=1e-4)
reduce("ReduceSum", f32(2, 3), None, np.float32(5), keepdims=0)
reduce("ReduceSum", np.full(3000, 1, np.float16), [0], np.array([3000], np.float16))
case("ArgMax", [f32(1, 3, 3)], i64(1))
case("ArgMax", [f32(1, 3, 3)], i64(2), select_last_index=1)
case("ArgMax", [f32(1, NAN, 3, NAN)], i64(1))
case("ArgMin", [f32(1, NAN, 3, NAN)], i64(3), select_last_index=1)
case("ArgMax", [f32(-INF, -INF)], i64(0))
case("ArgMin", [f32(INF, INF)], i64(0))
case("ArgMax", [np.array([127, 255], np.uint8)], i64(1))
case("ArgMin", [i64(2**63 - 1, -(2**63), -(2**63))], i64(1))
case("CumSum", [f32(1, 2, 3), np.int64(0)], f32(5, 3, 0), exclusive=1, reverse=1)
case("CumSum", [f32([1, 2], [3, 4]), np.int32(-1)], f32([1, 3], [3, 7]))
case("CumSum", [empty(0, 2), np.int64(0)], empty(0, 2))

# ---- Normalizations -----------------------------------------------------------------------------------

case("Softmax", [f32([-INF, -INF], [1000, 1000], [INF, 0])], f32([NAN, NAN], [0.5, 0.5], [NAN, NAN]), rtol=1e-6)
case("Softmax", [empty(0, 3)], empty(0, 3))
case("Softmax", [empty(3, 0)], empty(3, 0))
case("Softmax", [f32([0, 0], [0, 0])], f32([0.5, 0.5], [0.5, 0.5]), rtol=1e-6, axis=0)
case("LogSoftmax", [f32([1000, 1000], [-1000, 0])], f32([-np.log(2)] * 2, [-1000, 0]), rtol=1e-6)
case("LogSoftmax", [f32([-INF, -INF], [INF, 0], [-INF, 0])], f32([NAN, NAN], [NAN, NAN], [-INF, 0]))
case("Hardmax", [f32(1, 3, 3)], f32(0, 1, 0))
case("LpNormalization", [f32([0, 0], [3, 4])], f32([0, 0], [0.6, 0.8]), rtol=1e-6)
case("LayerNormalization", [f32([10000, 10001, 10002, 10003]), f32(1, 1, 1, 1)],
     f32([-1.3416355, -0.4472118, 0.4472118, 1.3416355]), rtol=1e-5)
case("LRN", [f32([[[1]], [[2]], [[3]], [[4]]])],
     f32([[[1 / 6]], [[2 / 15]], [[3 / 30]], [[4 / 26]]]), rtol=1e-5, size=2 + 1, alpha=3.0, beta=1.0)
case("LRN", [f32([[[1]], [[2]], [[3]], [[4]]])],
     f32([[[1 / 6]], [[2 / 14]], [[3 / 26]], [[4 / 17]]]), rtol=1e-5, size=2, alpha=2.0, beta=1.0)

# ---- Losses -------------------------------------------------------------------------------------------

case("NegativeLogLikelihoodLoss", [f32([-1, -2], [-3, -4]), i64(7, 7)], np.float32(NAN), ignore_index=7)
case("NegativeLogLikelihoodLoss", [f32([-1, -2], [-3, -4]), i64(7, 1)], np.float32(4), ignore_index=7)
case("NegativeLogLikelihoodLoss", [f32([-1, -2], [-3, -4]), i64(0, 2)], f32(1, NAN), reduction="none")
case("NegativeLogLikelihoodLoss", [f32([-1, -2], [-3, -4]), i64(0, 1), f32(1, 3)], np.float32(13 / 4))
case("SoftmaxCrossEntropyLoss", [f32([1000, 1000]), i64(0)], np.float32(np.log(2)), rtol=1e-6)


# ---- Running ------------------------------------------------------------------------------------------


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


# ---- Axes, sizes and steps that the run tells --------------------------------------------------------

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
case("Unsqueeze", [X, i64(-1, 0)], X[None, ..., None])
case("Unsqueeze", [X, i64(2, 1)], X[:, None, None])
case("Squeeze", [X[:, None, :, None], i64(-2, 1)], X)
case("Squeeze", [X[:, None, :, None], i64(1)], X[:, :, None])
case("Split", [X[0], i64(0, 3, 0)], X[0][:0], X[0], X[0][3:])
case("Slice", [X, i64(3), i64(9), i64(1)], X[:, 3:])
case("Slice", [X, i64(4, 0), i64(9, 2), i64(2, 1)], X[:, 0:2, 4:])
for step in (-2**63, -2**63 + 1, -2**31, 2**63 - 1):
    case("Slice", [X, i64(9 if step < 0 else -9), i64(-9 if step < 0 else 9), i64(1), i64(step)],
         X[:, -1:] if step < 0 else X[:, :1])

case("Expand", [f32([1], [2]), i64(1)], f32([1], [2]))
case("PRelu", [f32([-1, -2], [3, -4]), f32(2, 3)], f32([-2, -6], [3, -12]))
case("Reshape", [empty(0, 3), i64(-1, 3)], empty(0, 3))
case("Reshape", [empty(0, 3), i64(3, 0)], empty(3, 0), allowzero=1)
case("Reshape", [X, i64(0, -1)], X.reshape(2, 12))

# ---- Indices ------------------------------------------------------------------------------------------

case("ScatterElements", [f32(0, 0), i64(1, 1, 1), f32(5, 6, 7)], f32(0, 7))
case("ScatterND", [f32(0, 0), i64([1], [1]), f32(5, 6)], f32(0, 6))
case("ScatterND", [f32(1, 2), np.zeros((0, 1), np.int64), f32()], f32(1, 2))
case("GatherND", [X, np.zeros((0, 1), np.int64)], empty(0, 3, 4))
case("GatherND", [X, i64([-1], [0])], X[[-1, 0]])
case("GatherND", [X, i64([[-1]], [[0]])], np.stack([X[0][[-1]], X[1][[0]]]), batch_dims=1)
case("Gather", [X, np.zeros((0,), np.int64)], empty(2, 0, 4), axis=1)
case("OneHot", [i64(-1, 0, 5, -4), i64(3), f32(0, 1)], f32([0, 0, 1], [1, 0, 0], [0, 0, 0], [0, 0, 0]))
case("Trilu", [X, i64(5)], X * 0)
case("NonZero", [f32(NAN, 0, -0.0, 2)], i64([0, 3]))
case("Compress", [f32(1, 2, 3), np.array([True])], f32(1), axis=0)
case("Range", [np.float32(1), np.float32(1), np.float32(1)], f32())
case("Range", [np.int64(5), np.int64(0), np.int64(-2)], i64(5, 3, 1))

# ---- Quantization -------------------------------------------------------------------------------------

HALVES = f32(0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 1e30, -1e30, INF, -INF, NAN)
for dtype in (np.int8, np.uint8, np.int16, np.uint16):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    for zero in (0, 10):
        rounded = [min(max(v + zero, low), high) for v in (0, 2, 2, 0, -2, -2, 0)]
        case("QuantizeLinear", [HALVES, np.float32(1), np.array(zero, dtype)],
             np.array([*rounded, high, low, high, low, 0], dtype))
case("QuantizeLinear", [f32(1, 3, 5, -3), np.float32(2), np.array(-3, np.int8)], np.array([-3, -1, -1, -5], np.int8))
# The scale is 1: the range is 0 to 255.
case("DynamicQuantizeLinear", [f32(0, 0.5, 1.5, 2.5, 255)], np.array([0, 0, 2, 2, 255], np.uint8), np.float32(1), np.uint8(0))

# ---- Windows ------------------------------------------------------------------------------------------

case("MaxPool", [np.full((1, 1, 2, 2), -INF, np.float32)], np.full((1, 1, 1, 1), -INF, np.float32),
     np.zeros((1, 1, 1, 1), np.int64), kernel_shape=[2, 2])
case("MaxPool", [np.array([[[-128, -5, 3, 127]]], np.int8)], np.array([[[-5, 127]]], np.int8), kernel_shape=[2], strides=[2])
case("MaxPool", [f32([[1, NAN, 2, 3]])], f32([[NAN, 3]]), kernel_shape=[2], strides=[2])
# SAME makes three elements of stride 2 six: of the eight that there are one goes on each side.
case("ConvTranspose", [f32([[1, 2, 3]]), f32([[1, 1, 1]])], f32([[1, 3, 2, 5, 3, 3]]), strides=[2], auto_pad="SAME_UPPER",
     output_padding=[1])
case("Resize", [f32([[1, 2, 3]]), None, None, i64(1, 1, 1)], f32([[1]]), mode="linear",
     coordinate_transformation_mode="align_corners")
case("Resize", [f32([[1, 2, np.inf]]), None, None, i64(1, 1, 1)], f32([[2]]), mode="linear")
case("Resize", [f32([[1, 2, 3, 4]]), None, None, i64(1, 1, 2)], f32([[1, 3]]), mode="nearest",
     coordinate_transformation_mode="asymmetric", nearest_mode="floor")



def cubic_at(row, position):
    """Keys' cubic with a = -0.75 on a row whose ends go on for ever."""
    first = int(np.floor(position))
    weights = [-0.75 * (((t - 5) * t + 8) * t - 4) if t > 1 else (1.25 * t - 2.25) * t * t + 1
               for t in (abs(position - first - i) for i in range(-1, 3))]
    return sum(w * row[min(max(first + i, 0), len(row) - 1)] for i, w in zip(range(-1, 3), weights))


POSITIONS = (0.0, 0.5, 2.25, 4.0, -0.25, -0.4, -1.0, -1.75, 4.3, 4.45, 6.0, 5.25)
for align in (0, 1):
    x = [(2 * p + 1) / 5 - 1 if not align else p / 2 - 1 for p in POSITIONS]
    case("GridSample", [f32([[[0, 1, 4, 9, 16]]]), f32([[[v, 0] for v in x]])],
         f32([[[cubic_at((0, 1, 4, 9, 16), p) for p in POSITIONS]]]), mode="cubic", padding_mode="border", align_corners=align, rtol=3e-5)

# ---- Small numbers ------------------------------------------------------------------------------------

case("Add", [np.array([2**-24, 2**-15], np.float16), np.array([0, 2**-24], np.float16)],
     np.array([2**-24, 2**-15 + 2**-24], np.float16))
case("Mul", [np.array([2**-14], np.float16), np.array([0.5], np.float16)], np.array([2**-15], np.float16))
case("Add", [f32(1e-45, 1e-40), f32(0, 0)], f32(1e-45, 1e-40))
case("Mul", [f32(2**-126), f32(0.25)], f32(2**-128))
cast(f32(2**-24, 2**-25, 3 * 2**-26), np.float16, [2**-24, 0, 2**-24])
cast(f32(1e-45), np.float64, [float(np.float32(1e-45))])

# ---- Types of less than 16 bits -----------------------------------------------------------------------

F8 = {name: np.dtype(getattr(ml_dtypes, f"float8_{name}")) for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")}
for name, kept, cut in (("e4m3fn", [-448, 448, 448, NAN], [NAN, NAN, NAN, NAN]),
                        ("e4m3fnuz", [-240, 240, 240, NAN], [NAN, NAN, NAN, NAN]),
                        ("e5m2", [-57344, 57344, 57344, NAN], [-INF, INF, INF, NAN]),
                        ("e5m2fnuz", [-57344, 57344, 57344, NAN], [NAN, NAN, NAN, NAN])):
    for saturate, expected in ((1, kept), (0, cut)):
        case("Cast", [f32(-INF, INF, 1e6, NAN)], np.array(expected, np.float32).astype(F8[name]), saturate=saturate,
             to=helper.np_dtype_to_tensor_dtype(F8[name]))
    case("Cast", [f32(-0.0, 2**-20)], np.array([0 if "uz" in name else -0.0, 0], np.float32).astype(F8[name]),
         to=helper.np_dtype_to_tensor_dtype(F8[name]))
for dtype, values in ((ml_dtypes.int4, [1, -8, 7]), (ml_dtypes.uint4, [15, 0, 9, 3, 12])):
    case("Cast", [np.array(values, np.int8).astype(dtype)], np.array(values, np.int32), to=6)
    cast(np.array(values, np.int8), dtype, np.array(values, np.int8))


def build_model(cases, constant):
    """Returns one model of all cases, its inputs and its expected outputs by name."""
    nodes, inputs, outputs = [], {}, {}
    for number, item in enumerate(cases):
        names = []
        for place, array in enumerate(item.inputs):
            names.append("" if array is None else f"in_{number}_{place}")
            if array is not None:
                inputs[names[-1]] = np.asarray(array)
        results = {f"out_{number}_{place}": np.asarray(array) for place, array in enumerate(item.outputs)}
        outputs.update(results)
        nodes.append(helper.make_node(item.op, names, list(results), name=f"case_{number}_{item.op}",
                                      **item.attributes))
    graph = helper.make_graph(
        nodes, "numerics", [] if constant else [value_info(n, a) for n, a in inputs.items()],
        [value_info(n, a) for n, a in outputs.items()],
        [numpy_helper.from_array(a, n) for n, a in inputs.items()] if constant else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    return model, {} if constant else inputs, outputs


def run(cases, constant, options, tally):
    kind = "constant" if constant else "at run time"
    model, inputs, outputs = build_model(cases, constant)
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(model, work / "model.onnx")
        np.savez(work / "in.npz", **{n: harness.savable(a) for n, a in inputs.items()})
        for command in ([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o", work / "model.so",
                         *options.flags],
                        [harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs", work / "in.npz",
                         "--outputs", work / "out.npz"]):
            done = harness.run_limited(command, 300)
            if not tally.check(f"{pathlib.Path(command[0]).name} {kind}",
                               "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
                return
        with np.load(work / "out.npz") as file:
            got = {name: file[name] for name in file.files}
    for number, item in enumerate(cases):
        for name in (n for n in outputs if n.startswith(f"out_{number}_")):
            found = harness.compare(got[name], outputs[name], rtol=item.rtol, atol=0)
            text = f"{item.op} {item.attributes} of {[None if a is None else a.tolist() for a in item.inputs]}"
            tally.check(f"{kind} {text[:90]}", found.problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", metavar="RE", help="only cases whose operator matches")
    parser.add_argument("flags", nargs="*", metavar="-- FLAG", help="further flags of onnx-aot-compile")
    options = parser.parse_args()
    cases = [c for c in CASES if not options.filter or re.search(options.filter, c.op)]
    tally = harness.Tally()
    for constant in (False, True):
        run(cases, constant, options, tally)
    tally.finish()


if __name__ == "__main__":
    main()
