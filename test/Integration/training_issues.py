#!/usr/bin/env python3
"""What went wrong for users of onnxruntime-training, row by row: none of it goes wrong here.

usage: training_issues.py [--build DIR] [--filter RE] [-- FLAG...]

A row is a defect of its tooling (loss 1 to loss 7) or an issue that a user wrote (its number, of microsoft/onnxruntime;
te: of onnxruntime-training-examples). Each has a function here; `LISTED` is the whole list, and one without a function
fails. Gradients are compared with differences of ONNX's reference implementation in float64, or with formulas.
"""
import argparse
import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "utils"))
import harness  # noqa: E402
import training_module as tm  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

LISTED = """loss 1, loss 2, loss 3, loss 4, loss 5, loss 6, loss 7, 22465, 19370, 16866, 22407, 18265, 10517, 10138, 20781, 19078,
20201, 21327, 13738, 21827, 18344, 17282, te162, 17425, te159, 17584, 16597, 9375, 13057, 28004""".replace("\n", " ").split(", ")
# 22799 (training in a browser) is not a row: there is no build for browsers.
ROWS = {}


def row(number, title):
    def add(function):
        ROWS.setdefault(number, []).append((title, function))
        return function
    return add


def model_of(nodes, inputs, outputs, initializers, opset=20, functions=(), dtype=np.float32, dynamic=False):
    """A model of nodes (op, inputs, outputs, attributes[, domain]); arrays of floats become `dtype`."""
    def cast(array):
        return array.astype(dtype) if array.dtype in (np.float32, np.float64) else array
    def info(name, array):
        shape = [f"{name}{i}" for i in range(array.ndim)] if dynamic else array.shape
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(cast(array).dtype), shape)
    made = [helper.make_node(n[0], n[1], n[2], domain=n[4] if len(n) > 4 else "", **n[3]) for n in nodes]
    graph = helper.make_graph(made, "net", [info(n, a) for n, a in inputs.items()],
                              [helper.make_empty_tensor_value_info(o) for o in outputs],
                              [numpy_helper.from_array(cast(np.asarray(v)), n) for n, v in initializers.items()])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=list(functions), ir_version=10)


