#!/usr/bin/env python3
"""Write the models and data of the training examples (docs/Training.md).

usage: prepare.py images FOLDER OUT    FOLDER holds Fashion-MNIST or MNIST as *-ubyte.gz
       prepare.py text FILE.txt OUT    any text

images: lenet.onnx; train.safetensors, test.safetensors with x (float32 [N, 1, 28, 28]) and labels (int64 [N]);
        first-train, first-test (classes 0 to 4) and second-train, second-test (5 to 9, called 0 to 4) of both.
text:   language-model.onnx; train.safetensors, test.safetensors with tokens and labels (int64 [N, 64]: the next
        character); alphabet.txt, the characters in the order of their numbers.
"""
import gzip
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from safetensors.numpy import save_file

CONTEXT, WIDTH, HEADS, BLOCKS = 64, 96, 4, 2


class Graph:
    """Nodes and initializers of a model under construction."""

    def __init__(self, seed):
        self.nodes, self.values, self.rng = [], [], np.random.default_rng(seed)

    def op(self, kind, *inputs, name=None, **attributes):
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def value(self, name, array):
        self.values.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def uniform(self, name, shape, fan_in):
        """PyTorch's default for linear and convolution layers."""
        bound = 1 / np.sqrt(fan_in)
        return self.value(name, self.rng.uniform(-bound, bound, shape).astype(np.float32))

    def normal(self, name, shape, deviation=0.02):
        return self.value(name, (self.rng.standard_normal(shape) * deviation).astype(np.float32))

    def save(self, path, inputs, outputs):
        info = [[helper.make_tensor_value_info(*v) for v in values] for values in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, path.stem, *info, self.values)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
        model.ir_version = 10
        onnx.checker.check_model(model)
        onnx.save(model, path)


def lenet(path, classes):
    """Two convolutions and two linear layers, 1 x 28 x 28 to class scores."""
    g = Graph(seed=0)
    h = g.op("Conv", "x", g.uniform("conv1.weight", (16, 1, 5, 5), 25), g.uniform("conv1.bias", (16,), 25),
             pads=[2] * 4, kernel_shape=[5, 5])
    h = g.op("MaxPool", g.op("Relu", h), kernel_shape=[2, 2], strides=[2, 2])
    h = g.op("Conv", h, g.uniform("conv2.weight", (32, 16, 5, 5), 400), g.uniform("conv2.bias", (32,), 400),
             pads=[2] * 4, kernel_shape=[5, 5])
    h = g.op("MaxPool", g.op("Relu", h), kernel_shape=[2, 2], strides=[2, 2])
    h = g.op("Gemm", g.op("Flatten", h), g.uniform("fc1.weight", (128, 1568), 1568), g.uniform("fc1.bias", (128,), 1568),
             transB=1)
    g.op("Gemm", g.op("Relu", h), g.uniform("fc2.weight", (classes, 128), 128), g.uniform("fc2.bias", (classes,), 128),
         transB=1, name="scores")
    g.save(path, [("x", TensorProto.FLOAT, ["N", 1, 28, 28])], [("scores", TensorProto.FLOAT, ["N", classes])])


def language_model(path, alphabet):
    """A small transformer that predicts the next of `alphabet` characters."""
    g = Graph(seed=0)
    heads = g.value("heads", np.int64([0, CONTEXT, HEADS, WIDTH // HEADS]))
    flat = g.value("flat", np.int64([0, CONTEXT, WIDTH]))
    mask = g.value("mask", np.triu(np.full((CONTEXT, CONTEXT), -1e9, np.float32), 1))
    scale = g.value("scale", np.float32((WIDTH // HEADS) ** -0.5))

    def norm(h, name):
        return g.op("LayerNormalization", h, g.value(f"{name}.weight", np.ones(WIDTH, np.float32)),
                    g.value(f"{name}.bias", np.zeros(WIDTH, np.float32)), axis=-1)

    def linear(h, name, size):
        h = g.op("MatMul", h, g.normal(f"{name}.weight", size))
        return g.op("Add", h, g.value(f"{name}.bias", np.zeros(size[1], np.float32)))

    def split(h, order):
        return g.op("Transpose", g.op("Reshape", h, heads), perm=order)

    h = g.op("Add", g.op("Gather", g.normal("embedding.weight", (alphabet, WIDTH)), "tokens"),
             g.normal("position.weight", (CONTEXT, WIDTH)))
    for block in range(BLOCKS):
        name, x = f"block{block}", norm(h, f"block{block}.norm1")
        q, k, v = (linear(x, f"{name}.{part}", (WIDTH, WIDTH)) for part in ("query", "key", "value"))
        scores = g.op("Mul", g.op("MatMul", split(q, [0, 2, 1, 3]), split(k, [0, 2, 3, 1])), scale)
        attention = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
        mixed = g.op("Transpose", g.op("MatMul", attention, split(v, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
        h = g.op("Add", h, linear(g.op("Reshape", mixed, flat), f"{name}.out", (WIDTH, WIDTH)))
        x = g.op("Gelu", linear(norm(h, f"{name}.norm2"), f"{name}.up", (WIDTH, 4 * WIDTH)))
        h = g.op("Add", h, linear(x, f"{name}.down", (4 * WIDTH, WIDTH)))
    g.op("MatMul", norm(h, "norm"), g.normal("head.weight", (WIDTH, alphabet)), name="scores")
    g.save(path, [("tokens", TensorProto.INT64, ["N", CONTEXT])],
           [("scores", TensorProto.FLOAT, ["N", CONTEXT, alphabet])])


def read_idx(path):
    with gzip.open(path) as file:
        data = file.read()
    rank = data[3]
    dims = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(rank)]
    return np.frombuffer(data, np.uint8, offset=4 + 4 * rank).reshape(dims)


def images(folder, out):
    lenet(out / "lenet.onnx", 10)
    lenet(out / "lenet5.onnx", 5)
    for name, file in (("train", "train"), ("test", "t10k")):
        x = read_idx(folder / f"{file}-images-idx3-ubyte.gz")[:, None].astype(np.float32) / 255
        x = (x - np.float32(0.2860)) / np.float32(0.3530)
        labels = read_idx(folder / f"{file}-labels-idx1-ubyte.gz").astype(np.int64)
        save_file({"x": x, "labels": labels}, out / f"{name}.safetensors")
        for part, base in (("first", 0), ("second", 5)):
            chosen = (labels >= base) & (labels < base + 5)
            save_file({"x": x[chosen], "labels": labels[chosen] - base}, out / f"{part}-{name}.safetensors")


def text(path, out):
    words = path.read_text(errors="replace").encode("ascii", "replace").decode()
    alphabet = sorted(set(words))
    (out / "alphabet.txt").write_text("".join(alphabet))
    numbers = {c: i for i, c in enumerate(alphabet)}
    tokens = np.array([numbers[c] for c in words], np.int64)
    count = (len(tokens) - 1) // CONTEXT
    x = tokens[:count * CONTEXT].reshape(count, CONTEXT)
    y = tokens[1:count * CONTEXT + 1].reshape(count, CONTEXT)
    cut = count * 95 // 100
    save_file({"tokens": x[:cut], "labels": y[:cut]}, out / "train.safetensors")
    save_file({"tokens": x[cut:], "labels": y[cut:]}, out / "test.safetensors")
    language_model(out / "language-model.onnx", len(alphabet))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("images", "text"):
        sys.exit(__doc__)
    out = pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    {"images": images, "text": text}[sys.argv[1]](pathlib.Path(sys.argv[2]), out)


if __name__ == "__main__":
    main()
