"""The models that training is measured on, at sizes that a test can afford: an MLP, LeNet, ResNet-18, a small GPT."""
import numpy as np
import onnx
from onnx import helper, numpy_helper


class Graph:
    """Collects nodes and initializers, with values from a fixed seed."""

    def __init__(self, seed=0):
        self.rng, self.nodes, self.values, self.initializers = np.random.default_rng(seed), [], 0, {}

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.values += 1
        names = [f"v{self.values}" + (f"_{i}" if i else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"{kind.lower()}{self.values}", **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, values, dtype=np.int64):
        self.values += 1
        tensor = numpy_helper.from_array(np.array(values, dtype))
        self.nodes.append(helper.make_node("Constant", [], [f"c{self.values}"], value=tensor))
        return f"c{self.values}"

    def weight(self, name, *shape, scale=None):
        scale = 1 / np.sqrt(np.prod(shape[1:])) if scale is None else scale
        return self.add(name, self.rng.standard_normal(shape) * scale)

    def add(self, name, value):
        self.initializers[name] = np.asarray(value, np.float32)
        return name

    def model(self, inputs, output, opset=17):
        self.nodes[-1].output[0] = output[0]
        value = lambda name, shape, kind=onnx.TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
        graph = helper.make_graph(self.nodes, "net", [value(*i) for i in inputs], [value(*output)],
                                  [numpy_helper.from_array(v, n) for n, v in self.initializers.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        onnx.checker.check_model(model)
        return model

    def linear(self, x, name, out, width):
        return self.op("Gemm", x, self.weight(f"{name}.weight", out, width),
                       self.weight(f"{name}.bias", out, scale=0.1), transB=1)


def mlp(batch=16, width=20, hidden=32, classes=10):
    g = Graph()
    g.linear(g.op("Relu", g.linear("x", "fc1", hidden, width)), "fc2", classes, hidden)
    return g.model([("x", (batch, width))], ("y", (batch, classes)))


def lenet(batch=16, size=28, channels=(8, 16), hidden=32, classes=10):
    g = Graph()
    x = "x"
    for i, (before, after) in enumerate(zip((1, channels[0]), channels)):
        x = g.op("Conv", x, g.weight(f"conv{i}.weight", after, before, 3, 3), g.weight(f"conv{i}.bias", after, scale=0.1),
                 pads=[1] * 4, kernel_shape=[3, 3])
        x = g.op("MaxPool", g.op("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    width = channels[1] * (size // 4) ** 2
    x = g.op("Relu", g.linear(g.op("Flatten", x), "fc1", hidden, width))
    g.linear(x, "fc2", classes, hidden)
    return g.model([("x", (batch, 1, size, size))], ("y", (batch, classes)))


def resnet18(batch=4, size=32, width=8, classes=10):
    g = Graph()

    def conv_norm(x, name, before, after, kernel, stride):
        pad = kernel // 2
        x = g.op("Conv", x, g.weight(f"{name}.conv.weight", after, before, kernel, kernel), pads=[pad] * 4,
                 kernel_shape=[kernel, kernel], strides=[stride, stride])
        norm = [g.add(f"{name}.bn.{part}", np.full(after, value))
                for part, value in (("weight", 1), ("bias", 0), ("running_mean", 0), ("running_var", 1))]
        return g.op("BatchNormalization", x, *norm, outputs=3, training_mode=1, momentum=0.9)[0]

    x = g.op("Relu", conv_norm("x", "stem", 3, width, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    before = width
    for stage in range(4):
        after = width << stage
        for block in range(2):
            name, stride = f"layer{stage}.{block}", 2 if stage and not block else 1
            y = g.op("Relu", conv_norm(x, f"{name}.a", before, after, 3, stride))
            y = conv_norm(y, f"{name}.b", after, after, 3, 1)
            if stride != 1:
                x = conv_norm(x, f"{name}.down", before, after, 1, stride)
            x = g.op("Relu", g.op("Add", y, x))
            before = after
    g.linear(g.op("Flatten", g.op("GlobalAveragePool", x)), "fc", classes, before)
    return g.model([("x", (batch, 3, size, size))], ("y", (batch, classes)))


def gpt_small(batch=4, length=16, width=32, layers=4, heads=4, words=50):
    g = Graph()

    def norm(x, name):
        return g.op("LayerNormalization", x, g.add(f"{name}.weight", np.ones(width)), g.add(f"{name}.bias", np.zeros(width)),
                    axis=-1)

    def linear(x, name, out, before):
        return g.op("Add", g.op("MatMul", x, g.weight(f"{name}.weight", before, out, scale=before ** -0.5)),
                    g.weight(f"{name}.bias", out, scale=0.1))

    def heads_of(x):
        return g.op("Transpose", g.op("Reshape", x, g.constant([0, length, heads, width // heads])), perm=[0, 2, 1, 3])

    x = g.op("Add", g.op("Gather", g.weight("tokens", words, width, scale=0.5), "ids"),
             g.weight("positions", length, width, scale=0.5))
    mask, never = g.constant(np.tril(np.ones((length, length))), np.bool_), g.constant(-1e9, np.float32)
    for i in range(layers):
        y = norm(x, f"{i}.norm1")
        q, k, v = g.op("Split", linear(y, f"{i}.qkv", 3 * width, width), g.constant([width] * 3), outputs=3, axis=-1)
        scores = g.op("MatMul", heads_of(q), g.op("Transpose", heads_of(k), perm=[0, 1, 3, 2]))
        scores = g.op("Div", scores, g.constant((width // heads) ** 0.5, np.float32))
        weights = g.op("Softmax", g.op("Where", mask, scores, never), axis=-1)
        y = g.op("Transpose", g.op("MatMul", weights, heads_of(v)), perm=[0, 2, 1, 3])
        y = linear(g.op("Reshape", y, g.constant([0, 0, width])), f"{i}.out", width, width)
        x = g.op("Add", x, y)
        y = linear(norm(x, f"{i}.norm2"), f"{i}.up", 4 * width, width)
        half, one = g.constant(0.5, np.float32), g.constant(1, np.float32)
        gelu = g.op("Mul", g.op("Mul", y, half),
                    g.op("Add", g.op("Erf", g.op("Div", y, g.constant(2 ** 0.5, np.float32))), one))
        x = g.op("Add", x, linear(gelu, f"{i}.down", width, 4 * width))
    g.op("MatMul", norm(x, "norm"), g.weight("head", width, words, scale=width ** -0.5))
    return g.model([("ids", (batch, length), onnx.TensorProto.INT64)], ("logits", (batch, length, words)))


MODELS = {"mlp": mlp, "lenet": lenet, "resnet18": resnet18, "gpt_small": gpt_small}


def batches(name, model, count, seed=1):
    """Inputs and labels for some steps."""
    rng = np.random.default_rng(seed)
    shape = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    classes = model.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    for _ in range(count):
        if name == "gpt_small":
            tokens = rng.integers(0, classes, (shape[0], shape[1] + 1))
            yield {"ids": tokens[:, :-1], "labels": tokens[:, 1:]}
        else:
            yield {"x": rng.standard_normal(shape).astype(np.float32), "labels": rng.integers(0, classes, shape[0])}
