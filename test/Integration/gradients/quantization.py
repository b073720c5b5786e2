"""Quantization, straight through: rounding counts as the identity, what is clipped passes nothing."""
import numpy as np
from onnx import TensorProto, helper

from cases import case, normal, uniform

LIMITS = {np.int8: (-128, 127), np.uint8: (0, 255), np.int16: (-32768, 32767), np.uint16: (0, 65535)}


def spread(parameter, x, axis):
    """A scale or zero point, broadcast to x."""
    if parameter.ndim == 0 or parameter.size == 1 and parameter.ndim <= 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


def total(gradient, parameter, axis):
    """A gradient of every element, summed to the shape of the parameter."""
    axes = tuple(i for i in range(gradient.ndim) if parameter.size == 1 or i != axis % gradient.ndim)
    return np.sum(gradient, axis=axes).reshape(parameter.shape)


def pair(op, x, scale, zero, axis=1, **more):
    """x quantized and back: both rules at once."""
    kind = zero.dtype.type

    def both(inputs, dys):
        low, high = LIMITS[kind]
        s, z = spread(scale, x, axis), spread(zero.astype(np.float64), x, axis)
        number = np.round(x / s) + z
        inside, dy = (number >= low) & (number <= high), dys[0]
        of_scale = dy * (np.clip(number, low, high) - z) - np.where(inside, dy * x / s, 0)
        return [np.where(inside, dy, 0), total(of_scale, scale, axis)]

    # The operators take no float64.
    nodes = [helper.make_node("Cast", ["x0"], ["single"], to=TensorProto.FLOAT),
             helper.make_node("Cast", ["x1"], ["scale"], to=TensorProto.FLOAT),
             helper.make_node("QuantizeLinear", ["single", "scale", "x2"], ["q"], axis=axis),
             helper.make_node("DequantizeLinear", ["q", "scale", "x2"], ["back"], axis=axis),
             helper.make_node("Cast", ["back"], ["y0"], to=TensorProto.DOUBLE)]
    case(op, [x, scale, zero], nodes=nodes, expect=both, rtol=1e-4, why="straight through, single precision", **more)


for op in ("QuantizeLinear", "DequantizeLinear"):
    pair(op, normal(3, 4), np.array(0.02), np.array(3, np.int8))
    pair(op, normal(2, 3, 4), uniform(0.01, 0.02, 3), np.array([0, 100, 255], np.uint8))
    pair(op, normal(4, 2), uniform(0.01, 0.02, 4), np.array([1, -5, 100, -128], np.int8), axis=0)
    pair(op, normal(), np.array(0.5), np.array(0, np.int16))
    pair(op, normal(0, 3), np.array(0.1), np.array(7, np.uint16))
    pair(op, normal(2, 5, scale=3.0), np.array(0.01), np.array(0, np.int8))

# A scale for each block, the last of which may be shorter.
for shape, axis, block in (((2, 6), 1, 3), ((5, 2), 0, 2), ((2, 7, 2), 1, 4)):
    x = (np.arange(np.prod(shape)).reshape(shape) * 7 % 23 - 11).astype(np.int8)
    blocks = [-(-n // block) if i == axis else n for i, n in enumerate(shape)]
    nodes = [helper.make_node("Cast", ["x1"], ["scale"], to=TensorProto.FLOAT),
             helper.make_node("DequantizeLinear", ["x0", "scale"], ["single"], axis=axis, block_size=block),
             helper.make_node("Cast", ["single"], ["y0"], to=TensorProto.DOUBLE)]
    case("DequantizeLinear", [x, uniform(0.01, 0.02, *blocks)], nodes=nodes, rtol=1e-5, fixed=(1,), why="single precision",
         forward=lambda x, s, axis=axis, block=block: x * np.repeat(s, block, axis=axis).take(range(x.shape[axis]), axis=axis))

# Scale and zero point follow x, but count as constants.
for shape in ((3, 4), (7,), (), (1, 3), (2, 3, 2)):
    nodes = [helper.make_node("Cast", ["x0"], ["single"], to=TensorProto.FLOAT),
             helper.make_node("DynamicQuantizeLinear", ["single"], ["q", "scale", "zero"]),
             helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["back"]),
             helper.make_node("Cast", ["back"], ["y0"], to=TensorProto.DOUBLE)]
    case("DynamicQuantizeLinear", [normal(*shape)], nodes=nodes, expect=lambda inputs, dys: [dys[0]], rtol=1e-5,
         dynamic=bool(shape), why="straight through, single precision")
