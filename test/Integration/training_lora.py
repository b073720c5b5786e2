#!/usr/bin/env python3
"""Train low-rank updates of weights (--lora), step by step with numpy in float64, and export the sums.

usage: training_lora.py [--build DIR] [--filter RE] [--verbose] [-- FLAG...]
"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import training
import training_module as tm
import training_reference as ref
from training import check_refusal, collect_in, model_of

TESTS = {}
test = collect_in(TESTS)


def run(context, module, *arguments):
    """What onnx-aot-run does with a module."""
    command = [pathlib.Path(context.compiler).parent / "onnx-aot-run", module, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert done.returncode == 0, done.stdout


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def lora_steps(context, flags, scale, weights, steps=10, lr=0.01):
    """Trains with the updates of some of the mlp's weights, and with numpy; returns the module and what numpy has."""
    model, layers, parameters, shape, classes = training.mlp()
    module = context.compile(model, "--loss=mse", "--optimizer=adam", *flags)
    exact = {name: value.astype(np.float64) for name, value in parameters.items()}
    own = {name: value.astype(np.float64) for name, value in zip(module.names, module.parameters)}
    states, step = {name: {} for name in own}, ref.adam()
    for t, (x, target) in zip(range(1, steps + 1), training.batches(shape, classes, "mse")):
        full = {n: v + scale * own[f"{n}.lora_B"] @ own[f"{n}.lora_A"] if n in weights else own.get(n, v)
                for n, v in exact.items()}
        network = ref.Network(layers, full)
        loss, dy = ref.mse_gradient(network.forward(x.astype(np.float64)), target)
        gradients = network.backward(dy)
        for name in weights:
            a, b = f"{name}.lora_A", f"{name}.lora_B"
            gradients[a], gradients[b] = (scale * own[b].T @ gradients[name], scale * gradients[name] @ own[a].T)
        got = module.fused_step({"x": x, "target": target}, lr)
        assert np.isclose(got, loss, rtol=1e-5), (t, got, loss)
        own = {name: step(value, gradients[name], states[name], lr, t) for name, value in own.items()}
    for name, value in own.items():
        assert np.allclose(module[name], value, rtol=1e-3, atol=1e-5), name
    return module, exact


@test("all")
def lora_all(context):
    """A begins uniform in +-1/sqrt(in), B as zeros; nothing else is trained."""
    model, _, parameters, shape, classes = training.mlp()
    module = context.compile(model, "--loss=mse", "--optimizer=adam", "--lora=4")
    names = [f"{w}.lora_{m}" for w in ("0.weight", "2.weight") for m in "AB"]
    assert sorted(module.names) == sorted(names), module.names
    for weight in ("0.weight", "2.weight"):
        out, width = parameters[weight].shape
        a, b = module[f"{weight}.lora_A"], module[f"{weight}.lora_B"]
        assert a.shape == (4, width) and b.shape == (out, 4) and not b.any()
        assert abs(a).max() <= width ** -0.5 and abs(a).max() > 0.8 * width ** -0.5 and abs(a.mean()) < 0.2 * width ** -0.5
    other = context.compile(model, "--loss=mse", "--optimizer=adam", "--lora=4:seed=1")
    assert (other["0.weight.lora_A"] != module["0.weight.lora_A"]).mean() > 0.9
    lora_steps(context, ["--lora=4"], 1.0, {"0.weight", "2.weight"})


@test("targets")
def lora_targets(context):
    module, _ = lora_steps(context, ["--lora=2:alpha=5,targets=0.*", "--trainable=*.bias"], 2.5, {"0.weight"})
    assert sorted(module.names) == ["0.bias", "0.weight.lora_A", "0.weight.lora_B", "2.bias"], module.names


@test("matmul and tied weights")
def lora_matmul(context):
    """A weight that lies in x out; one that two nodes multiply by has one update."""
    model = model_of([("MatMul", ["x", "w"], ["h"], {}), ("Tanh", ["h"], ["i"], {}), ("MatMul", ["i", "w"], ["y"], {})],
                     [("x", (2, 3, 4))], [("y", (2, 3, 4))], {"w": random(4, 4, seed=9)})
    module = context.compile(model, "--loss=mse", "--optimizer=sgd", "--lora=2:alpha=3")
    a = module["w.lora_A"].astype(np.float64)
    module["w.lora_B"][:] = random(4, 2, seed=10)
    x, target = random(2, 3, 4), random(2, 3, 4, seed=1)

    def function(a):
        w = random(4, 4, seed=9).astype(np.float64) + 1.5 * (b @ a).T
        return ((np.tanh(x @ w) @ w - target) ** 2).mean()
    b = module["w.lora_B"].astype(np.float64)
    loss = module.train_step({"x": x, "target": target})
    assert np.isclose(loss, function(a), rtol=1e-5)
    gradient = module.gradients[module.names.index("w.lora_A")]
    for i in range(a.size):
        high, low = a.copy(), a.copy()
        high.flat[i] += 1e-6
        low.flat[i] -= 1e-6
        assert np.isclose(gradient.flat[i], (function(high) - function(low)) / 2e-6, rtol=1e-3, atol=1e-5)


