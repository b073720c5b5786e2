"""ONNX graphs in numpy, forward and backward: an independent reference of what training computes, in any precision.

Written from the text of ONNX's specification, for the operators of training_models.py alone. An operator is a function of its
inputs and attributes that gives its outputs and a function from their gradients to those of its inputs (None where there is
none).
"""
import math

import numpy as np
from onnx import helper, numpy_helper

OPERATORS = {}


def operator(*names):
    def add(function):
        OPERATORS.update({name: function for name in names})
        return function
    return add


def unbroadcast(gradient, like):
    """Sums what broadcasting repeated."""
    gradient = gradient.sum(tuple(range(gradient.ndim - like.ndim)))
    axes = tuple(i for i, size in enumerate(like.shape) if size == 1 and gradient.shape[i] != 1)
    return gradient.sum(axes, keepdims=True)


def binary(forward, left, right):
    def apply(a, b):
        return forward(a, b), lambda dy: (unbroadcast(left(dy, a, b), a), unbroadcast(right(dy, a, b), b))
    return apply


OPERATORS["Add"] = binary(np.add, lambda dy, a, b: dy, lambda dy, a, b: dy)
OPERATORS["Sub"] = binary(np.subtract, lambda dy, a, b: dy, lambda dy, a, b: -dy)
OPERATORS["Mul"] = binary(np.multiply, lambda dy, a, b: dy * b, lambda dy, a, b: dy * a)
OPERATORS["Div"] = binary(np.divide, lambda dy, a, b: dy / b, lambda dy, a, b: -dy * a / b / b)


def swap(x):
    return np.swapaxes(x, -1, -2)


@operator("MatMul")
def matmul(a, b):
    return a @ b, lambda dy: (unbroadcast(dy @ swap(b), a), unbroadcast(swap(a) @ dy, b))


@operator("Gemm")
def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    left, right = a.T if transA else a, b.T if transB else b
    y = alpha * (left @ right)

    def backward(dy):
        da, db = alpha * (dy @ right.T), alpha * (left.T @ dy)
        return da.T if transA else da, db.T if transB else db, None if c is None else unbroadcast(beta * dy, c)
    return (y if c is None else y + beta * c), backward


def windows(x, kernel, strides, pads, fill):
    """The padded input and, for each position in the kernel, the part of it that meets it."""
    padded = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])], constant_values=fill)
    height, width = ((padded.shape[2 + i] - kernel[i]) // strides[i] + 1 for i in range(2))
    places = [(..., slice(i, i + strides[0] * (height - 1) + 1, strides[0]), slice(j, j + strides[1] * (width - 1) + 1, strides[1]))
              for i in range(kernel[0]) for j in range(kernel[1])]
    return padded, places


def unpad(padded, pads):
    return padded[:, :, pads[0]:padded.shape[2] - pads[2], pads[1]:padded.shape[3] - pads[3]]


@operator("Conv")
def conv(x, w, b=None, kernel_shape=None, pads=(0, 0, 0, 0), strides=(1, 1)):
    padded, places = windows(x, w.shape[2:], strides, pads, 0)
    kernel = w.reshape(*w.shape[:2], -1)
    columns = np.stack([padded[place] for place in places], 2)
    y = np.einsum("nckhw,ock->nohw", columns, kernel, optimize=True)

    def backward(dy):
        dw = np.einsum("nohw,nckhw->ock", dy, columns, optimize=True).reshape(w.shape)
        parts = np.einsum("nohw,ock->knchw", dy, kernel, optimize=True)
        dx = np.zeros_like(padded)
        for part, place in zip(parts, places):
            dx[place] += part
        return unpad(dx, pads), dw, None if b is None else dy.sum((0, 2, 3))
    return (y if b is None else y + b[:, None, None]), backward


@operator("MaxPool")
def max_pool(x, kernel_shape=None, pads=(0, 0, 0, 0), strides=(1, 1)):
    padded, places = windows(x, kernel_shape, strides, pads, -np.inf)
    columns = np.stack([padded[place] for place in places])
    first = columns.argmax(0)

    def backward(dy):
        dx = np.zeros_like(padded)
        for index, place in enumerate(places):
            dx[place] += np.where(first == index, dy, 0)
        return (unpad(dx, pads),)
    return columns.max(0), backward


def normalize(x, axes, epsilon):
    """(x - mean) / deviation over axes, its backward pass, mean and variance."""
    mean, var = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    inverse = 1 / np.sqrt(var + x.dtype.type(epsilon))
    hat = (x - mean) * inverse

    def backward(d):
        return inverse * (d - d.mean(axes, keepdims=True) - hat * (d * hat).mean(axes, keepdims=True))
    return hat, backward, mean, var


@operator("BatchNormalization")
def batch_norm(x, scale, shift, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0):
    assert training_mode == 1
    axes, shape = (0, 2, 3), (1, -1, 1, 1)
    hat, back, now, spread = normalize(x, axes, epsilon)
    keep = x.dtype.type(momentum)
    running = [old * keep + new.ravel() * (1 - keep) for old, new in ((mean, now), (var, spread))]

    def backward(dy, *_):
        return back(dy * scale.reshape(shape)), (dy * hat).sum(axes), dy.sum(axes), None, None
    return (hat * scale.reshape(shape) + shift.reshape(shape), *running), backward


@operator("LayerNormalization")
def layer_norm(x, scale, shift, axis=-1, epsilon=1e-5):
    hat, back, *_ = normalize(x, tuple(range(axis % x.ndim, x.ndim)), epsilon)
    return hat * scale + shift, lambda dy: (back(dy * scale), unbroadcast(dy * hat, scale), unbroadcast(dy, shift))


@operator("Relu")
def relu(x):
    return np.maximum(x, 0), lambda dy: (dy * (x > 0),)


@operator("Tanh")
def tanh(x):
    y = np.tanh(x)
    return y, lambda dy: (dy * (1 - y * y),)


@operator("Erf")
def erf(x):
    y = np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)
    return y, lambda dy: (dy * x.dtype.type(2 / math.sqrt(math.pi)) * np.exp(-x * x),)


