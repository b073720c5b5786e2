#!/usr/bin/env python3
"""Train small models step by step beside an independent implementation in float64, and check what must hold around it.

usage: training.py [--build DIR] [--filter RE] [--verbose] [-- FLAG...]

The compiled programs are called through the binary interface alone. A loss may differ from the reference by 1e-5 of its
size, or by 20 times what the same reference in float32 differs, where rounding is amplified.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "utils"), str(HERE)]
import harness  # noqa: E402
import training_module as tm  # noqa: E402
import training_reference as ref  # noqa: E402

TESTS = {}
STEPS = 50


def collect_in(tests):
    """The decorator that notes a test in a dictionary under its name."""
    def test(name):
        def add(function):
            assert name not in tests
            tests[name] = function
            return function
        return add
    return test


test = collect_in(TESTS)


class Context:
    def __init__(self, options, folder):
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.flags, self.folder, self.number = options.flags, folder, 0

    def invoke(self, model, *flags, output=True):
        """Runs the compiler on a model; returns (exit status, text, output path)."""
        self.number += 1
        path = self.folder / f"{self.number}.onnx"
        onnx.save(model, path)
        out = path.with_suffix(".so")
        command = [self.compiler, str(path), *flags, *self.flags] + (["-o", str(out)] if output else [])
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        return done.returncode, done.stdout, out

    def compile(self, model, *flags):
        status, text, out = self.invoke(model, "--train", *flags)
        assert status == 0, text
        return tm.TrainingModule(out, out.with_suffix(".safetensors"))


def model_of(nodes, inputs, outputs, initializers):
    value = lambda name, shape, kind=onnx.TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph([helper.make_node(op, ins, outs, **attributes) for op, ins, outs, attributes in nodes], "net",
                              [value(*i) for i in inputs], [value(*o) for o in outputs],
                              [numpy_helper.from_array(v, n) for n, v in initializers.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


# ---- Models, as ONNX and as networks of the reference --------------------------------------------------------------


def random_parameters(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return {name: (rng.uniform(-1, 1, shape) / np.sqrt(max(1, np.prod(shape[1:])))).astype(np.float32)
            for name, shape in shapes.items()}


def mlp():
    parameters = random_parameters({"0.weight": (32, 20), "0.bias": (32,), "2.weight": (7, 32), "2.bias": (7,)})
    model = model_of([("Gemm", ["x", "0.weight", "0.bias"], ["a"], {"transB": 1}), ("Relu", ["a"], ["b"], {}),
                      ("Gemm", ["b", "2.weight", "2.bias"], ["y"], {"transB": 1})],
                     [("x", (16, 20))], [("y", (16, 7))], parameters)
    layers = [(ref.linear, ("0.weight", "0.bias")), (ref.relu, ()), (ref.linear, ("2.weight", "2.bias"))]
    return model, layers, parameters, (16, 20), 7


def lenet():
    parameters = random_parameters({"0.weight": (6, 1, 3, 3), "0.bias": (6,), "3.weight": (10, 6, 3, 3), "3.bias": (10,),
                                    "7.weight": (24, 10 * 3 * 3), "7.bias": (24,), "9.weight": (10, 24), "9.bias": (10,)})
    conv, pool = {"kernel_shape": [3, 3], "pads": [1] * 4}, {"kernel_shape": [2, 2], "strides": [2, 2]}
    model = model_of([("Conv", ["x", "0.weight", "0.bias"], ["a"], conv), ("Relu", ["a"], ["b"], {}),
                      ("MaxPool", ["b"], ["c"], pool), ("Conv", ["c", "3.weight", "3.bias"], ["d"], conv),
                      ("Relu", ["d"], ["e"], {}), ("MaxPool", ["e"], ["f"], pool), ("Flatten", ["f"], ["g"], {}),
                      ("Gemm", ["g", "7.weight", "7.bias"], ["h"], {"transB": 1}), ("Relu", ["h"], ["i"], {}),
                      ("Gemm", ["i", "9.weight", "9.bias"], ["y"], {"transB": 1})],
                     [("x", (8, 1, 12, 12))], [("y", (8, 10))], parameters)
    layers = [(ref.conv3x3, ("0.weight", "0.bias")), (ref.relu, ()), (ref.maxpool2, ()),
              (ref.conv3x3, ("3.weight", "3.bias")), (ref.relu, ()), (ref.maxpool2, ()), (ref.flatten, ()),
              (ref.linear, ("7.weight", "7.bias")), (ref.relu, ()), (ref.linear, ("9.weight", "9.bias"))]
    return model, layers, parameters, (8, 1, 12, 12), 10


MODELS = {"mlp": mlp, "lenet": lenet}


def batches(shape, classes, loss):
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        x = rng.standard_normal(shape).astype(np.float32)
        if loss == "mse":
            yield x, rng.standard_normal((shape[0], classes)).astype(np.float32)
        else:
            yield x, rng.integers(0, classes, shape[0])


def train_reference(layers, parameters, data, loss, step, lr, dtype, norm=None, value=None):
    network = ref.Network(layers, {name: p.astype(dtype) for name, p in parameters.items()})
    gradient = ref.mse_gradient if loss == "mse" else ref.cross_entropy_gradient
    states, losses = {name: {} for name in parameters}, []
    for t, (x, target) in enumerate(data, 1):
        target = target.astype(dtype) if loss == "mse" else target
        value_now, dy = gradient(network.forward(x.astype(dtype)), target)
        losses.append(value_now)
        gradients = network.backward(dy)
        ref.clip(gradients, norm, value)
        for name in parameters:
            network.parameters[name] = step(network.parameters[name], gradients[name], states[name], dtype(lr), t)
    return np.array(losses, np.float64), network.parameters


def check_parity(context, model_name, loss, optimizer, step, lr, flags=(), **clip):
    model, layers, parameters, shape, classes = MODELS[model_name]()
    data = list(batches(shape, classes, loss))
    exact, final = train_reference(layers, parameters, data, loss, step, lr, np.float64, **clip)
    single, _ = train_reference(layers, parameters, data, loss, step, lr, np.float32, **clip)
    tolerance = np.maximum(1e-5 * abs(exact), 20 * abs(single - exact))
    module = context.compile(model, f"--loss={loss}", f"--optimizer={optimizer}", *flags)
    for fused in (False, True):
        if fused and not module.has("fused"):
            continue
        losses = []
        for x, target in data:
            feeds = {"x": x, module.targets[0]: target}
            if fused:
                losses.append(module.fused_step(feeds, lr))
            else:
                losses.append(module.train_step(feeds))
                assert module.update_step(lr)[tm.UPDATED]
        wrong = abs(np.array(losses, np.float64) - exact) > tolerance
        assert not wrong.any(), f"step {wrong.argmax()}: {losses[wrong.argmax()]} is not {exact[wrong.argmax()]}"
        far = max(abs(module[name] - final[name]).max() for name in final)
        assert far < 2e-3, f"parameters are {far} apart"
        # From the beginning again, for the fused program.
        module = tm.TrainingModule(module.library._name, pathlib.Path(module.library._name).with_suffix(".safetensors"))


OPTIMIZERS = {
    "sgd": (ref.sgd(), 0.05),
    "sgd:momentum=0.9": (ref.sgd(0.9), 0.02),
    "sgd:momentum=0.9,nesterov=true,weight_decay=0.01": (ref.sgd(0.9, 0, 0.01, True), 0.02),
    "sgd:momentum=0.8,dampening=0.3": (ref.sgd(0.8, 0.3), 0.02),
    "adam": (ref.adam(), 1e-3),
    "adam:betas=0.8/0.95,eps=1e-6,weight_decay=0.02,amsgrad=true": (ref.adam((0.8, 0.95), 1e-6, 0.02, True), 1e-3),
    "adamw": (ref.adam(weight_decay=0.01, decoupled=True), 1e-3),
    "adamw:amsgrad=true": (ref.adam(weight_decay=0.01, decoupled=True, amsgrad=True), 1e-3),
    "adamw:mode=ort,weight_decay=0.05": (ref.adamw_ort(weight_decay=0.05), 1e-3),
    "adamw:mode=ort,correct_bias=false": (ref.adamw_ort(correct_bias=False), 1e-3),
    "adagrad": (ref.adagrad(), 1e-2),
    "adagrad:lr_decay=0.1,weight_decay=0.01,initial_accumulator_value=0.1": (ref.adagrad(0.1, 0.01, 0.1), 1e-2),
    "rmsprop": (ref.rmsprop(), 1e-3),
    "rmsprop:alpha=0.9,momentum=0.5,centered=true,weight_decay=0.01":
        (ref.rmsprop(0.9, 1e-8, 0.01, 0.5, True), 1e-3),
    "lamb:weight_decay=0.01": (ref.lamb(weight_decay=0.01), 1e-2),
    "lion:weight_decay=0.1": (ref.lion(weight_decay=0.1), 1e-4),
}
for _name, (_step, _lr) in OPTIMIZERS.items():
    test(f"parity/mlp/mse/{_name}")(
        lambda context, n=_name, s=_step, lr=_lr: check_parity(context, "mlp", "mse", n, s, lr))
for _name in ("sgd", "adamw", "adam", "lamb:weight_decay=0.01"):
    _step, _lr = OPTIMIZERS[_name]
    test(f"parity/mlp/cross-entropy/{_name}")(
        lambda context, n=_name, s=_step, lr=_lr: check_parity(context, "mlp", "cross-entropy", n, s, lr))
for _name in ("sgd:momentum=0.9", "adamw"):
    _step, _lr = OPTIMIZERS[_name]
    test(f"parity/lenet/cross-entropy/{_name}")(
        lambda context, n=_name, s=_step, lr=_lr: check_parity(context, "lenet", "cross-entropy", n, s, lr))


@test("parity/clip-norm")
def clip_norm(context):
    check_parity(context, "mlp", "mse", "sgd", ref.sgd(), 0.05, ["--clip-norm=0.05"], norm=0.05)


@test("parity/clip-value")
def clip_value(context):
    check_parity(context, "mlp", "mse", "adam", ref.adam(), 1e-3, ["--clip-value=0.001"], value=0.001)


# ---- Around the step -------------------------------------------------------------------------------------------------


def first_batch(shape, classes):
    return next(iter(batches(shape, classes, "mse")))


@test("accumulate")
def accumulate(context):
    """Gradients are overwritten, then added to; the garbage before does not matter."""
    model, layers, parameters, shape, classes = mlp()
    module = context.compile(model, "--loss=mse", "--optimizer=sgd")
    data = list(batches(shape, classes, "mse"))[:3]
    expected = {name: 0.0 for name in parameters}
    for i, (x, target) in enumerate(data):
        module.train_step({"x": x, "target": target}, accumulate=i > 0, loss_scale=8.0)
        network = ref.Network(layers, {n: p.astype(np.float64) for n, p in parameters.items()})
        _, dy = ref.mse_gradient(network.forward(x.astype(np.float64)), target)
        for name, g in network.backward(dy).items():
            expected[name] = expected[name] + 8 * g
    for name, gradient in zip(module.names, module.gradients):
        assert np.allclose(gradient, expected[name], rtol=1e-4, atol=1e-6), name
    result = module.update_step(0.1, gradient_scale=1 / 24)
    for name in parameters:
        assert np.allclose(module[name], parameters[name] - 0.1 * expected[name] / 24, rtol=1e-5, atol=1e-6), name
    norm = np.sqrt(sum((g ** 2).sum() for g in expected.values())) / 24
    assert np.isclose(result[tm.GRADIENT_NORM], norm, rtol=1e-5), (result, norm)


@test("not-finite")
def not_finite(context):
    """A gradient that is not finite leaves all state alone; one whose square is not does not."""
    model, _, parameters, shape, classes = mlp()
    module = context.compile(model, "--loss=mse", "--optimizer=adam")
    x, target = first_batch(shape, classes)
    for bad in (np.nan, np.inf, -np.inf):
        module.train_step({"x": x, "target": target})
        module.gradients[0].flat[3] = bad
        assert not module.update_step(0.1)[tm.UPDATED]
        for name, value in parameters.items():
            assert (module[name] == value).all()
        assert not any(slot.any() for slots in module.slots for slot in slots)
    module.train_step({"x": x, "target": target})
    module.gradients[0].flat[3] = 1e30
    assert module.update_step(0.1)[tm.UPDATED]
    assert all(np.isfinite(p).all() for p in module.parameters)


@test("frozen")
def frozen(context):
    model, _, parameters, shape, classes = mlp()
    x, target = first_batch(shape, classes)
    for flags, trained in ((["--trainable=2.*"], {"2.weight", "2.bias"}), (["--frozen=*.bias"], {"0.weight", "2.weight"}),
                           (["--trainable=0.*", "--frozen=0.bias"], {"0.weight"})):
        module = context.compile(model, "--loss=mse", "--optimizer=sgd", *flags)
        assert set(module.names) == trained, module.names
        module.fused_step({"x": x, "target": target}, 0.1)
        assert all((module[name] != parameters[name]).any() for name in trained)


@test("no-decay")
def no_decay(context):
    model, _, parameters, shape, classes = mlp()
    x, target = first_batch(shape, classes)
    both = [context.compile(model, "--loss=mse", f"--optimizer=adamw:weight_decay={decay}", "--no-decay=*.bias")
            for decay in (0, 0.5)]
    for module in both:
        module.fused_step({"x": x, "target": target}, 0.1)
    for name in parameters:
        assert (both[0][name] == both[1][name]).all() == name.endswith("bias"), name
    assert [both[0].training.parameters[i].group for i in range(4)] == [0, 1, 0, 1]


@test("eval")
def evaluate(context):
    model, layers, parameters, shape, classes = mlp()
    module = context.compile(model, "--loss=cross-entropy", "--optimizer=none")
    assert not module.has("update") and not module.has("fused")
    x, labels = next(iter(batches(shape, classes, "cross-entropy")))
    result = module.eval_step({"x": x, "labels": labels})
    y = ref.Network(layers, {n: p.astype(np.float64) for n, p in parameters.items()}).forward(x)
    assert np.allclose(result[tm.USER]["y"], y, rtol=1e-5, atol=1e-6)
    assert np.isclose(result[tm.LOSS], ref.cross_entropy(y, labels), rtol=1e-5)


@test("infer")
def infer(context):
    """The model alone: no target, dropout off, running statistics used; the batch's size is still open."""
    rng = np.random.default_rng(3)
    values = {"w": rng.standard_normal((4, 3)).astype(np.float32), "s": np.float32([1, 2, 3]), "b": np.float32([0, 1, 0]),
              "m": np.float32([.5, 0, -1]), "v": np.float32([1, 4, .25]), "ratio": np.float32(.5), "on": np.array(True)}
    nodes = [("MatMul", ["x", "w"], ["h"], {}), ("Dropout", ["h", "ratio", "on"], ["d"], {}),
             ("BatchNormalization", ["d", "s", "b", "m", "v"], ["y", "m2", "v2"], {"training_mode": 1})]
    model = model_of(nodes, [("x", ("N", 4))], [("y", ("N", 3)), ("h", ("N", 3))], values)
    module = context.compile(model, "--loss=mse", "--optimizer=sgd")
    for rows in (1, 5):
        x = rng.standard_normal((rows, 4)).astype(np.float32)
        got, h = module.infer({"x": x}), x.astype(np.float64) @ values["w"]
        want = (h - values["m"]) / np.sqrt(values["v"] + 1e-5) * values["s"] + values["b"]
        assert list(got) == ["y", "h"], got
        assert np.allclose(got["y"], want, rtol=1e-5, atol=1e-5) and np.allclose(got["h"], h, rtol=1e-5), (got, want)