@test("export")
def lora_export(context):
    """The exported model has the sum in the weight's place, however its numbers are stored."""
    model, layers, parameters, shape, classes = training.mlp()
    for tensor in model.graph.initializer:
        if tensor.name == "2.weight":  # not as raw bytes
            values = onnx.numpy_helper.to_array(tensor)
            tensor.ClearField("raw_data")
            tensor.float_data.extend(values.ravel().tolist())
    status, text, module = context.invoke(model, "--train", "--loss=mse", "--optimizer=adam", "--lora=3:alpha=6")
    assert status == 0, text
    rng = np.random.default_rng(7)
    x = rng.standard_normal((32, 20)).astype(np.float32)
    data, out, source, plain = (module.with_suffix(s) for s in (".npz", ".out.safetensors", ".onnx", ".plain.onnx"))
    np.savez(data, x=x, target=rng.standard_normal((32, 7)).astype(np.float32))
    run(context, module, "--train", data, "--epochs", 3, "--lr", 0.01, "--save", out, "--export", plain)
    other = module.with_suffix(".other.onnx")
    run(context, module, "--checkpoint", out, "--export", other, "--model", source)
    trained, _ = tm.read_safetensors(out)
    matrices = {f"{w}.lora_{m}" for w in ("0.weight", "2.weight") for m in "AB"}
    assert {name for name in trained if not name.startswith("onnx_aot/")} == matrices, list(trained)
    for path in (plain, other):
        exported = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
        assert set(exported) == set(parameters)
        for name, before in parameters.items():
            expected = before.astype(np.float64)
            if name.endswith("weight"):
                expected += 2 * trained[f"{name}.lora_B"].astype(np.float64) @ trained[f"{name}.lora_A"]
                assert (exported[name] != before).mean() > 0.9
            assert np.allclose(exported[name], expected, rtol=1e-6, atol=1e-7), name
    # The module itself answers as the merged model does.
    inputs, answers = module.with_suffix(".in.npz"), module.with_suffix(".answers.npz")
    np.savez(inputs, x=x[:16])
    run(context, module, "--checkpoint", out, "--inputs", inputs, "--outputs", answers)
    expected = onnxruntime.InferenceSession(plain, providers=["CPUExecutionProvider"]).run(None, {"x": x[:16]})[0]
    assert np.allclose(np.load(answers)["y"], expected, rtol=1e-4, atol=1e-5)


@test("gemm")
def lora_gemm(context):
    """A Gemm's alpha scales the update as well, and its first operand may lie transposed."""
    w, c, x, target = random(4, 3, seed=3), random(3, seed=4), random(4, 5), random(5, 3, seed=1)
    nodes = [("Gemm", ["x", "w", "c"], ["y"], {"alpha": 0.5, "beta": 2.0, "transA": 1})]
    model = model_of(nodes, [("x", (4, 5))], [("y", (5, 3))], {"w": w, "c": c})
    module = context.compile(model, "--loss=mse", "--optimizer=sgd", "--lora=1:alpha=4")
    module["w.lora_B"][:] = random(3, 1, seed=5)
    a, b = (module[f"w.lora_{m}"].astype(np.float64) for m in "AB")
    assert a.shape == (1, 4)
    loss = module.train_step({"x": x, "target": target})
    error = 0.5 * x.astype(np.float64).T @ (w + 4 * (b @ a).T) + 2 * c - target
    assert np.isclose(loss, (error ** 2).mean(), rtol=1e-5)
    gradient = 0.5 * 4 * x.astype(np.float64) @ (2 * error / error.size)
    assert np.allclose(module.gradients[module.names.index("w.lora_B")], gradient.T @ a.T, rtol=1e-4, atol=1e-5)
    assert np.allclose(module.gradients[module.names.index("w.lora_A")], b.T @ gradient.T, rtol=1e-4, atol=1e-5)


@test("refused")
def lora_refused(context):
    mlp = training.mlp()[0]
    for flag, *texts in (("0", "no rank"), ("x", "no rank"), ("4:alpha=-1", "'alpha'"), ("4:beta=1", "'beta' is no option"),
                         ("4:targets=conv*", "called 'conv*'"), ("100", "rank 100", "larger")):
        check_refusal(context, ["--train", "--loss=mse", f"--lora={flag}"], *texts, model=mlp)
    tied = model_of([("Mul", ["w", "w"], ["v"], {}), ("MatMul", ["x", "w"], ["h"], {}), ("Add", ["h", "v"], ["y"], {})],
                    [("x", (4, 4))], [("y", (4, 4))], {"w": random(4, 4)})
    check_refusal(context, ["--train", "--loss=mse", "--lora=2:targets=w"], "use differently", model=tied)
    check_refusal(context, ["--train", "--loss=mse", "--lora=2"], "--lora", model=tied)
    named = model_of([("MatMul", ["x", "w"], ["h"], {}), ("Mul", ["h", "w.lora_B"], ["y"], {})], [("x", (4, 4))],
                     [("y", (4, 4))], {"w": random(4, 4), "w.lora_B": random(4, seed=1)})
    check_refusal(context, ["--train", "--loss=mse", "--lora=2"], "'w.lora_B' already", model=named)
    check_refusal(context, ["--lora=4"], "--lora is for training", model=mlp)


if __name__ == "__main__":
    sys.exit(training.main(TESTS, __doc__))