@operator("Softmax")
def softmax(x, axis=-1):
    y = np.exp(x - x.max(axis, keepdims=True))
    y /= y.sum(axis, keepdims=True)
    return y, lambda dy: (y * (dy - (dy * y).sum(axis, keepdims=True)),)


@operator("Where")
def where(condition, a, b):
    return np.where(condition, a, b), lambda dy: (None, unbroadcast(np.where(condition, dy, 0), a),
                                                  unbroadcast(np.where(condition, 0, dy), b))


@operator("Gather")
def gather(x, indices, axis=0):
    assert axis == 0

    def backward(dy):
        dx = np.zeros_like(x)
        np.add.at(dx, indices, dy)
        return dx, None
    return x[indices], backward


@operator("GlobalAveragePool")
def global_average(x):
    return x.mean((2, 3), keepdims=True), lambda dy: (np.broadcast_to(dy, x.shape) / x.dtype.type(x.shape[2] * x.shape[3]),)


@operator("Transpose")
def transpose(x, perm=None):
    return x.transpose(perm), lambda dy: (dy.transpose(None if perm is None else np.argsort(perm)),)


@operator("Flatten")
def flatten(x, axis=1):
    return x.reshape(int(np.prod(x.shape[:axis])), -1), lambda dy: (dy.reshape(x.shape),)


@operator("Reshape")
def reshape(x, shape):
    return x.reshape([x.shape[i] if s == 0 else s for i, s in enumerate(shape)]), lambda dy: (dy.reshape(x.shape), None)


@operator("Unsqueeze")
def unsqueeze(x, axes):
    return np.expand_dims(x, tuple(axes)), lambda dy: (dy.reshape(x.shape), None)


@operator("Concat")
def concat(*xs, axis):
    ends = np.cumsum([x.shape[axis] for x in xs])[:-1]
    return np.concatenate(xs, axis), lambda dy: tuple(np.split(dy, ends, axis))


@operator("Split")
def split(x, sizes, axis=0):
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis)), lambda *dys: (np.concatenate(dys, axis), None)


@operator("Cast")
def cast(x, to):
    dtype = helper.tensor_dtype_to_np_dtype(to)
    # Which precision floats have is the caller's choice.
    stays = dtype.kind == "f" and x.dtype.kind == "f"
    return (x if stays else x.astype(dtype)), lambda dy: (dy if stays else None,)


@operator("Identity", "Dropout")
def identity(x, *_):
    """Dropout as it is without training_mode."""
    return x, lambda dy: (dy,)


class Reference:
    """A graph with its parameters, in one precision."""

    def __init__(self, graph, dtype):
        self.graph, self.dtype = graph, dtype
        self.values = {t.name: self.exact(numpy_helper.to_array(t)) for t in graph.initializer}
        self.constants = {node.output[0]: self.exact(numpy_helper.to_array(node.attribute[0].t))
                          for node in graph.node if node.op_type == "Constant"}

    def exact(self, value):
        return value.astype(self.dtype) if value.dtype.kind == "f" else value

    def forward(self, inputs):
        """All values of the graph."""
        values = {**self.constants, **self.values, **{n: self.exact(np.asarray(v)) for n, v in inputs.items()}}
        self.tape = []
        for node in self.graph.node:
            if node.op_type == "Constant":
                continue
            attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            outputs, backward = OPERATORS[node.op_type](*[values[n] if n else None for n in node.input], **attributes)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            values.update(zip(node.output, outputs))
            self.tape.append((node, outputs, backward))
        return values

    def backward(self, gradients):
        """Gradients of all values from those of the outputs."""
        gradients = dict(gradients)
        for node, outputs, backward in reversed(self.tape):
            seeds = [gradients.get(name) for name in node.output]
            if all(seed is None for seed in seeds):
                continue
            seeds = [np.zeros_like(y) if seed is None else seed for y, seed in zip(outputs, seeds)]
            for name, gradient in zip(node.input, backward(*seeds)):
                if gradient is not None and name:
                    gradients[name] = gradients[name] + gradient if name in gradients else gradient
        return gradients
