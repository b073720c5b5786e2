#!/usr/bin/env python3
"""Train with losses from ONNX files; check loss and gradient by the same formula in float64 and central differences.

usage: training_losses.py [--build DIR] [--filter RE] [--verbose] [-- FLAG...]
"""
import sys

import numpy as np
import onnx

import training
import training_module as tm
from training import check_refusal, collect_in, model_of

TESTS = {}
test = collect_in(TESTS)


def save_loss(context, nodes, inputs, outputs, initializers=None):
    """Writes a loss beside the models; returns its path."""
    context.number += 1
    path = context.folder / f"loss{context.number}.onnx"
    onnx.save(model_of(nodes, inputs, outputs, initializers or {}), path)
    return path


def two_outputs(shape=(4, 3)):
    return model_of([("Mul", ["x", "w"], ["a"], {}), ("Add", ["x", "w"], ["b"], {})], [("x", shape)],
                    [("a", shape), ("b", shape)], {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)})


def check_step(module, function, feeds, weight):
    """Loss and gradient of w against the function of w in float64 and its central differences."""
    loss = module.train_step(feeds)
    exact = weight.astype(np.float64)
    assert np.shape(loss) == () and np.isclose(loss, function(exact), rtol=1e-5), (loss, function(exact))
    assert np.isclose(module.eval_step(feeds)[tm.LOSS], function(exact), rtol=1e-5)
    gradient, step = np.zeros(exact.shape), 1e-6
    for i in range(exact.size):
        high, low = exact.copy(), exact.copy()
        high.flat[i] += step
        low.flat[i] -= step
        gradient.flat[i] = (function(high) - function(low)) / (2 * step)
    assert np.allclose(module.gradients[0], gradient, rtol=1e-4, atol=1e-5), (module.gradients[0], gradient)


def quartic(t, y="y", shape=(4, 3)):
    """mean((y - t)^4), as a graph."""
    return ([("Sub", [y, t], ["d"], {}), ("Mul", ["d", "d"], ["e"], {}), ("Mul", ["e", "e"], ["f"], {}),
             ("ReduceMean", ["f"], ["l"], {"keepdims": 0})], [(y, shape), (t, shape)], [("l", ())])


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@test("by name")
def by_name(context):
    """Inputs called like outputs are these, in any order; the rest are targets."""
    nodes = [("Sub", ["b", "goal"], ["d"], {}), ("Mul", ["d", "a"], ["e"], {}), ("Mul", ["e", "d"], ["f"], {}),
             ("ReduceSum", ["f"], ["l"], {"keepdims": 1})]
    loss = save_loss(context, nodes, [("goal", (4, 3)), ("b", (4, 3)), ("a", (4, 3))], [("l", (1, 1))])
    model = two_outputs()
    module = context.compile(model, f"--loss={loss}", "--optimizer=none")
    assert module.targets == ["goal"], module.targets
    assert module.training.loss.decode().startswith(loss.name), module.training.loss
    x, goal = random(4, 3), random(4, 3, seed=1)
    check_step(module, lambda w: (((x + w) - goal) ** 2 * (x * w)).sum(), {"x": x, "goal": goal}, module["w"])


@test("by position")
def by_position(context):
    """Without such a name the first input that is none of the model's is the first output; output= names more of them."""
    x, t = random(4, 3), random(4, 3, seed=1)
    loss = save_loss(context, *quartic("t", "p"))
    module = context.compile(two_outputs(), f"--loss={loss}", "--optimizer=none")
    check_step(module, lambda w: ((x * w - t) ** 4).mean(), {"x": x, "t": t}, module["w"])
    module = context.compile(two_outputs(), f"--loss={loss}:output=b", "--optimizer=none")
    check_step(module, lambda w: ((x + w - t) ** 4).mean(), {"x": x, "t": t}, module["w"])
    module = context.compile(two_outputs(), f"--loss={loss}:output=b+a", "--optimizer=none")
    assert not module.targets
    check_step(module, lambda w: ((x + w - x * w) ** 4).mean(), {"x": x}, module["w"])