class Context:
    def __init__(self, options, folder):
        self.build, self.flags, self.folder, self.number = options.build, options.flags, folder, 0
        self.compiler, self.runner = (harness.tool(options.build, f"onnx-aot-{t}") for t in ("compile", "run"))

    def invoke(self, model, *flags, cwd=None):
        """Runs the compiler with --train; returns (status, text, output)."""
        self.number += 1
        path = self.folder / f"{self.number}.onnx"
        onnx.save(model, path)
        out = path.with_suffix(".so")
        done = subprocess.run([self.compiler, path, "--train", *flags, *self.flags, "-o", out], text=True, cwd=cwd,
                              capture_output=True)
        return done.returncode, done.stdout + done.stderr, out

    def path(self, model, *flags):
        status, text, out = self.invoke(model, *flags)
        assert status == 0, text
        return out

    def compile(self, model, *flags):
        out = self.path(model, *flags)
        return tm.TrainingModule(out, out.with_suffix(".safetensors"))

    def run(self, *arguments):
        done = subprocess.run([self.runner, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def unit_tests(self, pattern):
        """Runs tests of the runtime's own; there must be some."""
        done = subprocess.run([harness.tool(self.build, "onnx-aot-runtime-tests"), f"--gtest_filter={pattern}"],
                              capture_output=True, text=True)
        assert done.returncode == 0 and "[  PASSED  ] 0 tests" not in done.stdout, done.stdout[-500:]


RNG = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def check_gradients(context, nodes, inputs, parameters, constants=None, opset=20, functions=(), expected=None, rtol=1e-3,
                    flags=()):
    """Gradients of the sum of y, weighted, for every parameter, against differences of the reference."""
    whole = {**parameters, **(constants or {})}
    def model(outputs, dtype=np.float32, more=()):
        return model_of([*nodes, *more], inputs, outputs, whole, opset, functions, dtype)
    if expected is None:
        values = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs.values()]
        def y(names):
            bare = model(["y"], np.float64)
            for tensor in bare.graph.initializer:
                if tensor.name in names:
                    tensor.CopyFrom(numpy_helper.from_array(np.asarray(names[tensor.name], np.float64), tensor.name))
            return ReferenceEvaluator(bare).run(None, dict(zip(inputs, values)))[0]
        weight = np.asarray(np.random.default_rng(1).uniform(0.5, 1.5, y({}).shape))
        expected = {}
        for name, value in parameters.items():
            gradient, h = np.zeros(value.shape), 1e-4
            for index in np.ndindex(value.shape):
                for sign in (1, -1):
                    moved = value.astype(np.float64)
                    moved[index] += sign * h
                    gradient[index] += sign * np.sum(y({name: moved}) * weight) / (2 * h)
            expected[name] = gradient
    else:
        weight, expected = expected
    whole["weight"] = np.asarray(weight, np.float32)
    trained = model(["loss"], more=[("Mul", ["y", "weight"], ["weighed"], {}),
                                    ("ReduceSum", ["weighed"], ["loss"], {"keepdims": 0})])
    module = context.compile(trained, "--loss=none", "--optimizer=sgd", "--frozen=weight",
                             *(f"--trainable={n}" for n in parameters), *flags)
    loss = module.train_step(inputs)
    assert np.isfinite(loss), loss
    for name, want in expected.items():
        got = module.gradients[module.names.index(name)]
        error, scale = np.abs(got - want).max(), np.abs(want).max()
        assert scale > 0 and error <= rtol * scale, f"{name}: {got.ravel()[:4]} instead of {want.ravel()[:4]}"


def linear(context, loss, shape=(4, 3), w=0.0, **more):
    """A module of y = x + w with this loss."""
    x = np.zeros(shape, np.float32)
    model = model_of([("Add", ["x", "w"], ["y"], {})], {"x": x}, ["y"], {"w": np.full(shape, w, np.float32)}, **more)
    return context.compile(model, f"--loss={loss}", "--optimizer=none")


# ---- Losses of generate_artifacts -------------------------------------------------------------------------------------


@row("loss 1", "reduction=none raises for MSE, L1 and BCE")
def loss_none(context):
    x, t = normal(4, 3), RNG.uniform(0, 1, (4, 3)).astype(np.float32)
    stable = np.maximum(x, 0) - x * t + np.log1p(np.exp(-abs(x)))
    for name, want, slope in (("mse", (x - t) ** 2, 2 * (x - t)), ("l1", abs(x - t), np.sign(x - t)),
                              ("bce-with-logits", stable, 1 / (1 + np.exp(-x)) - t)):
        module = linear(context, f"{name}:reduction=none")
        got = module.train_step({"x": x, "target": t})
        assert got.shape == x.shape and np.allclose(got, want, rtol=1e-5, atol=1e-6), name
        assert np.allclose(module.gradients[0], slope, rtol=1e-5, atol=1e-6), name


@row("loss 2", "class weights raise")
def class_weights(context):
    x, labels, weight = normal(5, 3), np.array([0, 2, 1, 2, 2]), np.array([1, 2, 0.5])
    module = linear(context, "cross-entropy:weight=1/2/0.5", (5, 3))
    p = np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(1, keepdims=True)
    want = (-np.log(p[np.arange(5), labels]) * weight[labels]).sum() / weight[labels].sum()
    assert np.isclose(module.train_step({"x": x, "labels": labels}), want, rtol=1e-5)


@row("loss 3", "BCEWithLogits is NaN or infinite from |logit| = 17.3 on")
def stable_bce(context):
    x = np.float32([[18, 18, -104], [104, -18, 1000], [-1000, 17.5, -17.5], [88, -88, 0]])
    t = np.float32([[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0.5]])
    module = linear(context, "bce-with-logits:reduction=none")
    exact = x.astype(np.float64)
    want = np.maximum(exact, 0) - exact * t + np.log1p(np.exp(-abs(exact)))
    got = module.train_step({"x": x, "target": t})
    assert np.allclose(got, want, rtol=1e-5, atol=1e-30), (got, want)
    with np.errstate(over="ignore"):
        slope = 1 / (1 + np.exp(-exact)) - t
    assert np.allclose(module.gradients[0], slope, rtol=1e-5, atol=1e-7), module.gradients[0]


@row("loss 4", "files of the user in the working folder are deleted")
def no_files(context):
    folder = context.folder / "own"
    folder.mkdir()
    for name in ("temp.onnx", "temp.onnx.data"):
        (folder / name).write_text("mine")
    before = {p.name for p in context.folder.iterdir()}
    model = model_of([("Add", ["x", "w"], ["y"], {})], {"x": normal(2)}, ["y"], {"w": normal(2)})
    status, text, out = context.invoke(model, "--loss=mse", cwd=folder)
    assert status == 0, text
    assert sorted(p.name for p in folder.iterdir()) == ["temp.onnx", "temp.onnx.data"]
    assert all(p.read_text() == "mine" for p in folder.iterdir())
    new = {p.name for p in context.folder.iterdir()} - before
    assert new == {f"{out.stem}.onnx", f"{out.stem}.so", f"{out.stem}.safetensors"}, new


@row("loss 5", "language models: scores [batch, time, classes] fail when the model is run")
def sequence_loss(context):
    x, labels = normal(2, 4, 16), RNG.integers(0, 16, (2, 4))
    module = linear(context, "cross-entropy:class_axis=-1", (2, 4, 16))
    p = np.exp(x.astype(np.float64)) / np.exp(x.astype(np.float64)).sum(-1, keepdims=True)
    want = -np.log(np.take_along_axis(p, labels[..., None], -1)).mean()
    assert np.isclose(module.train_step({"x": x, "labels": labels}), want, rtol=1e-5)
    hot = np.eye(16)[labels]
    assert np.allclose(module.gradients[0], (p - hot) / 8, rtol=1e-4, atol=1e-6)


@row("loss 6", "only scalar float32 losses can be differentiated")
def other_losses(context):
    x, labels = normal(5, 3), np.array([0, 2, 1, 2, 2])
    module = linear(context, "cross-entropy:reduction=none", (5, 3))
    assert module.train_step({"x": x, "labels": labels}).shape == (5,)
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    assert np.allclose(module.gradients[0], p - np.eye(3)[labels], rtol=1e-4, atol=1e-6)
    double = linear(context, "mse", dtype=np.float64)
    x, t = RNG.standard_normal((2, 4, 3))
    loss = double.train_step({"x": x, "target": t})
    assert loss.dtype == np.float64 and np.isclose(loss, ((x - t) ** 2).mean(), rtol=1e-14), loss
    assert np.allclose(double.gradients[0], (x - t) / 6, rtol=1e-14)


@row("loss 7", "few losses and optimizers, no parameter groups")
def choice(context):
    model = model_of([("Gemm", ["x", "w", "b"], ["y"], {})], {"x": normal(4, 3)}, ["y"], {"w": normal(3, 5), "b": normal(5)})
    for loss in ("huber:delta=0.5", "smooth-l1", "kl-div:reduction=batchmean", "nll", "cross-entropy:label_smoothing=0.1"):
        context.path(model, f"--loss={loss}", "--optimizer=none")
    for optimizer in ("sgd:momentum=0.9,nesterov=true", "adam", "adagrad", "rmsprop", "lamb", "lion"):
        module = context.compile(model, "--loss=mse", f"--optimizer={optimizer}", "--no-decay=b")
        assert [module.training.parameters[i].group for i in range(2)] == [0, 1]


@row("loss 7", "losses that there are not: any graph is one")
def focal(context):
    """Focal loss as nodes of the model, (1 - p)^2 * -log p."""
    nodes = [("Add", ["x", "w"], ["s"], {}), ("Softmax", ["s"], ["p"], {"axis": -1}), ("Log", ["p"], ["l"], {}),
             ("Sub", ["one", "p"], ["q"], {}), ("Pow", ["q", "two"], ["q2"], {}), ("Mul", ["q2", "l"], ["f"], {}),
             ("Mul", ["f", "hot"], ["m"], {}), ("Neg", ["m"], ["y"], {})]
    hot = np.eye(4, dtype=np.float32)[[0, 3, 2]]
    check_gradients(context, nodes, {"x": normal(3, 4)}, {"w": normal(3, 4)},
                    {"one": np.float32(1), "two": np.float32(2), "hot": hot})


# ---- Operators without a gradient -------------------------------------------------------------------------------------


@row("22465", "cross entropy on models of some operator sets dies in the gradient builder")
def second_output(context):
    """A transformer's block and head; the loss from the command line and as a node with both of its outputs."""
    inputs = {"ids": RNG.integers(0, 11, (2, 6))}
    values = {"embed": normal(11, 8), "scale": normal(8), "bias": normal(8), "head": normal(8, 5)}
    for opset in (13, 15, 17, 20, 22):
        norm = [("LayerNormalization", ["e", "scale", "bias"], ["n"], {"axis": -1})] if opset >= 17 else \
            [("Mul", ["e", "scale"], ["es"], {}), ("Add", ["es", "bias"], ["n"], {})]
        nodes = [("Gather", ["embed", "ids"], ["e"], {}), *norm, ("MatMul", ["n", "head"], ["y"], {})]
        losses = []
        labels = np.random.default_rng(2).integers(0, 5, (2, 6))
        module = context.compile(model_of(nodes, inputs, ["y"], values, opset), "--loss=cross-entropy:class_axis=-1",
                                 "--optimizer=sgd")
        losses.append(module.train_step({**inputs, "labels": labels}))
        node = [("Transpose", ["y"], ["t"], {"perm": [0, 2, 1]}),
                ("SoftmaxCrossEntropyLoss", ["t", "labels"], ["loss", "log_prob"], {"reduction": "mean"})]
        module2 = context.compile(model_of(nodes + node, {**inputs, "labels": labels}, ["loss", "log_prob"], values, opset),
                                  "--loss=none", "--optimizer=sgd")
        losses.append(module2.train_step({**inputs, "labels": labels}))
        assert np.isclose(*losses, rtol=1e-5), (opset, losses)
        for a, b in zip(module.gradients, module2.gradients):
            assert np.allclose(a, b, rtol=1e-4, atol=1e-7), opset


@row("16866", "Resize has no gradient (U-Net)")
def resize(context):
    up = [("Conv", ["x", "w"], ["c"], {"pads": [1] * 4}), ("Resize", ["c", "", "sizes"], ["y"], {"mode": "linear"})]
    check_gradients(context, up, {"x": normal(1, 2, 4, 4)}, {"w": normal(1, 2, 3, 3)}, {"sizes": np.float32([1, 1, 2, 2])})


@row("22407", "Atan has no gradient")
def atan(context):
    check_gradients(context, [("Mul", ["x", "w"], ["h"], {}), ("Atan", ["h"], ["y"], {})], {"x": normal(3, 4)}, {"w": normal(4)})


@row("18265", "LeakyRelu has no gradient")
def leaky(context):
    check_gradients(context, [("Mul", ["x", "w"], ["h"], {}), ("LeakyRelu", ["h"], ["y"], {"alpha": 0.2})],
                    {"x": normal(3, 4)}, {"w": normal(4)})


@row("10517", "If is not differentiable (RoBERTa)")
def branches(context):
    def branch(op, name):
        return helper.make_graph([helper.make_node(op, ["x", "w"], [name])], name + "_graph", [],
                                 [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])])
    x = np.float32([1, 2, 3])
    for flag, want in ((True, x), (False, np.ones(3))):
        check_gradients(context, [("If", ["flag"], ["y"], {"then_branch": branch("Mul", "a"), "else_branch": branch("Add", "b")})],
                        {"x": x, "flag": np.array(flag)}, {"w": normal(3)},
                        expected=(np.ones(3), {"w": want}))


