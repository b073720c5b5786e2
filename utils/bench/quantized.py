#!/usr/bin/env python3
"""Measure models that onnxruntime's tools quantized beside the float models they were made of, both compiled by us.

usage: quantized.py [--models NAME,...] [--dir DIR ...] [--forms dynamic,static,int4] [--threads 1,2] [--keep DIR]
                    [--max-ratio R] [-- FLAG...]

Forms: dynamic (DynamicQuantizeLinear, integer products), static (QuantizeLinear and DequantizeLinear, calibrated on
random inputs; static-u8 has unsigned activations and a scale for each channel of the weights), int4 (MatMulNBits).
Rounds alternate between both models, each a fresh process pinned to as many cores as it has threads; the ratio is that
of the minima. The distance is the largest difference to what onnxruntime, not optimizing, computes from the same file,
as a fraction of the output's largest value; beside it stands that of onnxruntime when it optimizes.
FLAGS go to onnx-aot-compile. int4 needs the Python packages onnx-ir and sympy, which utils/requirements.txt lacks.
"""
import argparse
import json
import logging
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "docs" / "examples")]

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnxruntime import quantization  # noqa: E402

import compare  # noqa: E402
import harness  # noqa: E402
import page  # noqa: E402
import prepare  # noqa: E402

FORMS = ("dynamic", "static", "static-u8", "int4")
SAMPLES = 4  # inputs to calibrate on


class Samples(quantization.CalibrationDataReader):
    def __init__(self, path, shapes):
        self.left = [compare.draw_inputs(path, shapes) for _ in range(SAMPLES)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantize(form, path, shapes, out):
    """Writes the quantized form of the model."""
    if form == "int4":
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        from onnxruntime.quantization.onnx_model import ONNXModel
        model = ONNXModel(onnx.load(path))
        model.replace_gemm_with_matmul()
        tool = MatMulNBitsQuantizer(model.model, bits=4, block_size=32)
        tool.process()
        tool.model.save_model_to_file(str(out))
        return
    prepared = out.with_suffix(".prepared.onnx")
    quantization.quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    if form == "dynamic":
        quantization.quantize_dynamic(prepared, out)
        return
    unsigned = form == "static-u8"
    quantization.quantize_static(
        prepared, out, Samples(path, shapes), per_channel=unsigned,
        activation_type=quantization.QuantType.QUInt8 if unsigned else quantization.QuantType.QInt8)


def run_onnxruntime(path, given, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, {n: given[n] for n in given.files})))


def distance(outputs, wanted):
    return max(np.abs(outputs[n].astype(np.float64) - v).max() / max(np.abs(v).max(), 1e-30) for n, v in wanted.items())


class Bench:
    """Compiles and runs with the tools of one build folder."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.runner = harness.tool(options.build, "onnx-aot-run")
        self.cores = sorted(os.sched_getaffinity(0))

    def compile(self, path):
        module = path.with_suffix(".so")
        done = harness.run_limited([self.compiler, path, "-o", module, *self.options.flags], seconds=600, memory=0)
        if done.status != 0:
            raise RuntimeError(f"{done.ending()}: {done.message()}")
        return module

    def run(self, module, inputs, threads, *more):
        cores = ",".join(str(c) for c in self.cores[:threads])
        done = harness.run_limited(["taskset", "-c", cores, self.runner, module, "--inputs", inputs, "--threads", threads,
                                    *more], seconds=600, memory=0)
        if done.status != 0:
            raise RuntimeError(f"{done.ending()}: {done.message()}")
        return done.out

    def distances(self, path, module, inputs):
        """Distances of our outputs and of those of an optimizing onnxruntime."""
        with np.load(inputs) as given:
            wanted, optimized = (run_onnxruntime(path, given, level) for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"))
        out = self.work / "outputs.npz"
        self.run(module, inputs, 1, "--outputs", out)
        with np.load(out) as ours:
            return distance(ours, wanted), distance(optimized, wanted)

    def least_time(self, modules, inputs, threads):
        """The least time in ms of each module."""
        times = [[] for _ in modules]
        for _ in range(self.options.rounds):
            for module, into in zip(modules, times):
                out = self.run(module, inputs, threads, "--bench", self.options.seconds, "--json")
                into.append(json.loads(out.strip().splitlines()[-1])["min_ms"])
        return [min(t) for t in times]


def measure(bench, name, path, shapes, options):
    """Yields a table's row for each form and number of threads."""
    inputs = bench.work / f"{name}.npz"
    np.savez(inputs, **compare.draw_inputs(path, shapes))
    plain = bench.compile(path)
    for form in options.forms:
        quantized = bench.work / f"{name}.{form}.onnx"
        quantize(form, path, shapes, quantized)
        module = bench.compile(quantized)
        distances = [f"{d:.1e}" for d in bench.distances(quantized, module, inputs)]
        for threads in options.threads:
            float_ms, ms = bench.least_time([plain, module], inputs, threads)
            yield [name, form, str(threads), f"{float_ms:.3f}", f"{ms:.3f}", f"{ms / float_ms:.2f}", *distances]


def find(name, folders, work):
    """(path, shapes) of a model; lenet is written."""
    if name == "lenet":
        path = work / "lenet.onnx"
        prepare.lenet(path, 10)
        return path, {"x": (1, 1, 28, 28)}
    found = compare.find(name, folders)
    if not found:
        sys.exit(f"{name}: not found under {', '.join(map(str, folders))}")
    path = work / f"{name}.onnx"
    path.write_bytes(found[1].read_bytes())
    return path, found[2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--models", default="lenet,mobilenet_v2,minilm", help="names, by commas (default: %(default)s)")
    parser.add_argument("--dir", action="append", type=pathlib.Path, default=[], help="where models lie; repeatable")
    parser.add_argument("--forms", default=",".join(FORMS), type=lambda t: t.split(","))
    parser.add_argument("--threads", default="1,2", type=lambda t: [int(n) for n in t.split(",")])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each side in each round")
    parser.add_argument("--keep", type=pathlib.Path, help="folder that keeps the models and modules")
    parser.add_argument("--max-ratio", type=float, help="exit with status 1 when a ratio is above")
    options = harness.parse_arguments(parser)
    logging.disable(logging.WARNING)
    folders = options.dir or [pathlib.Path(os.environ.get("ONNX_AOT_DEPS", harness.ROOT / ".deps")) / "models"]
    lines = [["model", "form", "threads", "float ms", "quantized ms", "ratio", "distance", "theirs"]]
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as folder:
        work = options.keep or pathlib.Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        bench = Bench(options, work)
        for name in options.models.split(","):
            lines += measure(bench, name, *find(name, folders, work), options)
    page.print_table(lines)
    ratios = [float(line[5]) for line in lines[1:]]
    sys.exit(1 if not ratios or (options.max_ratio and max(ratios) > options.max_ratio) else 0)


if __name__ == "__main__":
    main()