@test("inputs of the model")
def model_inputs(context):
    """An autoencoder's target is its input."""
    module = context.compile(two_outputs(), f"--loss={save_loss(context, *quartic('x', 'a'))}", "--optimizer=none")
    assert not module.targets
    x = random(4, 3)
    check_step(module, lambda w: ((x * w - x) ** 4).mean(), {"x": x}, module["w"])
    nodes, inputs, outputs = quartic("x", "p")
    loss = save_loss(context, nodes, inputs[::-1], outputs)
    module = context.compile(two_outputs(), f"--loss={loss}", "--optimizer=none")
    assert not module.targets
    check_step(module, lambda w: ((x * w - x) ** 4).mean(), {"x": x}, module["w"])


@test("added to others")
def added(context):
    loss = save_loss(context, *quartic("t", "a"))
    module = context.compile(two_outputs(), f"--loss={loss}:scale=0.5", "--loss=l1:output=b,target=t,scale=2",
                             f"--loss={save_loss(context, *quartic('u', 'b'))}", "--optimizer=none")
    assert module.targets == ["t", "u"], module.targets
    x, t, u = random(4, 3), random(4, 3, seed=1), random(4, 3, seed=2)
    check_step(module, lambda w: 0.5 * ((x * w - t) ** 4).mean() + 2 * abs(x + w - t).mean() + ((x + w - u) ** 4).mean(),
               {"x": x, "t": t, "u": u}, module["w"])


@test("sizes")
def sizes(context):
    """A dimension of the loss is what the model says: fixed, or of another name."""
    loss = save_loss(context, *quartic("t", "p", ("batch", 3)))
    x, t = random(4, 3), random(4, 3, seed=1)
    module = context.compile(two_outputs(), f"--loss={loss}", "--optimizer=none")
    check_step(module, lambda w: ((x * w - t) ** 4).mean(), {"x": x, "t": t}, module["w"])
    model = model_of([("MatMul", ["x", "w"], ["y"], {})], [("x", ("N", 3))], [("y", ("N", 2))], {"w": random(3, 2, seed=3)})
    loss = save_loss(context, *quartic("t", "p", ("batch", 2)))
    module = context.compile(model, f"--loss={loss}", "--optimizer=none")
    for batch in (1, 5):
        x, t = random(batch, 3), random(batch, 2, seed=1)
        check_step(module, lambda w: ((x @ w - t) ** 4).mean(), {"x": x, "t": t}, module["w"])
    module = context.compile(model, f"--loss={save_loss(context, *quartic('t', 'p', ('N', 2)))}", "--dim=N=5",
                             "--optimizer=none")
    check_step(module, lambda w: ((x @ w - t) ** 4).mean(), {"x": x, "t": t}, module["w"])


@test("its own constants")
def constants(context):
    """Initializers of the loss are no parameters."""
    nodes, inputs, outputs = quartic("t", "p")
    nodes.append(("Mul", ["l", "two"], ["m"], {}))
    loss = save_loss(context, nodes, inputs, [("m", ())], {"two": np.float32(2)})
    module = context.compile(two_outputs(), f"--loss={loss}", "--optimizer=sgd")
    assert module.names == ["w"], module.names
    x, t = random(4, 3), random(4, 3, seed=1)
    check_step(module, lambda w: 2 * ((x * w - t) ** 4).mean(), {"x": x, "t": t}, module["w"])


@test("computed shapes")
def computed_shapes(context):
    """What exporters write: a shape put together from sizes."""
    nodes = [("Shape", ["p"], ["s"], {}), ("Gather", ["s", "zero"], ["n"], {}), ("Unsqueeze", ["n", "axes"], ["m"], {}),
             ("Concat", ["m", "rest"], ["to"], {"axis": 0}), ("Reshape", ["p", "to"], ["q"], {}),
             ("Sub", ["q", "t"], ["d"], {}), ("Mul", ["d", "d"], ["e"], {}), ("ReduceSum", ["e"], ["l"], {"keepdims": 0})]
    initializers = {"zero": np.int64(0), "axes": np.int64([0]), "rest": np.int64([3, 1])}
    loss = save_loss(context, nodes, [("p", ("batch", 3)), ("t", ("batch", 3, 1))], [("l", ())], initializers)
    x, t = random(4, 3), random(4, 3, 1, seed=1)
    module = context.compile(two_outputs(), f"--loss={loss}", "--optimizer=none")
    check_step(module, lambda w: ((x * w - t[..., 0]) ** 2).sum(), {"x": x, "t": t}, module["w"])


