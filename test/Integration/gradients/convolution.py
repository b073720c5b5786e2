"""Convolutions and their adjoints."""
import numpy as np
from onnx import helper

from cases import case, i64, normal


def conv(x, w, bias=True, **attributes):
    inputs = [normal(*x), normal(*w, seed=1)]
    if bias:
        inputs.append(normal(w[0], seed=2))
    case("Conv", inputs, kernel_shape=list(w[2:]), dynamic="group" not in attributes, **attributes)


conv((2, 3, 5, 6), (4, 3, 3, 3), pads=[1, 1, 1, 1])
conv((1, 2, 7), (3, 2, 3), strides=[2])
conv((2, 4, 6, 5), (6, 2, 3, 2), group=2, pads=[1, 0, 2, 1], strides=[2, 1])
conv((1, 3, 7, 7), (3, 1, 3, 3), bias=False, group=3, dilations=[2, 2], pads=[2, 2, 2, 2])
conv((1, 2, 4, 3, 5), (2, 2, 2, 2, 3), strides=[1, 2, 2], pads=[0, 1, 1, 1, 0, 1])
conv((1, 1, 5, 8), (2, 1, 2, 3), auto_pad="SAME_UPPER", strides=[2, 1])
conv((1, 1, 5, 8), (2, 1, 2, 3), auto_pad="SAME_LOWER", strides=[2, 2])
case("Conv", [normal(0, 2, 4, 4), normal(3, 2, 2, 2, seed=1), normal(3, seed=2)], forward=lambda x, w, b: np.zeros((0, 3, 3, 3)), kernel_shape=[2, 2],
     why="the reference cannot do it")
conv((1, 1, 3, 3), (1, 1, 1, 1), pads=[2, 1, 0, 2], strides=[2, 2])
conv((2, 2, 6, 6), (4, 1, 3, 3), group=2, strides=[3, 2])


# Wide enough for channels last, where strides split the data gradient into convolutions.
conv((2, 4, 9, 8), (8, 4, 3, 3), pads=[1, 0, 1, 2], strides=[2, 3])
conv((1, 8, 7, 6), (8, 8, 1, 1), strides=[2, 2])
conv((1, 8, 9, 11), (6, 8, 2, 5), pads=[0, 2, 1, 1], strides=[3, 2], dilations=[2, 2])
conv((1, 8, 12), (8, 8, 3), pads=[2, 3], strides=[4], dilations=[3])
conv((1, 8, 4, 3, 5), (8, 8, 2, 2, 3), strides=[1, 2, 2], pads=[0, 1, 1, 1, 0, 1])
conv((2, 8, 6, 7), (12, 4, 3, 2), group=2, pads=[1, 0, 2, 1], strides=[2, 1])
conv((1, 8, 5, 8), (8, 8, 2, 3), auto_pad="SAME_UPPER", strides=[2, 2])


def chain(x, first, second, **attributes):
    """Two convolutions: what lies between them has its channels last, and so have both factors of the weights' gradients."""
    case("Conv", [normal(*x), normal(*first, seed=1), normal(*second, seed=2)], dynamic=False, second=False,
         nodes=[helper.make_node("Conv", ["x0", "x1"], ["h"], **attributes), helper.make_node("Conv", ["h", "x2"], ["y0"], **attributes)])


chain((2, 3, 9, 9), (8, 3, 3, 3), (8, 8, 3, 3), pads=[1, 1, 1, 1], strides=[2, 2])
chain((2, 9, 7, 6), (12, 9, 3, 3), (8, 12, 3, 3), pads=[1, 1, 1, 1], dilations=[1, 2])
chain((2, 4, 7, 6), (12, 4, 3, 3), (8, 12, 3, 3), pads=[1, 0, 1, 1], dilations=[2, 1])
chain((1, 4, 16), (12, 4, 3), (8, 12, 3), strides=[2])


def transposed(x, w, outputs, bias=True, **attributes):
    inputs = [normal(*x), normal(*w, seed=1)]
    if bias:
        inputs.append(normal(outputs, seed=2))
    attributes = {"dynamic": True} | attributes
    case("ConvTranspose", inputs, kernel_shape=list(w[2:]), **attributes)


transposed((1, 2, 3, 4), (2, 3, 3, 3), 3)
transposed((2, 2, 5), (2, 2, 3), 2, strides=[2], pads=[1, 1], output_padding=[1])


def grouped(x, w, b):
    """Two groups, strides 2 and 3, pads 0, 1, 1, 1."""
    y = np.zeros((x.shape[0], 2 * w.shape[1], 2 * x.shape[2], 3 * x.shape[3]))
    for n, c, m, i, j in np.ndindex(x.shape[0], x.shape[1], w.shape[1], x.shape[2], x.shape[3]):
        y[n, c // (x.shape[1] // 2) * w.shape[1] + m, 2 * i:2 * i + 2, 3 * j:3 * j + 3] += x[n, c, i, j] * w[c, m]
    return y[:, :, :-1, 1:-1] + b[:, None, None]


case("ConvTranspose", [normal(2, 4, 3, 3), normal(4, 2, 2, 3, seed=1), normal(4, seed=2)], forward=grouped, group=2, strides=[2, 3],
     pads=[0, 1, 1, 1], dynamic=False, why="the reference cannot do groups")
transposed((1, 2, 3, 3), (2, 1, 3, 3), 1, bias=False, dilations=[2, 2], pads=[1, 1, 1, 1])
transposed((1, 1, 2, 3, 2), (1, 2, 2, 2, 3), 2, strides=[2, 1, 2])
transposed((1, 1, 3, 3), (1, 2, 3, 3), 2, strides=[2, 2], output_shape=[7, 8], dynamic=False)

# ---- Columns -------------------------------------------------------------------------------------------

for shape, image, block, attributes in (((1, 4, 9), (4, 4), (2, 2), {}), ((2, 6, 4), (5, 5), (3, 1), dict(strides=[2, 3], pads=[0, 0, 1, 1])),
                                        ((1, 4, 4), (4, 4), (2, 2), dict(dilations=[2, 2])),
                                        ((1, 10, 21), (5, 5), (1, 5), dict(pads=[0, 1, 2, 1])), ((1, 1, 4), (2, 2), (1, 1), {})):
    case("Col2Im", [normal(*shape), i64(*image), i64(*block)], **attributes)
