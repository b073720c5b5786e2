#!/usr/bin/env python3
"""Build random valid graphs, compile them at -O0 and -O3, and compare both with onnxruntime.

usage: fuzz-graphs.py [--train] [--count N] [--seed N] [--keep DIR] [--device emu] [--build DIR] [-- FLAG...]

A graph has a few operators on small tensors: odd and empty sizes, rank 0 to 4, sometimes infinities and NaN in the
inputs, sometimes symbolic input dimensions. A graph that onnxruntime refuses is drawn again; one that we refuse
by name counts as refused. Where onnxruntime differs from docs/Numerics.md (it drops a NaN in maxima and minima), ONNX's
reference evaluator, told of the page's own decisions, has the last word: such a graph counts as decided. Graphs come from the seed and their number alone; --keep stores those that failed as
NUMBER.onnx and NUMBER.npz, for utils/compare-values.py.

With --train, inputs and weights become parameters and a weighted sum of the outputs the loss; the gradients of the whole
are compared with differences in float64 (`--verify-gradients`). Graphs whose loss is not finite are left out.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import shutil
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import harness
from random_graph import Graph


# Their gradient is not their derivative, on purpose.
STRAIGHT_THROUGH = ("Round", "Sign", "QuantizeLinear")


def draw_inputs(graph, generator):
    numbers, values = np.random.default_rng(generator.randrange(2**32)), {}
    strange = generator.random() < 0.1
    for name, _, shape in graph.inputs:
        array = numbers.standard_normal(shape).astype(np.float32)
        if strange and array.size:
            array.reshape(-1)[numbers.integers(0, array.size)] = generator.choice((np.inf, -np.inf, np.nan, -0.0, 1e38))
        values[name] = np.asarray(array, np.float32)
    return values


def draw(seed, number, without=()):
    """Draws a graph without some operators that onnxruntime takes; returns (model, inputs, expected outputs)."""
    for attempt in range(50):
        generator = random.Random(f"{seed}/{number}/{attempt}")
        graph = Graph(generator)
        wanted = generator.randint(1, 8)
        for _ in range(4 * wanted):
            graph.grow()
            if len(graph.nodes) >= wanted:
                break
        if not graph.nodes or any(n.op_type in without for n in graph.nodes):
            continue
        model = graph.model(dynamic=generator.random() < 0.4)
        inputs = draw_inputs(graph, generator)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        try:
            session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
            outputs = session.run(None, inputs)
        except Exception:  # not a valid graph after all
            continue
        return model, inputs, dict(zip([o.name for o in model.graph.output], outputs))
    return None


def with_loss(model, inputs, outputs):
    """Makes inputs parameters and a weighted sum of the outputs the only output, or returns None: it is not finite."""
    floats = {n: v for n, v in outputs.items() if v.dtype == np.float32 and v.size}
    if not floats or not all(np.abs(v).max(initial=0) < 1e4 for v in (*inputs.values(), *floats.values())):
        return None
    nodes, initializers = list(model.graph.node), list(model.graph.initializer)
    initializers += [numpy_helper.from_array(v, n) for n, v in inputs.items()]
    numbers, terms = np.random.default_rng(len(nodes)), ["one"]
    for name, value in floats.items():
        initializers.append(numpy_helper.from_array(numbers.standard_normal(value.shape).astype(np.float32), f"{name}_weight"))
        nodes += [helper.make_node("Mul", [name, f"{name}_weight"], [f"{name}_weighted"]),
                  helper.make_node("ReduceSum", [f"{name}_weighted"], [f"{name}_sum"], keepdims=0)]
        terms.append(f"{name}_sum")
    nodes += [helper.make_node("Sum", terms, ["terms"]), helper.make_node("ReduceSum", ["terms"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "fuzz", [helper.make_tensor_value_info("one", TensorProto.FLOAT, [1])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], initializers)
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)


def pool(x, kernel_shape, strides, reduce):
    """What numpy makes of each window: NaN when one is in it. No padding, as drawn here."""
    axes = tuple(range(2, x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(x, kernel_shape, axes)
    steps = tuple(slice(None, None, s) for s in strides or [1] * len(axes))
    return (reduce(windows[(slice(None), slice(None), *steps)], tuple(range(x.ndim, windows.ndim))),)


class MaxPool(OpRun):
    """The maximum over windows as docs/Semantics.md has it."""

    def _run(self, x, kernel_shape=None, strides=None, **_):
        return pool(x, kernel_shape, strides, np.max)


class AveragePool(OpRun):
    """The mean over windows; the evaluator's own leaves out a NaN."""

    def _run(self, x, kernel_shape=None, strides=None, **_):
        return pool(x, kernel_shape, strides, np.mean)


class QuantizeLinear(OpRun):
    """Rounding to a narrow type by one scale; NaN gives 0, which the evaluator leaves to the machine."""

    def _run(self, x, scale, zero, **_):
        limits = np.iinfo(zero.dtype)
        codes = np.clip(np.rint(x / scale) + zero, limits.min, limits.max)
        return (np.where(np.isnan(x), 0, codes).astype(zero.dtype),)