@row("10138", "Round has no gradient: straight through")
def round_through(context):
    weight = np.float32([1, 2, 3])
    check_gradients(context, [("Mul", ["x", "w"], ["h"], {}), ("Round", ["h"], ["y"], {})], {"x": np.float32([1, 2, -1])},
                    {"w": np.float32([0.3, 1.4, 2.2])}, expected=(weight, {"w": weight * [1, 2, -1]}))


@row("20781", "no gradient through MatMulNBits: a quantized base cannot have adapters")
def quantized_base(context):
    k, n, block = 32, 6, 32
    packed = RNG.integers(0, 256, (n, 1, block // 2), dtype=np.uint8)
    scales = RNG.uniform(0.05, 0.2, n).astype(np.float32)
    numbers = np.stack([packed & 15, packed >> 4], -1).reshape(n, k).astype(np.float64)
    base = ((numbers - 8) * scales[:, None]).T
    x, w = normal(3, 4), normal(4, k)
    weight = np.random.default_rng(4).uniform(0.5, 1.5, (3, n))
    nodes = [("MatMul", ["x", "w"], ["h"], {}),
             ("MatMulNBits", ["h", "packed", "scales"], ["y"], {"K": k, "N": n, "bits": 4, "block_size": block}, "com.microsoft")]
    check_gradients(context, nodes, {"x": x}, {"w": w}, {"packed": packed, "scales": scales},
                    expected=(weight, {"w": x.T.astype(np.float64) @ (weight @ base.T)}))


@row("19078", "int8 models cannot be trained")
def int8_base(context):
    """The layers above an int8 base are trained; below a pair of Quantize and Dequantize, straight through."""
    scale, zero = np.float32(0.05), np.int8(0)
    x, b, head = normal(5, 4, scale=0.3), RNG.integers(-90, 90, (4, 3), dtype=np.int8), normal(3, 2)
    base = [("QuantizeLinear", ["x", "s", "z"], ["q"], {}),
            ("QLinearMatMul", ["q", "s", "z", "b", "s", "z", "s", "z"], ["p"], {}), ("DequantizeLinear", ["p", "s", "z"], ["d"], {})]
    constants = {"s": scale, "z": zero, "b": b}
    d = onnxruntime.InferenceSession(model_of(base, {"x": x}, ["d"], constants).SerializeToString()).run(None, {"x": x})[0]
    weight = np.random.default_rng(6).uniform(0.5, 1.5, (5, 2))
    check_gradients(context, [*base, ("MatMul", ["d", "head"], ["y"], {})], {"x": x}, {"head": head}, constants,
                    expected=(weight, {"head": d.T.astype(np.float64) @ weight}))
    pair = [("Mul", ["x", "w"], ["h"], {}), ("QuantizeLinear", ["h", "s", "z"], ["q"], {}),
            ("DequantizeLinear", ["q", "s", "z"], ["y"], {})]
    check_gradients(context, pair, {"x": np.float32([[1, 2, -1]])}, {"w": np.float32([[1, 0.5, 900]])},
                    {"s": scale, "z": zero}, expected=(np.float32([[1, 2, 3]]), {"w": np.float32([[1, 4, 0]])}))


@row("20201", "losses of object detection: ReduceMin, ReduceMax, Min, Max have no gradient")
def box_loss(context):
    """One minus the intersection over union of boxes (x1, y1, x2, y2), plus a margin between extremes."""
    nodes = [("Add", ["x", "w"], ["box"], {}), ("Split", ["box"], ["p", "q"], {"num_outputs": 2, "axis": 1}),
             ("Split", ["t"], ["u", "v"], {"num_outputs": 2, "axis": 1}), ("Max", ["p", "u"], ["low"], {}),
             ("Min", ["q", "v"], ["high"], {}), ("Sub", ["high", "low"], ["d"], {}), ("Clip", ["d", "zero"], ["side"], {}),
             ("ReduceProd", ["side", "axis"], ["inter"], {"keepdims": 0}), ("Sub", ["q", "p"], ["own"], {}),
             ("ReduceProd", ["own", "axis"], ["area"], {"keepdims": 0}), ("Add", ["area", "four"], ["sum"], {}),
             ("Sub", ["sum", "inter"], ["union"], {}), ("Div", ["inter", "union"], ["iou"], {}),
             ("ReduceMax", ["box", "axis"], ["most"], {"keepdims": 0}), ("ReduceMin", ["box", "axis"], ["least"], {"keepdims": 0}),
             ("Sub", ["most", "least"], ["spread"], {}), ("Add", ["iou", "spread"], ["y"], {})]
    x = np.float32([[0, 0, 2, 2.1], [0.5, 0.3, 2.2, 1.8], [5, 5, 6, 6.4]])
    t = np.float32([[0.2, 0.4, 2.2, 2.4], [0, 0, 2, 2], [0, 0, 2, 2]])
    check_gradients(context, nodes, {"x": x}, {"w": normal(1, 4, scale=0.01)},
                    {"t": t, "zero": np.float32(0), "four": np.float32(4), "axis": np.int64([1])})


@row("13057", "nothing implements ONNX's Gradient operator")
def gradient_operator(context):
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "x"], ["a"]), helper.make_node("Mul", ["a", "x"], ["y"]),
         helper.make_node("Gradient", ["x"], ["g"], domain="ai.onnx.preview.training", xs=["x"], y="y")], "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3]) for n in ("y", "g")])
    path = context.folder / "gradient.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12),
                                                      helper.make_opsetid("ai.onnx.preview.training", 1)], ir_version=8), path)
    done = subprocess.run([context.compiler, path, "-o", path.with_suffix(".so")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    x = np.float32([1, -2, 3])
    np.savez(context.folder / "x.npz", x=x)
    np.savez(context.folder / "g.npz", y=x ** 3, g=3 * x * x)
    context.run(path.with_suffix(".so"), "--inputs", context.folder / "x.npz", "--expect", context.folder / "g.npz")


# ---- Models ----------------------------------------------------------------------------------------------------------


@row("21327", "a loss gets all 66 outputs, by position")
def many_outputs(context):
    x = normal(2, 3)
    nodes = [("Mul", ["x", "w"], ["wanted"], {})] + [("Add", ["x", f"c{i}"], [f"past{i}"], {}) for i in range(65)]
    constants = {f"c{i}": np.float32(i) for i in range(65)}
    outputs = [f"past{i}" for i in range(30)] + ["wanted"] + [f"past{i}" for i in range(30, 65)]
    model = model_of(nodes, {"x": x}, outputs, {"w": normal(3), **constants})
    module = context.compile(model, "--loss=mse:output=wanted", "--optimizer=sgd", "--trainable=w")
    t = normal(2, 3)
    assert np.isclose(module.train_step({"x": x, "target": t}), ((x * module["w"] - t) ** 2).mean(), rtol=1e-5)
    assert set(module.eval_step({"x": x, "target": t})[tm.USER]) == set(outputs)


@row("13738", "dynamic axes: the gradient of what was broadcast has a wrong shape")
def dynamic_broadcast(context):
    """Sizes that only the run knows, once 1 and once not, on either side."""
    nodes = [("Mul", ["a", "w"], ["p"], {}), ("Add", ["p", "b"], ["q"], {}), ("Mul", ["q", "v"], ["y"], {})]
    shapes = {"a": normal(3, 4), "b": normal(3, 4)}
    values = {"w": normal(1, 1), "v": normal(4)}
    model = model_of([*nodes, ("ReduceSum", ["y"], ["loss"], {"keepdims": 0})], shapes, ["loss"], values, dynamic=True)
    module = context.compile(model, "--loss=none", "--optimizer=sgd")
    for a_shape, b_shape in (((3, 4), (3, 4)), ((1, 4), (5, 4)), ((3, 4), (1, 1)), ((1, 1), (2, 4))):
        a, b = normal(*a_shape), normal(*b_shape)
        w, v = (values[n].astype(np.float64) for n in ("w", "v"))
        loss = module.train_step({"a": a, "b": b})
        q = a * w + b
        assert np.isclose(loss, (q * v).sum(), rtol=1e-4), (a_shape, b_shape)
        whole = np.broadcast_shapes(a_shape, b_shape, (4,))
        want = {"w": (np.broadcast_to(a * v, whole)).sum().reshape(1, 1), "v": np.broadcast_to(q, whole).sum(0)}
        for name, gradient in want.items():
            got = module.gradients[module.names.index(name)]
            assert got.shape == values[name].shape and np.allclose(got, gradient, rtol=1e-4, atol=1e-5), (name, a_shape, b_shape)


@row("21827", "models that onnxruntime has optimized cannot be trained on (SimplifiedLayerNormalization)")
def optimized_model(context):
    x, scale, w = normal(3, 8), normal(8), normal(8, 2)
    nodes = [("SimplifiedLayerNormalization", ["x", "scale"], ["n"], {"axis": -1, "epsilon": 1e-5}), ("MatMul", ["n", "w"], ["y"], {})]
    exact = x.astype(np.float64)
    n = exact / np.sqrt((exact ** 2).mean(-1, keepdims=True) + 1e-5)
    weight = np.random.default_rng(8).uniform(0.5, 1.5, (3, 2))
    check_gradients(context, nodes, {"x": x}, {"scale": scale, "w": w}, expected=(
        weight, {"w": (n * scale).T @ weight, "scale": (n * (weight @ w.T.astype(np.float64))).sum(0)}))


@row("18344", "artifacts of one version or operator set do not run with another")
def versions(context):
    """Any operator set from 7 on; a module or checkpoint of another version is refused with its number."""
    for opset in (7, 9, 11, 13, 18, 20, 21, 22, 23, 24):
        nodes = [("Gemm", ["x", "w", "b"], ["h"], {}), ("Relu", ["h"], ["y"], {})]
        check_gradients(context, nodes, {"x": np.float32([[1, 2], [3, -4]])}, {"w": np.float32([[1, 2], [-.5, .3]]),
                                                                              "b": np.float32([.1, .2])},
                        opset=opset, expected=(np.ones((2, 2)), {"w": np.float32([[4, 4], [-2, -2]]), "b": np.float32([2, 2])}))
    context.unit_tests("TrainingModule.WrongDescriptorsAreRefused:OrtCheckpoint.UnsupportedKindsAreNamed")


@row("9375", "functions of the model break the gradient")
def model_functions(context):
    body = [helper.make_node("Mul", ["p", "q"], ["r"]), helper.make_node("Tanh", ["r"], ["s"])]
    inner = helper.make_function("own", "Gate", ["p", "q"], ["s"], body, [helper.make_opsetid("", 20)])
    outer = helper.make_function("own", "Twice", ["p", "q"], ["t"], [
        helper.make_node("Gate", ["p", "q"], ["g"], domain="own"), helper.make_node("Gate", ["g", "q"], ["t"], domain="own")],
        [helper.make_opsetid("", 20), helper.make_opsetid("own", 1)])
    check_gradients(context, [("Twice", ["x", "w"], ["y"], {}, "own")], {"x": normal(3, 4)}, {"w": normal(4)},
                    functions=(inner, outer))


# ---- Running ---------------------------------------------------------------------------------------------------------


def normalized_net(context, *flags):
    """A small network with batch normalization and dropout, and data for it."""
    x = normal(64, 1, 4, 4)
    values = {"w": normal(3, 1, 3, 3), "s": np.ones(3, np.float32), "b": np.zeros(3, np.float32),
              "mean": np.zeros(3, np.float32), "var": np.ones(3, np.float32), "fc": normal(48, 2, scale=0.1),
              "ratio": np.float32(0.25), "on": np.array(True)}
    nodes = [("Conv", ["x", "w"], ["c"], {"pads": [1] * 4}),
             ("BatchNormalization", ["c", "s", "b", "mean", "var"], ["n", "m2", "v2"], {"training_mode": 1}),
             ("Flatten", ["n"], ["f"], {}), ("Dropout", ["f", "ratio", "on"], ["d"], {}), ("MatMul", ["d", "fc"], ["y"], {})]
    model = model_of(nodes, {"x": x}, ["y"], values, dynamic=True)
    out = context.path(model, "--loss=cross-entropy", "--optimizer=adam", *flags)
    labels = (x.mean((1, 2, 3)) > 0).astype(np.int64)
    np.savez(context.folder / "net.npz", x=x, labels=labels)
    return out, x, labels


def trained_net(context):
    out, x, labels = normalized_net(context)
    said = context.run(out, "--train", context.folder / "net.npz", "--batch", 16, "--epochs", 3, "--lr", 0.01, "--save",
                       context.folder / "end.safetensors", "--export", context.folder / "end.onnx", "--eval",
                       context.folder / "net.npz", "--json")
    return x, labels, said


@row("19370", "running statistics are not updated unless they are listed, and not exported")
def running_statistics(context):
    out, x, labels = normalized_net(context)
    context.run(out, "--train", context.folder / "net.npz", "--batch", 64, "--lr", 0, "--save", context.folder / "s.safetensors",
                "--export", context.folder / "s.onnx")
    state = load_file(context.folder / "s.safetensors")
    exported = {t.name: numpy_helper.to_array(t) for t in onnx.load(context.folder / "s.onnx").graph.initializer}
    conv = onnxruntime.InferenceSession(model_of([("Conv", ["x", "w"], ["c"], {"pads": [1] * 4})], {"x": x}, ["c"],
                                                 {"w": exported["w"]}).SerializeToString()).run(None, {"x": x})[0]
    want = {"mean": 0.1 * conv.mean((0, 2, 3)), "var": 0.9 + 0.1 * conv.var((0, 2, 3))}
    for name, value in want.items():
        assert np.allclose(state[name], value, rtol=1e-4, atol=1e-6), (name, state[name], value)
        assert (exported[name] == state[name]).all(), name


@row("17282", "outputs after the training are wrong")
def outputs_after(context):
    """An evaluation, the export in onnxruntime and the checkpoint without loss give one answer."""
    x, labels, said = trained_net(context)
    model = onnx.load(context.folder / "end.onnx")
    y = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    p = np.exp(y) / np.exp(y).sum(1, keepdims=True)
    loss = float(re.search(r'"eval_loss":([0-9.e+-]+)', said)[1])
    assert np.isclose(loss, -np.log(p[np.arange(64), labels]).mean(), rtol=1e-4), (loss, said)
    np.savez(context.folder / "nx.npz", x=x)
    np.savez(context.folder / "ny.npz", y=y)
    context.run(context.folder / f"{context.number}.so", "--checkpoint", context.folder / "end.safetensors", "--inputs",
                context.folder / "nx.npz", "--expect", context.folder / "ny.npz", "--rtol", 1e-4, "--atol", 1e-5)


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 1020)]