@test("kept model")
def kept_model(context):
    """The module keeps the file without what a training changes, with the data of other files in it."""
    model, _, parameters, *_ = mlp()
    module = context.compile(model, "--loss=mse", "--trainable=2.*")
    assert module.training.name == b"net", module.training.name
    kept = onnx.load_from_string(module.model())
    for tensor in kept.graph.initializer:
        if tensor.name.startswith("2."):
            assert not tensor.raw_data and not tensor.float_data, tensor.name
            tensor.CopyFrom(onnx.numpy_helper.from_array(parameters[tensor.name], tensor.name))
        else:
            assert (onnx.numpy_helper.to_array(tensor) == parameters[tensor.name]).all()
    assert kept == model
    values = {"s": np.ones(3, np.float32), "b": np.zeros(3, np.float32), "m": np.float32([.5, 0, -1]),
              "v": np.float32([1, 4, .25]), "ratio": np.float32(.5), "on": np.array(True)}
    nodes = [("BatchNormalization", ["x", "s", "b", "m", "v"], ["n", "m2", "v2"], {"training_mode": 1, "momentum": .5}),
             ("Dropout", ["n", "ratio", "on"], ["y", "mask"], {}), ("Add", ["m2", "b"], ["z"], {})]
    kept = onnx.load_from_string(context.compile(model_of(nodes, [("x", (4, 3))], [("y", (4, 3)), ("z", (3,))], values),
                                                 "--loss=mse").model())
    for tensor in kept.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(values[tensor.name], tensor.name))
    onnx.checker.check_model(kept)
    x = np.float32(np.arange(12).reshape(4, 3))
    y, z = onnxruntime.InferenceSession(kept.SerializeToString()).run(None, {"x": x})
    assert np.allclose(y, (x - values["m"]) / np.sqrt(values["v"] + 1e-5), rtol=1e-5) and (z == values["m"]).all(), (y, z)
    bare = context.compile(model, "--loss=mse", "--no-model")
    assert not bare.training.model and not bare.training.model_bytes
    onnx.save(model, context.folder / "outside.onnx", save_as_external_data=True, location="outside.bin",
              size_threshold=0)
    out = context.folder / "outside.so"
    done = subprocess.run([context.compiler, str(context.folder / "outside.onnx"), "--train", "--loss=mse",
                           "--trainable=2.*", *context.flags, "-o", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (context.folder / "outside.bin").unlink()
    kept = onnx.load_from_string(tm.TrainingModule(out, out.with_suffix(".safetensors")).model())
    for tensor in kept.graph.initializer:
        assert tensor.data_location == onnx.TensorProto.DEFAULT and not tensor.external_data
        if not tensor.name.startswith("2."):
            assert (onnx.numpy_helper.to_array(tensor) == parameters[tensor.name]).all()


@test("checkpoint")
def checkpoint(context):
    model, _, parameters, *_ = mlp()
    model.graph.initializer[0].name = "onnx_aot/w"
    model.graph.node[0].input[1] = "onnx_aot/w"
    status, text, out = context.invoke(model, "--train", "--loss=mse")
    assert status == 0, text
    tensors, metadata = tm.read_safetensors(out.with_suffix(".safetensors"))
    assert set(tensors) == {"onnx_aot/parameter/onnx_aot/w", "0.bias", "2.weight", "2.bias", "onnx_aot/hash"}, set(tensors)
    assert (tensors["onnx_aot/parameter/onnx_aot/w"] == parameters["0.weight"]).all()
    assert metadata["onnx_aot.contents"] == "parameters" and len(metadata["onnx_aot.fingerprint"]) == 32
    # The same model gives the same bytes.
    before = out.read_bytes(), out.with_suffix(".safetensors").read_bytes()
    context.number -= 1
    context.invoke(model, "--train", "--loss=mse")
    assert before == (out.read_bytes(), out.with_suffix(".safetensors").read_bytes())


# ---- Losses ----------------------------------------------------------------------------------------------------------


def check_loss(context, spec, function, output, target, rtol=2e-5):
    """Value and gradient of a loss of y = x + w at w = 0, against central differences of the reference."""
    shape = output.shape
    model = model_of([("Add", ["x", "w"], ["y"], {})], [("x", shape)], [("y", shape)], {"w": np.zeros(shape, np.float32)})
    module = context.compile(model, f"--loss={spec}", "--optimizer=none")
    feeds = {"x": output, module.targets[0]: target}
    loss = module.train_step(feeds)
    exact = np.asarray(output, np.float64)
    expected = function(exact, target)
    assert np.allclose(loss, expected, rtol=rtol, atol=1e-6), (loss, expected)
    assert np.allclose(module.eval_step(feeds)[tm.LOSS], expected, rtol=rtol, atol=1e-6)
    gradient, step = np.zeros(exact.size), 1e-5
    for i in range(exact.size):
        high, low = exact.copy(), exact.copy()
        high.flat[i] += step
        low.flat[i] -= step
        gradient[i] = (np.sum(function(high, target)) - np.sum(function(low, target))) / (2 * step)
    assert np.allclose(module.gradients[0].ravel(), gradient, rtol=1e-4, atol=1e-5), (module.gradients[0].ravel(), gradient)


def element_cases():
    rng = np.random.default_rng(2)
    x = rng.standard_normal((3, 5)).astype(np.float32) * 2
    t = rng.standard_normal((3, 5)).astype(np.float32)
    p = rng.uniform(0, 1, (3, 5)).astype(np.float32)
    p[0, :2] = 0, 1
    wide = x * 20  # where a loss through sigmoid and log is not finite
    for reduction in ("mean", "sum", "none"):
        for name, target, options, keywords in (
                ("mse", t, "", {}), ("l1", t, "", {}), ("smooth-l1", t, ",beta=0.7", {"number": 0.7}),
                ("huber", t, ",delta=1.5", {"number": 1.5}), ("bce-with-logits", p, "", {}),
                ("bce-with-logits", p, ",pos_weight=3", {"number": 3.0}), ("kl-div", p, "", {}),
                ("kl-div", np.log(p + 0.1), ",log_target=true", {"log_target": True})):
            yield (f"{name}:reduction={reduction}{options}", x,
                   target, lambda y, t, n=name, r=reduction, k=keywords: ref.element(n, y, t, r, **k))
    yield "bce-with-logits:reduction=sum,pos_weight=1", wide, p, lambda y, t: ref.element("bce-with-logits", y, t, "sum")
    yield "kl-div:reduction=batchmean", x, p, lambda y, t: ref.element("kl-div", y, t, "batchmean")
    yield "mse:scale=0.25", x, t, lambda y, t: 0.25 * ref.element("mse", y, t)


for _spec, _x, _t, _function in element_cases():
    test(f"loss/{_spec}" + ("/wide" if abs(_x).max() > 20 else ""))(
        lambda context, s=_spec, x=_x, t=_t, f=_function: check_loss(context, s, f, x, t))


def class_cases():
    rng = np.random.default_rng(3)
    weight = [0.5, 1, 2, 0.25]
    text = ",weight=" + "/".join(map(str, weight))
    flat, flat_labels = rng.standard_normal((6, 4)), rng.integers(0, 4, 6)
    image, image_labels = rng.standard_normal((2, 4, 3)), rng.integers(0, 4, (2, 3))
    words = rng.standard_normal((2, 3, 4))
    ignored = flat_labels.copy()
    ignored[1] = -100
    two = np.where(flat_labels == 2, 2, flat_labels)
    for reduction in ("mean", "sum", "none"):
        r = f":reduction={reduction}"
        yield f"cross-entropy{r}", flat, flat_labels, {}
        yield f"cross-entropy{r}{text}", flat, flat_labels, {"weight": weight}
        yield f"cross-entropy{r},label_smoothing=0.1", flat, ignored, {"smoothing": 0.1}
        yield f"cross-entropy{r},label_smoothing=0.2{text}", flat, ignored, {"smoothing": 0.2, "weight": weight}
        yield f"cross-entropy{r},ignore_index=2", flat, two, {"ignore": 2}
        yield f"cross-entropy{r},class_axis=-1", words, image_labels, {"axis": 2}
        yield f"cross-entropy{r},class_axis=1,label_type=int32", image, image_labels, {}
        yield f"nll{r}", flat, flat_labels, {"nll": True}
    yield "cross-entropy:class_axis=0", flat.T.copy(), flat_labels, {"axis": 0}
    yield "nll:class_axis=2,reduction=sum", words, image_labels, {"nll": True, "axis": 2}


for _spec, _x, _t, _options in class_cases():
    _reduction = re.search(r"reduction=(\w+)", _spec)
    test(f"loss/{_spec}")(
        lambda context, s=_spec, x=_x.astype(np.float32), t=_t, r=_reduction[1] if _reduction else "mean", k=_options:
        check_loss(context, s, lambda y, labels: ref.cross_entropy(y, labels, r, **k), x, t))


@test("labels-out-of-range")
def labels_out_of_range(context):
    """An error, not a number, and nothing is updated."""
    model, _, parameters, shape, classes = mlp()
    module = context.compile(model, "--loss=cross-entropy", "--optimizer=sgd")
    x, labels = next(iter(batches(shape, classes, "cross-entropy")))
    for bad in (classes, -1, 1 << 40, -(1 << 40)):
        labels[5] = bad
        for step in (module.train_step, lambda feeds: module.fused_step(feeds, 0.1), module.eval_step):
            try:
                step({"x": x, "labels": labels})
            except tm.RunFailed as failure:
                assert "range" in str(failure), failure
                continue
            assert False, f"label {bad} was taken"
        assert all((module[name] == value).all() for name, value in parameters.items())
    labels[5] = -100  # ignored
    assert np.isfinite(module.train_step({"x": x, "labels": labels}))


@test("sum-of-losses")
def sum_of_losses(context):
    shape = (4, 3)
    model = model_of([("Mul", ["x", "w"], ["a"], {}), ("Add", ["x", "w"], ["b"], {})], [("x", shape)],
                     [("a", shape), ("b", shape)], {"w": np.full(shape, 0.5, np.float32)})
    module = context.compile(model, "--loss=mse:scale=0.4,output=a,target=t1", "--loss=l1:scale=0.6,output=b,target=t2",
                             "--optimizer=none")
    assert module.targets == ["t1", "t2"], module.targets
    rng = np.random.default_rng(5)
    x, t1, t2 = (rng.standard_normal(shape).astype(np.float32) for _ in range(3))
    loss = module.train_step({"x": x, "t1": t1, "t2": t2})
    assert np.isclose(loss, 0.4 * ((x * 0.5 - t1) ** 2).mean() + 0.6 * abs(x + 0.5 - t2).mean(), rtol=1e-5)
    expected = 0.4 * 2 * (x * 0.5 - t1) * x / 12 + 0.6 * np.sign(x + 0.5 - t2) / 12
    assert np.allclose(module.gradients[0], expected, rtol=1e-4, atol=1e-6)


@test("loss-none")
def loss_none(context):
    model = model_of([("Mul", ["x", "w"], ["a"], {}), ("ReduceSum", ["a"], ["loss"], {"keepdims": 0})], [("x", (3,))],
                     [("loss", ())], {"w": np.ones(3, np.float32)})
    module = context.compile(model, "--loss=none", "--optimizer=sgd")
    x = np.array([1, 2, 3], np.float32)
    assert module.train_step({"x": x}) == 6 and (module.gradients[0] == x).all() and not module.targets


@test("dropout")
def dropout(context):
    """Drops by seed and step, the same elements forward and backward; nothing in eval; the scale keeps the mean."""
    shape = (40, 100)
    model = model_of([("Mul", ["x", "w"], ["a"], {}), ("Dropout", ["a", "ratio", "on"], ["b"], {}),
                      ("Dropout", ["b", "ratio", "on"], ["y"], {})], [("x", shape)], [("y", shape)],
                     {"w": np.ones(shape, np.float32), "ratio": np.float32(0.25), "on": np.bool_(True)})
    module = context.compile(model, "--loss=none", "--optimizer=sgd")
    assert module.names == ["w"], module.names
    feeds = {"x": np.ones(shape, np.float32)}
    seen = []
    for seed, step in ((0, 0), (0, 1), (1, 0), (0, 0)):
        module.steps = step
        y = module.train_step(feeds, seed=seed)
        kept = y != 0
        assert np.allclose(y[kept], 1 / 0.75 ** 2) and (module.gradients[0] == y).all()
        assert abs(kept.mean() - 0.75 ** 2) < 0.03, kept.mean()
        # Neighbours in each direction are independent.
        for shifted in (np.roll(kept, 1, 0), np.roll(kept, 1, 1)):
            assert abs((kept & shifted).mean() - 0.75 ** 4) < 0.03
        seen.append(kept)
    assert (seen[0] == seen[3]).all()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert abs((seen[i] & seen[j]).mean() - 0.75 ** 4) < 0.03, "steps or seeds drop alike"
    assert (module.eval_step(feeds)[tm.USER]["y"] == 1).all()


@test("batchnorm")
def batch_normalization(context):
    """In training mode running statistics are state, updated by the step and used by eval; in inference mode constants."""
    shape, channels = (5, 3, 4, 4), 3
    values = {"scale": np.array([1, 2, 0.5], np.float32), "shift": np.array([0, 1, -1], np.float32),
              "mean": np.array([0.1, 0, -0.2], np.float32), "var": np.array([1, 2, 0.5], np.float32)}
    rng = np.random.default_rng(7)
    x, target = (rng.standard_normal(shape).astype(np.float32) * 2 + 1 for _ in range(2))

    def build(training):
        return model_of([("BatchNormalization", ["x", *values], ["y", "m", "v"][:3 if training else 1],
                          {"momentum": 0.8, "training_mode": training})], [("x", shape)], [("y", shape)], values)

    module = context.compile(build(1), "--loss=mse", "--optimizer=sgd")
    assert dict(zip(module.names, module.kinds)) == {"scale": 0, "shift": 0, "mean": 2, "var": 2}, module.names
    feeds = {"x": x, "target": target}
    exact = x.astype(np.float64)
    y, backward = ref.batchnorm(exact, values["scale"], values["shift"])
    expected, dy = ref.mse_gradient(y, target)
    for step in (module.train_step, lambda feeds: module.fused_step(feeds, 0.0)):
        before = module["mean"].copy(), module["var"].copy()
        assert np.isclose(step(feeds), expected, rtol=1e-5)
        for new, old, batch in ((module["mean"], before[0], exact.mean((0, 2, 3))),
                                (module["var"], before[1], exact.var((0, 2, 3)))):
            assert np.allclose(new, 0.8 * old + 0.2 * batch, rtol=1e-5), (new, old, batch)
    for name, g in zip(("scale", "shift"), backward(dy)[1]):
        assert np.allclose(module.gradients[module.names.index(name)], g, rtol=1e-4, atol=1e-6), name
    shaped = lambda v: v.reshape(1, -1, 1, 1)
    expected = shaped(values["scale"]) * (exact - shaped(module["mean"])) / np.sqrt(shaped(module["var"]) + 1e-5) + \
        shaped(values["shift"])
    assert np.allclose(module.eval_step(feeds)[tm.USER]["y"], expected, rtol=1e-4, atol=1e-5)
    frozen_norm = context.compile(build(0), "--loss=mse", "--optimizer=sgd")
    assert frozen_norm.names == ["scale", "shift"], frozen_norm.names
    frozen_norm.fused_step(feeds, 0.1)


@test("dynamic-batch")
def dynamic_batch(context):
    """Any batch size, with the loss and the gradients of the reference."""
    model, layers, parameters, shape, classes = mlp()
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "N"
    module = context.compile(model, "--loss=cross-entropy", "--optimizer=adamw")
    rng = np.random.default_rng(6)
    for batch in (1, 5, 16, 33):
        x, labels = rng.standard_normal((batch, shape[1])).astype(np.float32), rng.integers(0, classes, batch)
        loss = module.train_step({"x": x, "labels": labels})
        network = ref.Network(layers, {n: p.astype(np.float64) for n, p in parameters.items()})
        expected, dy = ref.cross_entropy_gradient(network.forward(x.astype(np.float64)), labels)
        assert np.isclose(loss, expected, rtol=1e-5)
        for name, g in network.backward(dy).items():
            assert np.allclose(module.gradients[module.names.index(name)], g, rtol=1e-4, atol=1e-6), (batch, name)


# ---- Refusals ----------------------------------------------------------------------------------------------------------


def check_refusal(context, flags, *texts, model=None):
    status, text, out = context.invoke(model or mlp()[0], *flags)
    assert status == 1 and not out.exists(), text
    for expected in texts:
        assert expected in text, f"{expected!r} is not in {text!r}"


REFUSALS = {
    "no loss": (["--train"], "--loss=SPEC"),
    "loss": (["--train", "--loss=mape"], "loss 'mape': it is not supported", "cross-entropy"),
    "loss option": (["--train", "--loss=mse:beta=1"], "'beta' is no option", "reduction"),
    "loss value": (["--train", "--loss=cross-entropy:label_smoothing=2"], "'label_smoothing' is 2", "0 to 1"),
    "optimizer": (["--train", "--loss=mse", "--optimizer=sgdx"], "optimizer 'sgdx'", "adamw"),
    "lr": (["--train", "--loss=mse", "--optimizer=sgd:lr=0.1"], "'lr'", "input of each step"),
    "all at once": (["--train", "--loss=mse", "--optimizer=adam:betas=1/2,eps=x,foo=1"], "'betas'", "'eps'", "'foo'"),
    "nesterov": (["--train", "--loss=mse", "--optimizer=sgd:nesterov=true"], "'nesterov' wants a momentum"),
    "output": (["--train", "--loss=mse:output=z"], "no output 'z'", "there are: y"),
    "glob": (["--train", "--loss=mse", "--trainable=conv*"], "no initializer of floats is called 'conv*'"),
    "nothing": (["--train", "--loss=mse", "--frozen=*"], "nothing to train"),
    "clip": (["--train", "--loss=mse", "--clip-norm=-1"], "--clip-norm"),
    "without train": (["--loss=mse"], "--loss is for training"),
    "classes": (["--train", "--loss=cross-entropy:weight=1/2"], "2 class weights"),
    "target": (["--train", "--loss=mse:target=x"], "target 'x'", "already an input"),
}
def half_model(kind):
    """y = Cast(w) * x + b, with w in half precision."""
    numpy_type = helper.tensor_dtype_to_np_dtype(kind)
    values = {"w": np.array([0.5, 2, -1]).astype(numpy_type), "b": np.array([1, 0, 1], np.float32)}
    return model_of([("Cast", ["w"], ["c"], {"to": onnx.TensorProto.FLOAT}), ("Mul", ["x", "c"], ["a"], {}),
                     ("Add", ["a", "b"], ["y"], {})], [("x", (2, 3))], [("y", (2, 3))], values)


@test("half")
def half(context):
    """Parameters of half precision are refused by name and type; frozen they are constants like others."""
    x, target = np.float32([[1, 2, 3], [4, 5, 6]]), np.float32([[0, 1, 0], [1, 0, 1]])
    for kind, text in ((onnx.TensorProto.FLOAT16, "tensor<3xf16>"), (onnx.TensorProto.BFLOAT16, "tensor<3xbf16>")):
        model = half_model(kind)
        check_refusal(context, ["--train", "--loss=mse"], f"'w' of type '{text}' cannot be trained", "--frozen", model=model)
        module = context.compile(model, "--loss=mse", "--optimizer=sgd", "--frozen=w")
        assert module.names == ["b"]
        error = np.float32([0.5, 2, -1]) * x + np.float32([1, 0, 1]) - target
        assert np.isclose(module.fused_step({"x": x, "target": target}, 0.1), (error ** 2).mean(), rtol=1e-6)
        assert np.allclose(module["b"], [1, 0, 1] - 0.1 * 2 * error.sum(0) / error.size, rtol=1e-6)


@test("half/statistics")
def half_statistics(context):
    """Running statistics of another type than the parameters are state of that type, in all programs."""
    values = {"s": np.ones(3, np.float32), "b": np.zeros(3, np.float32), "m": np.zeros(3, np.float16),
              "v": np.ones(3, np.float16)}
    model = model_of([("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "m2", "v2"], {"training_mode": 1})],
                     [("x", (4, 3))], [("y", (4, 3))], values)
    module = context.compile(model, "--loss=mse", "--optimizer=sgd", "--clip-norm=1")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    module.train_step({"x": x, "target": x})
    module.update_step(0.1)
    assert np.allclose(module["m"].astype(np.float32), 0.1 * x.mean(0), rtol=1e-2), module["m"]


@test("training info")
def training_info(context):
    """An algorithm that the file holds itself is left out of what is trained, and that is said; inference ignores it."""
    model = mlp()[0]
    info = model.training_info.add()
    info.algorithm.name = "step"
    info.algorithm.node.append(helper.make_node("Identity", ["0.bias"], ["new"]))
    info.algorithm.output.append(helper.make_tensor_value_info("new", onnx.TensorProto.FLOAT, [32]))
    info.update_binding.add(key="0.bias", value="new")
    status, text, _ = context.invoke(model, "--train", "--loss=mse")
    assert status == 0 and "training_info) is not used" in text, text
    status, text, _ = context.invoke(model)
    assert status == 0 and not text, text


for _name, _refusal in REFUSALS.items():
    test(f"refused/{_name}")(lambda context, r=_refusal: check_refusal(context, *r))


@test("refused/no gradient")
def no_gradient(context):
    """Every node that stands in the way is named at once, by --check too."""
    nodes = [("Mul", ["x", "w"], ["a"], {}), ("Bernoulli", ["a"], ["b"], {}), ("Bernoulli", ["a"], ["c"], {}),
             ("Add", ["b", "c"], ["d"], {}), ("ReduceSum", ["d"], ["y"], {"keepdims": 0})]
    model = model_of(nodes, [("x", (3, 3))], [("y", ())], {"w": np.ones((3, 3), np.float32)})
    check_refusal(context, ["--train", "--loss=none", "--check"], "no gradient", model=model)


def main(tests=TESTS, doc=__doc__):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", help="only tests whose name this expression finds")
    parser.add_argument("--verbose", action="store_true", help="name the tests that pass, too")
    options = harness.parse_arguments(parser)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        context = Context(options, pathlib.Path(folder))
        for name, function in tests.items():
            if not re.search(options.filter, name):
                continue
            try:
                function(context)
                passed += 1
                if options.verbose:
                    print("ok   ", name, flush=True)
            except Exception as error:  # noqa: BLE001 - a failed test is told, the others go on
                failed += 1
                print(f"FAILED {name}: {type(error).__name__}: {str(error)[:1500]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
