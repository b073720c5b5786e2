"""Pooling."""
import numpy as np

from onnx import helper

from cases import apart, case, normal

# ---- Windows -------------------------------------------------------------------------------------------

GEOMETRIES = (
    ((2, 3, 6, 6), dict(kernel_shape=[2, 2], strides=[2, 2])),
    ((1, 2, 7, 5), dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    ((1, 1, 9), dict(kernel_shape=[3], strides=[2], dilations=[2])),
    ((1, 2, 5, 6), dict(kernel_shape=[3, 2], strides=[2, 3], pads=[1, 0, 1, 1], ceil_mode=1)),
    ((1, 1, 4, 3, 5), dict(kernel_shape=[2, 2, 3], strides=[1, 1, 2])),
    ((1, 1, 5, 7), dict(kernel_shape=[3, 2], strides=[2, 2], auto_pad="SAME_UPPER")),
    ((0, 2, 4, 4), dict(kernel_shape=[2, 2])),
)

for shape, attributes in GEOMETRIES:
    case("MaxPool", [apart(*shape)], second=False, **attributes)  # linear between kinks: no second derivative
case("MaxPool", [apart(1, 2, 5, 4)], kernel_shape=[2, 2], storage_order=1, outputs=2, used=(0,))
case("MaxPool", [apart(1, 2, 5, 4)], nodes=[helper.make_node("Exp", ["x0"], ["h"]), helper.make_node(
    "MaxPool", ["h"], ["y0"], kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1])])
# Channels last, as a convolution before or behind it has them.
case("MaxPool", [normal(2, 8, 9, 7), normal(12, 8, 3, 3, seed=1), normal(8, 12, 2, 2, seed=2)], dynamic=False, second=False, nodes=[
    helper.make_node("Conv", ["x0", "x1"], ["h"], pads=[1, 1, 1, 1]),
    helper.make_node("MaxPool", ["h"], ["p"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 1]),
    helper.make_node("Conv", ["p", "x2"], ["y0"])])

for shape, attributes in GEOMETRIES:
    for include in (0, 1):
        if include and "auto_pad" in attributes:
            continue
        case("AveragePool", [normal(*shape)], count_include_pad=include, **attributes)

for shape, attributes in GEOMETRIES:
    case("LpPool", [normal(*shape, shift=3.0)], p=2, **attributes)
case("LpPool", [apart(1, 2, 5, 5, away=(0.0,))], kernel_shape=[3, 2], strides=[2, 2], p=1)
case("LpPool", [apart(1, 2, 5, 5, away=(0.0,))], kernel_shape=[3, 2], strides=[1, 2], p=3)

# ---- Everything ----------------------------------------------------------------------------------------

GLOBAL = ((2, 3, 4, 5), (1, 2, 7), (1, 1, 1, 1), (2, 1, 2, 3, 2), (0, 2, 3))

for shape in GLOBAL:
    case("GlobalAveragePool", [normal(*shape)], forward=lambda x: np.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True))
    case("GlobalMaxPool", [apart(*shape)], forward=lambda x: np.max(x, axis=tuple(range(2, x.ndim)), keepdims=True),
         why="the reference is wrong for other ranks than 4")
    for p in (1, 2, 3):
        case("GlobalLpPool", [apart(*shape, away=(0.0,))], p=p, second=p > 1,
             forward=lambda x, p=p: np.power(np.sum(np.abs(x) ** p, axis=tuple(range(2, x.ndim)), keepdims=True), 1 / p),
             why="the reference has no such operator")

# ---- The way back --------------------------------------------------------------------------------------


def unpool(x, at, kernel, strides):
    shape = list(x.shape[:2]) + [(s - 1) * t + k for s, t, k in zip(x.shape[2:], strides, kernel)]
    y = np.zeros(int(np.prod(shape)))
    y[at.ravel()] = x.ravel()
    return y.reshape(shape)


for shape, kernel, strides in (((1, 1, 2, 2), [2, 2], [2, 2]), ((2, 2, 3), [2], [2]), ((1, 2, 2, 3), [2, 2], [1, 1]),
                               ((1, 1, 2, 1, 2), [2, 1, 2], [2, 1, 2]), ((1, 1, 1, 1), [3, 3], [1, 1])):
    total = int(np.prod(unpool(normal(*shape), np.zeros(shape, np.int64), kernel, strides).shape))
    at = np.random.default_rng(7).permutation(total)[:int(np.prod(shape))].reshape(shape).astype(np.int64)
    case("MaxUnpool", [normal(*shape), at], kernel_shape=kernel, strides=strides, runtime=(1,),
         forward=lambda x, i, k=kernel, s=strides: unpool(x, i, k, s))