class Library:
    """The C interface of the runtime."""

    def __init__(self, context):
        path = next(pathlib.Path(context.build).rglob("libonnx-aot-runtime.so"))
        self.library, self.error = ctypes.CDLL(str(path)), Error()

    def __call__(self, name, *arguments):
        code = getattr(self.library, f"onnxAot{name}")(*arguments, ctypes.byref(self.error))
        assert code == 0, self.error.message.decode()

    def open(self, module):
        training, trainer = ctypes.c_void_p(), ctypes.c_void_p()
        self("TrainingModuleLoad", str(module).encode(), None, ctypes.byref(training))
        self("TrainerCreate", training, None, ctypes.byref(trainer))
        self("TrainerLoadCheckpoint", trainer, str(module.with_suffix(".safetensors")).encode(), 0)
        self.library.onnxAotTrainingModuleRelease(training)
        return trainer


@row("te162", "the application is killed for its memory when a second training starts")
@row("17425", "sessions that are made again leak")
def no_leak(context):
    out, x, labels = normalized_net(context)
    library = Library(context)
    def resident():
        return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1])
    sizes = []
    for turn in range(300):
        trainer = library.open(out)
        library("TrainerSaveCheckpoint", trainer, str(context.folder / "leak.safetensors").encode(), 1)
        library.library.onnxAotTrainerRelease(trainer)
        if turn in (50, 299):
            sizes.append(resident())
    state = ctypes.sizeof(ctypes.c_float) * sum(a.size for a in load_file(out.with_suffix(".safetensors")).values())
    # A leak of the state alone would be 250 times its size.
    assert sizes[1] - sizes[0] < 250 * state / 1024 / 4, (sizes, state)


