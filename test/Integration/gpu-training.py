#!/usr/bin/env python3
"""Train models with kernels for a GPU, in the emulator, beside the same training on the CPU.

Losses of each step and the state at the end may differ by 1e-5 of their size, or by 20 times what the CPU's own answers
differ between -O0 and -O2, where rounding is amplified. Checkpoints go from one to the other. usage: gpu-training.py
[--build DIR] [--filter RE] [--full] [--real ARCHITECTURE]
"""
import argparse
import csv
import ctypes
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "utils"))
import harness  # noqa: E402

STEPS = 20
OPTIMIZERS = {"sgd:momentum=0.9": 0.01, "sgd": 0.02, "adam": 1e-3, "adamw": 1e-3, "adagrad": 1e-2, "rmsprop": 1e-3,
              "lamb:weight_decay=0.01": 1e-2, "lion:weight_decay=0.1": 1e-4}


class Graph:
    """Collects nodes and parameters; names follow by themselves."""

    def __init__(self, seed=0):
        self.nodes, self.parameters = [], {}
        self.random = np.random.default_rng(seed)

    def op(self, kind, *inputs, output=None, **attributes):
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def weight(self, *shape, scale=None):
        name = f"w{len(self.parameters)}"
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]))
        self.parameters[name] = (self.random.uniform(-1, 1, shape) * scale).astype(np.float32)
        return name

    def ones(self, size, value=1.0):
        name = f"w{len(self.parameters)}"
        self.parameters[name] = np.full(size, value, np.float32)
        return name

    def model(self, inputs, output, opset=17):
        values = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
        graph = helper.make_graph(self.nodes, "net", values, [helper.make_empty_tensor_value_info(output)],
                                  [numpy_helper.from_array(v, n) for n, v in self.parameters.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model, strict_mode=True)


def linear(g, x, inputs, outputs):
    return g.op("Gemm", x, g.weight(outputs, inputs), g.weight(outputs, scale=0.1), transB=1)


def mlp():
    g = Graph()
    linear(g, g.op("Relu", linear(g, "x", 20, 32)), 32, 7)
    model = g.model({"x": (TensorProto.FLOAT, ["n", 20])}, g.nodes[-1].output[0])
    return model, {"x": g.random.standard_normal((16 * STEPS - 3, 20)).astype(np.float32)}, (), 7, 16


def lenet():
    g = Graph()
    x, channels = "x", 1
    for filters in (6, 10):
        x = g.op("Conv", x, g.weight(filters, channels, 3, 3), g.weight(filters, scale=0.1), pads=[1] * 4)
        x = g.op("MaxPool", g.op("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
        channels = filters
    linear(g, g.op("Relu", linear(g, g.op("Flatten", x), 90, 24)), 24, 10)
    model = g.model({"x": (TensorProto.FLOAT, ["n", 1, 12, 12])}, g.nodes[-1].output[0])
    return model, {"x": g.random.standard_normal((6 * STEPS, 1, 12, 12)).astype(np.float32)}, (), 10, 6


def transformer():
    """Two layers that know what came before, over characters; dropout at their ends."""
    words, time, wide, heads, batch = 23, 9, 16, 2, 3
    g = Graph()
    constant = {"shape": np.array([0, time, heads, wide // heads]), "merged": np.array([0, time, wide]),
                "ratio": np.array(0.1, np.float32), "mask": np.triu(np.full((time, time), -1e9, np.float32), 1),
                "scale": np.array((wide // heads) ** -.5, np.float32), "half": np.array(.5, np.float32),
                "one": np.array(1, np.float32), "root": np.array(2 ** -.5, np.float32), "yes": np.array(True)}
    for name, value in constant.items():
        g.op("Constant", output=name, value=numpy_helper.from_array(value))
    x = g.op("Add", g.op("Gather", g.weight(words, wide, scale=0.5), "x"), g.weight(time, wide, scale=0.5))
    for _ in range(2):
        n = g.op("LayerNormalization", x, g.ones(wide), g.ones(wide, 0.01), axis=-1)
        q, k, v = (g.op("Transpose", g.op("Reshape", g.op("MatMul", n, g.weight(wide, wide)), "shape"), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = g.op("Add", g.op("Mul", g.op("MatMul", q, k), "scale"), "mask")
        mixed = g.op("Transpose", g.op("MatMul", g.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        mixed = g.op("MatMul", g.op("Reshape", mixed, "merged"), g.weight(wide, wide))
        x = g.op("Add", x, g.op("Dropout", mixed, "ratio", "yes"))
        n = g.op("LayerNormalization", x, g.ones(wide), g.ones(wide, 0.01), axis=-1)
        h = g.op("Add", g.op("MatMul", n, g.weight(wide, 4 * wide)), g.weight(4 * wide, scale=0.1))
        gelu = g.op("Mul", g.op("Mul", h, "half"), g.op("Add", g.op("Erf", g.op("Mul", h, "root")), "one"))
        x = g.op("Add", x, g.op("MatMul", gelu, g.weight(4 * wide, wide)))
    g.op("MatMul", g.op("LayerNormalization", x, g.ones(wide), g.ones(wide, 0.01), axis=-1), g.weight(wide, words))
    model = g.model({"x": (TensorProto.INT64, ["n", time])}, g.nodes[-1].output[0])
    return model, {"x": g.random.integers(0, words, (batch * STEPS, time))}, (time,), words, batch


def resnet():
    """ResNet-18 with a sixteenth of the channels, for images of 32x32."""
    g, batch = Graph(), 2

    def conv(x, inputs, outputs, size=3, stride=1, relu=True):
        x = g.op("Conv", x, g.weight(outputs, inputs, size, size), pads=[size // 2] * 4, strides=[stride] * 2)
        mean, variance = g.ones(outputs, 0.0), g.ones(outputs)
        output = f"t{len(g.nodes)}"
        g.nodes.append(helper.make_node("BatchNormalization", [x, g.ones(outputs), g.ones(outputs, 0.01), mean, variance],
                                        [output, f"{output}_mean", f"{output}_variance"], training_mode=1))
        return g.op("Relu", output) if relu else output

    x, channels = conv("x", 3, 4), 4
    for outputs in (4, 8, 16, 32):
        for block in range(2):
            stride = 2 if block == 0 and outputs > 4 else 1
            short = x if channels == outputs else conv(x, channels, outputs, 1, stride, relu=False)
            inner = conv(conv(x, channels, outputs, stride=stride), outputs, outputs, relu=False)
            x, channels = g.op("Relu", g.op("Add", inner, short)), outputs
    linear(g, g.op("Flatten", g.op("GlobalAveragePool", x)), channels, 10)
    model = g.model({"x": (TensorProto.FLOAT, [batch, 3, 32, 32])}, g.nodes[-1].output[0])
    return model, {"x": g.random.standard_normal((batch * STEPS, 3, 32, 32)).astype(np.float32)}, (), 10, batch


# Two images in a batch: their mean and variance make much of rounding, the more the larger the steps are.
SLOW, LOOSE = {"resnet": 0.003}, {"resnet": 1e-4}
# What each model is trained with; the rest with --full.
MODELS = {mlp: list(OPTIMIZERS), lenet: ["sgd:momentum=0.9"], transformer: ["adamw"],
          resnet: ["sgd:momentum=0.9"]}


class Bench:
    def __init__(self, options, work):
        self.work, self.real = work, options.real
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.runner = harness.tool(options.build, "onnx-aot-run")
        device = ["--device=cuda", f"--gpu-arch={options.real}"] if options.real else harness.emulate_device(options.build)
        self.forms = {"cpu": [], "plain": ["-O0"], "gpu": device}

    def call(self, *command):
        done = harness.run_limited(command, 300, 16 * harness.GIB)
        return "" if done.status == 0 else done.message() or done.ending()

    def compile(self, form, *flags):
        return self.call(self.compiler, self.work / "model.onnx", "--train", *flags, *self.forms[form], "-o",
                         self.work / f"{form}.so")

    def train(self, form, lr, batch, *flags, epochs=1, save=None):
        """Returns (problem, losses, state)."""
        save = save or self.work / f"{form}-end.safetensors"
        metrics = save.with_suffix(".csv")
        problem = self.call(self.runner, self.work / f"{form}.so", "--train", self.work / "data.npz", "--batch", batch,
                            "--epochs", epochs, "--lr", lr, "--metrics", metrics, "--save", save, "--seed", 5, *flags)
        if problem:
            return problem, None, None
        with open(metrics) as file:
            losses = np.array([float(row["loss"]) for row in csv.DictReader(file)])
        state = {n: v for n, v in load_file(save).items() if v.dtype == np.float32}
        return "", losses, state


def difference(a, b):
    """How far apart two arrays are, relative to the size of the second."""
    return np.linalg.norm(np.float64(a) - b) / max(np.linalg.norm(b), 1e-30)


def compare(got, want, other, tolerance=1e-5):
    """Says where losses or state are further from `want` than rounding explains."""
    (_, losses, state), (_, exact, expected), (_, plain, bystander) = got, want, other
    if len(losses) != len(exact) or not np.isfinite(exact).all():
        return f"{len(losses)} losses, {len(exact)} on the CPU, the last of them {exact[-1:]}"
    # What is apart once stays so.
    far = abs(losses - exact) > np.maximum(tolerance * abs(exact), 20 * np.maximum.accumulate(abs(plain - exact)))
    if far.any():
        return f"step {far.argmax()}: loss {losses[far.argmax()]}, {exact[far.argmax()]} on the CPU"
    if state.keys() != expected.keys():
        return f"other state: {state.keys() ^ expected.keys()}"
    for name, value in expected.items():
        if difference(state[name], value) > max(tolerance, 20 * difference(bystander[name], value)):
            return f"{name} is {difference(state[name], value):.1e} from the CPU's"
    return ""


def check_graphs(bench, tally, name, lr, batch):
    """Steps are recorded once and run as graphs, with the bits of steps that are not."""
    report = bench.work / "report.txt"
    seen = {}
    for graphs in ("1", "0"):
        os.environ["ONNX_AOT_CUDA_GRAPHS"], os.environ["ONNX_AOT_EMULATOR_REPORT"] = graphs, str(report)
        report.unlink(missing_ok=True)
        problem, losses, state = bench.train("gpu", lr, batch)
        del os.environ["ONNX_AOT_CUDA_GRAPHS"], os.environ["ONNX_AOT_EMULATOR_REPORT"]
        if not tally.check(f"{name}: steps with graphs={graphs}", problem):
            return
        counts = re.search(r"graphs: (\d+) made, (\d+) launched", report.read_text())
        made, launched = map(int, counts.groups()) if counts else (0, 0)
        # The first step is seen, the second recorded, the last is smaller.
        wanted = made < STEPS / 2 and launched >= STEPS - 3 if graphs == "1" else not made
        tally.check(f"{name}: graphs={graphs}", "" if wanted else f"{made} graphs made, {launched} launched")
        seen[graphs] = losses, state
    same = np.array_equal(seen["0"][0], seen["1"][0]) and all(
        np.array_equal(value, seen["1"][1][key]) for key, value in seen["0"][1].items())
    tally.check(f"{name}: same bits with and without graphs", "" if same else "they differ")


def check_training(bench, tally, name, optimizer, case):
    """Steps on both; then half of the way on one and half on the other."""
    model, data, shape, classes, batch = case
    onnx.save(model, bench.work / "model.onnx")
    samples = len(data["x"])
    np.savez(bench.work / "data.npz", **data, labels=np.random.default_rng(4).integers(0, classes, (samples, *shape)))
    axis = ":class_axis=-1" if shape else ""
    for form in bench.forms:
        if not tally.check(f"{name}: compile for {form}",
                           bench.compile(form, f"--loss=cross-entropy{axis}", f"--optimizer={optimizer}")):
            return
    lr = OPTIMIZERS[optimizer] * SLOW.get(name.split()[0], 1)
    ends = {}
    for form in bench.forms:
        ends[form] = bench.train(form, lr, batch)
        if not tally.check(f"{name}: {STEPS} steps on {form}", ends[form][0]):
            return
    tally.check(f"{name}: same numbers", compare(ends["gpu"], ends["cpu"], ends["plain"], LOOSE.get(name.split()[0], 1e-5)))
    if (name.split()[0], optimizer) == ("mlp", "adamw") and not bench.real:
        check_graphs(bench, tally, name, lr, batch)
    if (name.split()[0], optimizer) not in (("mlp", "adamw"), ("lenet", "sgd:momentum=0.9")):
        return
    twice = {form: bench.train(form, lr, batch, epochs=2) for form in ("cpu", "plain")}
    for first, second in (("cpu", "gpu"), ("gpu", "cpu")):
        save = bench.work / f"{first}-{second}.safetensors"
        begun = bench.train(first, lr, batch, save=save)
        done = bench.train(second, lr, batch, "--resume", epochs=2, save=save)
        problem = begun[0] or done[0]
        if not problem:
            problem = compare(done, twice["cpu"], twice["plain"])  # a resumed run goes on in the file of losses
        tally.check(f"{name}: begun on {first}, ended on {second}", problem)


class Tensor(ctypes.Structure):
    """OnnxAotTensor, over an array's memory."""
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("type", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("dims", ctypes.c_int64 * 16)]

    @classmethod
    def of(cls, array, kind):
        return cls(array.ctypes.data, array.nbytes, kind, array.ndim, (ctypes.c_int64 * 16)(*array.shape))

    def floats(self):
        count = int(np.prod(self.dims[:self.rank]))
        return np.ctypeslib.as_array(ctypes.cast(self.data, ctypes.POINTER(ctypes.c_float)), (count,))


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 1020)]


def follow_state(build, module, onStream=False):
    """What a caller sees who reads and writes state between steps of all programs, through the C interface."""
    library = ctypes.CDLL(str(pathlib.Path(build).resolve() / "lib" / "libonnx-aot-runtime.so"))

    def call(name, *arguments):
        error = Error()
        if getattr(library, name)(*arguments, ctypes.byref(error)):
            raise RuntimeError(error.message.decode())

    class Options(ctypes.Structure):
        _fields_ = [("struct_bytes", ctypes.c_uint32), ("threads", ctypes.c_int32), ("seed", ctypes.c_int64),
                    ("learning_rate", ctypes.c_float), ("mean_accumulation", ctypes.c_int32),
                    ("keep_gradients", ctypes.c_int32), ("stream", ctypes.c_void_p)]

    handle, trainer, seen, options = ctypes.c_void_p(), ctypes.c_void_p(), [], Options()
    call("onnxAotTrainingModuleLoad", str(module).encode(), None, ctypes.byref(handle))
    library.onnxAotTrainerOptionsInit(ctypes.byref(options))
    if onStream:
        driver = ctypes.CDLL(os.environ.get("ONNX_AOT_CUDA_DRIVER", "libcuda.so.1"))
        stream = ctypes.c_void_p()
        assert driver.cuInit(0) == 0 and driver.cuStreamCreate(ctypes.byref(stream), 1) == 0
        options.stream = stream
    call("onnxAotTrainerCreate", handle, ctypes.byref(options), ctypes.byref(trainer))
    call("onnxAotTrainerLoadCheckpoint", trainer, str(module.with_suffix(".safetensors")).encode(), 0)
    call("onnxAotTrainerSetLearningRate", trainer, ctypes.c_float(0.1))
    random = np.random.default_rng(0)
    x, labels = random.standard_normal((16, 20)).astype(np.float32), random.integers(0, 7, 16)
    inputs = (Tensor * 2)(Tensor.of(x, TensorProto.FLOAT), Tensor.of(labels, TensorProto.INT64))

    def step(fused):
        loss = Tensor()
        if fused:
            call("onnxAotTrainerStep", trainer, inputs, 2, ctypes.byref(loss), 1, None)
        else:
            call("onnxAotTrainerTrainStep", trainer, inputs, 2, ctypes.byref(loss), 1)
            call("onnxAotTrainerOptimizerStep", trainer, None)
            call("onnxAotTrainerLazyResetGrad", trainer)
        seen.append(loss.floats().copy())

    step(True)
    step(False)
    lent, gradient = Tensor(), Tensor()
    call("onnxAotTrainerGetParameter", trainer, 0, ctypes.byref(lent))
    weights = lent.floats()
    for change in (0.5, 0.9):  # the pointer stays good
        weights *= change
        step(True)
        step(False)
        seen.append(weights.copy())
    size = library.onnxAotTrainerParameterBytes
    size.restype = ctypes.c_uint64
    buffer = np.zeros(size(trainer, 0) // 4, np.float32)
    place = buffer.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(buffer.nbytes), 0
    call("onnxAotTrainerCopyParametersToBuffer", trainer, *place)
    seen.append(buffer.copy())
    buffer *= 0.9
    call("onnxAotTrainerCopyBufferToParameters", trainer, *place)
    step(False)
    call("onnxAotTrainerGetGradient", trainer, 1, ctypes.byref(gradient))
    return [*seen, weights.copy(), gradient.floats().copy()]


def check_state(bench, tally, build):
    """State in the caller's hands is the same on both."""
    onnx.save(mlp()[0], bench.work / "model.onnx")
    seen = {}
    for form in ("cpu", "gpu"):
        problem = bench.compile(form, "--loss=cross-entropy", "--optimizer=sgd:momentum=0.9")
        if not tally.check(f"state: compile for {form}", problem):
            return
        seen[form] = follow_state(build, bench.work / f"{form}.so")
    seen["stream"] = follow_state(build, bench.work / "gpu.so", onStream=True)
    for form, title in (("gpu", ""), ("stream", ", on the caller's stream")):
        far = max(difference(got, want) for got, want in zip(seen[form], seen["cpu"]))
        tally.check(f"state: read and written between steps{title}", "" if far < 1e-5 else f"{far:.1e} apart")
    try:
        follow_state(build, bench.work / "cpu.so", onStream=True)
        problem = "not refused"
    except RuntimeError as error:
        problem = "" if "compiled for no device" in str(error) else str(error)
    tally.check("state: a stream for a module of the CPU", problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", default="", metavar="RE", help="only cases whose name matches")
    parser.add_argument("--full", action="store_true", help="every model with every optimizer")
    parser.add_argument("--real", metavar="sm_80", help="run on a GPU of this architecture, not in the emulator")
    options = parser.parse_args()
    tally = harness.Tally()
    os.environ.pop("ONNX_AOT_EMULATOR_ORDER", None)
    for make, ordinary in MODELS.items():
        for optimizer in OPTIMIZERS:
            name = f"{make.__name__} {optimizer}"
            if (options.full or optimizer in ordinary) and re.search(options.filter, name):
                with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
                    check_training(Bench(options, pathlib.Path(work)), tally, name, optimizer, make())
    if re.search(options.filter, "state"):
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            check_state(Bench(options, pathlib.Path(work)), tally, options.build)
    tally.finish()


if __name__ == "__main__":
    main()