@test("verify-gradients")
def float64(context):
    """The loss is computed in float64 too."""
    loss = save_loss(context, *quartic("t", "a"))
    module = context.compile(two_outputs(), f"--loss={loss}", "--optimizer=none", "--verify-gradients")
    x, t = (random(4, 3, seed=seed).astype(np.float64) for seed in (0, 1))
    exact = ((x * module["w"] - t) ** 4).mean()
    assert np.isclose(module.train_step({"x": x, "t": t}), exact, rtol=1e-12)
    gradient = 4 * (x * module["w"] - t) ** 3 * x / x.size
    assert np.allclose(module.gradients[0], gradient, rtol=1e-12), (module.gradients[0], gradient)


@test("not in the model")
def not_in_model(context):
    """Inference and the kept model have neither the loss nor its targets."""
    nodes, inputs, outputs = quartic("t", "a")
    nodes.append(("Mul", ["l", "factor"], ["m"], {}))
    loss, model = save_loss(context, nodes, inputs, [("m", ())], {"factor": np.float32(3)}), two_outputs()
    module = context.compile(model, f"--loss={loss}", "--optimizer=sgd")
    x = random(4, 3)
    got = module.infer({"x": x})
    assert list(got) == ["a", "b"], got
    assert (got["a"] == x * module["w"]).all() and (got["b"] == x + module["w"]).all(), got
    kept = onnx.load_from_string(module.model())
    assert kept.graph.node == model.graph.node and kept.graph.input == model.graph.input, kept
    assert [t.name for t in kept.graph.initializer] == ["w"], kept


@test("refused")
def refused(context):
    def refuse(loss, *texts, options="", flags=()):
        check_refusal(context, ["--train", f"--loss={loss}{options}", *flags], *texts, model=two_outputs())
    refuse("no-such-file.onnx", "no file 'no-such-file.onnx'")
    damaged = context.folder / "damaged.onnx"
    damaged.write_bytes(b"no model")
    refuse(damaged, "damaged.onnx")
    good = save_loss(context, *quartic("t", "p"))
    refuse(good, "would overwrite the loss", flags=[f"--report={good}"])
    refuse(good, "no output 'z'", "a, b", options=":output=z")
    refuse(good, "3 outputs", "2 inputs", options=":output=a+b+a")
    refuse(good, "'beta' is no option", options=":beta=1")
    refuse(save_loss(context, *quartic("t", "p", (4, 2))), "input 'p'", "4x2", "4x3")
    refuse(save_loss(context, *quartic("t", "p", (4, 3, 1))), "input 'p'")
    refuse(save_loss(context, [("ReduceMean", ["p"], ["l"], {"axes": [0], "keepdims": 0})], [("p", (4, 3))], [("l", (3,))]),
           "first output", "one float")
    integer = onnx.TensorProto.INT64
    refuse(save_loss(context, [("ReduceMean", ["p"], ["l"], {"keepdims": 0})], [("p", (4, 3), integer)], [("l", (), integer)]),
           "input 'p'", "i64")
    refuse(save_loss(context, [("Bernoulli", ["p"], ["q"], {}), ("ReduceMean", ["q"], ["l"], {"keepdims": 0})],
                     [("p", (4, 3))], [("l", ())]), "Bernoulli", "gradient")
    model = model_of([("Mul", ["x", "w"], ["a"], {})], [("x", ("N", 3))], [("a", ("N", 3))], {"w": np.ones(3, np.float32)})
    check_refusal(context, ["--train", f"--loss={good}"], "--dim", model=model)


if __name__ == "__main__":
    sys.exit(training.main(TESTS, __doc__))