@row("17584", "parameters as one buffer cannot be used (federated learning)")
def one_buffer(context):
    """Two trainings are averaged over their buffers."""
    values = {"w": normal(2, 3), "b": normal(3)}
    out = context.path(model_of([("Gemm", ["x", "w", "b"], ["y"], {})], {"x": normal(4, 2)}, ["y"], values), "--loss=mse")
    library = Library(context)
    library.library.onnxAotTrainerParameterBytes.restype = ctypes.c_uint64
    first, second = library.open(out), library.open(out)
    size = library.library.onnxAotTrainerParameterBytes(first, 1)
    assert size == 4 * 9, size
    buffers = [np.zeros(9, np.float32), np.zeros(9, np.float32)]
    pointer = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    library("TrainerCopyParametersToBuffer", first, pointer(buffers[0]), ctypes.c_uint64(size), 1)
    assert (buffers[0] == np.concatenate([values["w"].ravel(), values["b"]])).all()
    library("TrainerCopyBufferToParameters", second, pointer(buffers[0] * 3), ctypes.c_uint64(size), 1)
    library("TrainerCopyParametersToBuffer", second, pointer(buffers[1]), ctypes.c_uint64(size), 1)
    library("TrainerCopyBufferToParameters", first, pointer((buffers[0] + buffers[1]) / 2), ctypes.c_uint64(size), 1)
    library("TrainerSaveCheckpoint", first, str(context.folder / "mean.safetensors").encode(), 0)
    saved = load_file(context.folder / "mean.safetensors")
    assert np.allclose(saved["w"], 2 * values["w"]) and np.allclose(saved["b"], 2 * values["b"])
    for trainer in (first, second):
        library.library.onnxAotTrainerRelease(trainer)