def decide(model, inputs):
    """Returns what the reference evaluator makes of the graph, or None."""
    try:
        with np.errstate(all="ignore"):
            outputs = ReferenceEvaluator(model, new_ops=[MaxPool, AveragePool, QuantizeLinear]).run(None, inputs)
    except Exception:  # the evaluator does not take all that is valid
        return None
    return dict(zip([o.name for o in model.graph.output], map(np.asarray, outputs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="number of the first graph")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--levels", default="0,3", help="optimisation levels (default: %(default)s)")
    parser.add_argument("--train", action="store_true", help="check gradients instead of values")
    parser.add_argument("--seconds", type=float, default=60, help="limit of each compilation and run (default: %(default)s)")
    parser.add_argument("--keep", type=pathlib.Path)
    harness.add_device_argument(parser)
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    compiler = harness.tool(options.build, "onnx-aot-compile")
    runner = harness.tool(options.build, "onnx-aot-run")
    tally, endings = harness.Tally(), collections.Counter()

    def run(command):
        return harness.run_limited(command, seconds=options.seconds)

    def attempt(level, work, model, given, wanted):
        """Compiles and runs at one level; returns (right, decided, refused or wrong; why)."""
        module, results = work / f"O{level}.so", work / f"O{level}.npz"
        done = run([compiler, work / "model.onnx", "-o", module, f"-O{level}",
                    *options.flags])
        if done.status == 1 and "error:" in done.err and not module.exists():
            return "refused", done.message()
        if done.status != 0:
            return "wrong", f"compiling: {done.ending()}: {done.err.strip()[-300:]}"
        done = run([runner, module, "--inputs", work / "in.npz", "--outputs", results])
        if done.status != 0:
            return "wrong", f"running: {done.ending()}: {done.err.strip()[-300:]}"
        with np.load(results) as file:
            got = {n: file[n] for n in file.files}
        # Chains of exp and division magnify last bits: 1e-3 of the value, 1e-4 of the output's scale.
        limits = {"rtol": 1e-3, "atol": 1e-4, "scaled": True}
        problem = harness.compare_outputs(got, wanted, **limits).problem
        if not problem:
            return "right", ""
        ours = decide(model, given)
        if ours is not None and not harness.compare_outputs(got, ours, **limits).problem:
            return "decided", ""
        return "wrong", problem

    def check_values(work, drawn):
        """Returns (ending, why) of a graph at all levels."""
        model, given, wanted = drawn
        for level in options.levels.split(","):
            ending, text = attempt(level, work, model, given, wanted)
            if ending in ("wrong", "refused"):
                return ending, f"-O{level}: {text}"
        return ending, ""

    def check_gradients(work, drawn):
        """Returns (ending, why) of a graph's gradients."""
        model, given, wanted = drawn
        model = with_loss(model, given, wanted)
        if model is None:
            return "without a loss", ""
        onnx.save(model, work / "model.onnx")
        np.savez(work / "in.npz", one=np.ones(1, np.float32))
        module = work / "model.so"
        done = run([compiler, work / "model.onnx", "--train", "--train-all", "--loss=none", "--verify-gradients", "-o", module,
                    *options.flags])
        if done.status == 1 and "error:" in done.err and not module.exists():
            return "refused", done.message()
        if done.status != 0:
            return "wrong", f"compiling: {done.ending()}: {done.err.strip()[-300:]}"
        done = run([runner, module, "--train", work / "in.npz", "--verify-gradients"])
        if done.status != 0:
            return "wrong", f"{done.ending()}: {' '.join(done.out.split())[-300:]} {done.err.strip()[-300:]}"
        return "unsure" if "unsure" in done.out else "right", ""

    def check(number):
        drawn = draw(options.seed, number, STRAIGHT_THROUGH if options.train else ())
        if not drawn:
            endings["not drawn"] += 1
            return
        ops = " ".join(n.op_type for n in drawn[0].graph.node)
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            work = pathlib.Path(work)
            onnx.save(drawn[0], work / "model.onnx")
            np.savez(work / "in.npz", **drawn[1])
            ending, text = (check_gradients if options.train else check_values)(work, drawn)
            if ending == "wrong" and options.keep:
                options.keep.mkdir(parents=True, exist_ok=True)
                for name in ("model.onnx", "in.npz"):
                    shutil.copy(work / name, options.keep / f"{number}{pathlib.Path(name).suffix}")
        endings[ending] += 1
        tally.check(f"graph {number}: {ops}", text if ending == "wrong" else "", text if ending == "refused" else "")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(check, range(options.first, options.first + options.count)))
    print(", ".join(f"{n} {kind}" for kind, n in endings.items()))
    tally.finish()


if __name__ == "__main__":
    main()