@row("te159", "checkpoints of an older version cannot be read")
def old_checkpoints(context):
    context.unit_tests("OrtCheckpoint.*:Checkpoint.*:TrainerCheckpoint.*")
    x = normal(4, 3)
    model = model_of([("Gemm", ["x", "w", "b"], ["y"], {"transB": 1})], {"x": x}, ["y"], {"w": normal(2, 3), "b": normal(2)})
    out = context.path(model, "--loss=mse", "--optimizer=adamw:mode=ort")
    np.savez(context.folder / "o.npz", x=x, target=normal(4, 2))
    theirs = ROOT / "test/unit/runtime/Inputs/ort-adamw.checkpoint"
    context.run(out, "--checkpoint", theirs, "--partial", "--train", context.folder / "o.npz", "--epochs", 0, "--save",
                context.folder / "o.safetensors")
    ours = load_file(context.folder / "o.safetensors")
    assert (ours["w"] == [[1, 2, 3], [4, 5, 6]]).all() and (ours["b"] == [-1, 0.5]).all(), ours
    library = Library(context)
    trainer = library.open(out)
    library("TrainerLoadCheckpoint", trainer, str(theirs).encode(), 2)  # partial: it has a frozen parameter
    library.library.onnxAotTrainerUpdates.restype = ctypes.c_int64
    assert library.library.onnxAotTrainerUpdates(trainer) == 7
    library("TrainerSaveCheckpoint", trainer, str(context.folder / "p.safetensors").encode(), 1)
    assert (load_file(context.folder / "p.safetensors")["onnx_aot/slot/exp_avg/b"] == [-10, 5]).all()
    library.library.onnxAotTrainerRelease(trainer)


@row("16597", "the export does not find the outputs; parameters cannot be reached")
def export_outputs(context):
    """The export has the model's outputs in their order and runs; a parameter is known by its name."""
    values = {"w": normal(3, 3), "v": normal(3)}
    nodes = [("MatMul", ["x", "w"], ["hidden"], {}), ("Mul", ["hidden", "v"], ["second"], {}), ("Relu", ["second"], ["first"], {})]
    x = normal(8, 3)
    out = context.path(model_of(nodes, {"x": x}, ["first", "hidden"], values, dynamic=True), "--loss=mse", "--trainable=v")
    np.savez(context.folder / "d.npz", x=x, target=normal(8, 3))
    context.run(out, "--train", context.folder / "d.npz", "--batch", 4, "--lr", 0.1, "--save", context.folder / "d.safetensors",
                "--export", context.folder / "d.onnx")
    session = onnxruntime.InferenceSession(context.folder / "d.onnx")
    assert [o.name for o in session.get_outputs()] == ["first", "hidden"]
    first, hidden = session.run(None, {"x": x})
    v = load_file(context.folder / "d.safetensors")["v"]
    assert not np.allclose(v, values["v"], atol=1e-3)
    assert np.allclose(hidden, x @ values["w"], rtol=1e-5) and np.allclose(first, np.maximum(hidden * v, 0), rtol=1e-4, atol=1e-6)


@row("28004", "labels out of range read beyond the scores")
def bad_labels(context):
    for shape, axis in (((4, 3), 1), ((2, 3, 5), 1), ((2, 5, 3), -1)):
        x = np.zeros(shape, np.float32)
        model = model_of([("Add", ["x", "w"], ["y"], {})], {"x": x}, ["y"], {"w": normal(*shape)})
        module = context.compile(model, f"--loss=cross-entropy:class_axis={axis}", "--optimizer=sgd")
        before = module["w"].copy()
        good = np.zeros(np.delete(np.array(shape), axis), np.int64)
        for bad in (3, -1, 1 << 31, -(1 << 62)):
            labels = good.copy()
            labels.flat[-1] = bad
            for program in (module.train_step, module.eval_step, lambda feeds: module.fused_step(feeds, 0.1)):
                try:
                    program({"x": x, "labels": labels})
                    raise AssertionError(f"label {bad} was taken")
                except tm.RunFailed as failure:
                    assert "range" in str(failure), failure
        assert (module["w"] == before).all()
    labels = np.zeros(8, np.int64)
    labels[5] = 7
    np.savez(context.folder / "l.npz", x=np.zeros((8, 3), np.float32), labels=labels)
    out = context.path(model_of([("Add", ["x", "w"], ["y"], {})], {"x": np.zeros((4, 3), np.float32)}, ["y"],
                                {"w": normal(4, 3)}), "--loss=cross-entropy")
    done = subprocess.run([context.runner, out, "--train", context.folder / "l.npz"], capture_output=True, text=True)
    assert done.returncode == 1 and "epoch 1, batch 2; its labels are 0 to 7" in done.stderr, done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", help="only rows whose number this expression finds")
    options = harness.parse_arguments(parser)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory() as folder:
        context = Context(options, pathlib.Path(folder))
        for number in LISTED:
            if not re.search(options.filter, number):
                continue
            if number not in ROWS:
                tally.check(number, "this row has no test")
            for title, function in ROWS.get(number, []):
                try:
                    function(context)
                    problem = ""
                except Exception as error:  # noqa: BLE001 - a failed row is told, the others go on
                    problem = f"{type(error).__name__}: {str(error)[:1200]}"
                tally.check(f"{number}: {title}", problem)
    tally.finish()


if __name__ == "__main__":
    main()
