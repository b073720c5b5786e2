#!/usr/bin/env python3
"""Build random valid graphs, compile them at -O0 and -O3, and compare both with onnxruntime.

usage: fuzz-graphs.py [--count N] [--seed N] [--keep DIR] [--build DIR]

A graph has a few operators on small tensors: odd and empty sizes, rank 0 to 4, sometimes infinities and NaN in the
inputs, sometimes symbolic input dimensions. A graph that onnxruntime refuses is drawn again; one that we refuse
by name counts as refused. Where onnxruntime differs from docs/Numerics.md (it drops a NaN in maxima and minima), ONNX's
reference evaluator, told of the page's own decisions, has the last word: such a graph counts as decided. Graphs come from the seed and their number alone; --keep stores those that failed as
NUMBER.onnx and NUMBER.npz, for utils/compare-values.py.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import random
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import harness

FLOAT, INT64, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)
UNARY = ("Relu Neg Abs Exp Sigmoid Tanh Sqrt Floor Ceil Erf Softplus Sign Reciprocal LeakyRelu Elu Selu HardSigmoid "
         "HardSwish Softsign Round Sin Cos Atan Gelu Mish Identity Celu ThresholdedRelu").split()
BINARY = "Add Sub Mul Div Max Min Pow PRelu".split()
COMPARE = "Less Greater Equal LessOrEqual GreaterOrEqual".split()
REDUCE = ("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp "
          "ReduceLogSum").split()


class Graph:
    """A graph while it is built. Values are (name, dtype, shape); every operator adds to them or returns False."""

    def __init__(self, generator):
        self.random = generator
        self.nodes, self.initializers, self.inputs, self.values = [], [], [], []
        for _ in range(generator.randint(1, 3)):
            shape = [generator.choice((1, 2, 3, 4, 5, 7, 8, 17)) for _ in range(generator.randint(0, 4))]
            if generator.random() < 0.04 and shape:
                shape[generator.randrange(len(shape))] = 0
            value = (f"x{len(self.inputs)}", FLOAT, tuple(shape))
            self.inputs.append(value)
            self.values.append(value)

    def pick(self, dtype=FLOAT, rank=None):
        """Chooses a value, mostly a recent one; None when there is none such."""
        fitting = [v for v in self.values if v[1] == dtype and (rank is None or len(v[2]) in rank)]
        if not fitting:
            return None
        return fitting[max(self.random.randrange(len(fitting)), self.random.randrange(len(fitting)))]

    def constant(self, array):
        name = f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape):
        generator = np.random.default_rng(self.random.randrange(2**32))
        return self.constant((generator.standard_normal(shape) * 0.5).astype(np.float32))

    def add(self, op, operands, shape, dtype=FLOAT, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, operands, [name], name=f"n{len(self.nodes)}", **attributes))
        self.values.append((name, dtype, tuple(shape)))
        return True

    def grow(self):
        """Adds one operator if the draw fits."""
        makers = [self.unary, self.binary, self.compare, self.reduce, self.matmul, self.gemm, self.conv, self.pool,
                  self.transpose, self.reshape, self.concat, self.slice, self.softmax, self.normalize, self.gather,
                  self.pad, self.where, self.unsqueeze, self.expand, self.cast, self.clip, self.cumsum]
        return self.random.choice(makers)()

    def axes_of(self, shape):
        count = self.random.randint(1, max(1, len(shape)))
        axes = sorted(self.random.sample(range(len(shape)), min(count, len(shape))))
        return [a - len(shape) if self.random.random() < 0.3 else a for a in axes]

    def unary(self):
        name, _, shape = self.pick()
        return self.add(self.random.choice(UNARY), [name], shape)

    def partner(self, shape):
        """A value or constant that broadcasts against a shape; returns (name, resulting shape)."""
        other = self.pick()
        try:
            return other[0], np.broadcast_shapes(shape, other[2])
        except ValueError:
            own = [1 if self.random.random() < 0.4 else s for s in shape[self.random.randint(0, len(shape)):]]
            return self.weight(*own), shape

    def binary(self):
        name, _, shape = self.pick()
        op = self.random.choice(BINARY)
        other, result = self.partner(shape)
        if op == "PRelu":
            other, result = self.weight(*shape[-1:]), shape
        pair = [other, name] if self.random.random() < 0.5 and op != "PRelu" else [name, other]
        return self.add(op, pair, result)

    def compare(self):
        name, _, shape = self.pick()
        other, result = self.partner(shape)
        return self.add(self.random.choice(COMPARE), [name, other], result, BOOL)

    def where(self):
        condition, value = self.pick(BOOL), self.pick()
        if not condition:
            return False
        other, shape = self.partner(value[2])
        try:
            shape = np.broadcast_shapes(condition[2], shape)
        except ValueError:
            return False
        return self.add("Where", [condition[0], value[0], other], shape)

    def cast(self):
        value = self.pick(BOOL)
        return bool(value) and self.add("Cast", [value[0]], value[2], to=TensorProto.FLOAT)

    def clip(self):
        name, _, shape = self.pick()
        return self.add("Clip", [name, self.constant(np.float32(-0.5)), self.constant(np.float32(0.75))], shape)

    def reduce(self):
        name, _, shape = self.pick(rank=range(1, 5)) or (None, None, None)
        if name is None:
            return False
        axes, keep = self.axes_of(shape), self.random.randint(0, 1)
        positive = {a % len(shape) for a in axes}
        result = [1 if i in positive else s for i, s in enumerate(shape) if keep or i not in positive]
        return self.add(self.random.choice(REDUCE), [name, self.constant(np.array(axes, np.int64))], result,
                        keepdims=keep)

    def cumsum(self):
        value = self.pick(rank=range(1, 5))
        return bool(value) and self.add(
            "CumSum", [value[0], self.constant(np.int64(self.random.randrange(len(value[2]))))], value[2],
            exclusive=self.random.randint(0, 1), reverse=self.random.randint(0, 1))

    def matmul(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        columns = self.random.choice((1, 3, 8, 16, 19))
        return self.add("MatMul", [value[0], self.weight(value[2][-1], columns)], (*value[2][:-1], columns))

    def gemm(self):
        value = self.pick(rank=[2])
        if not value:
            return False
        rows, inner, columns = *value[2], self.random.choice((1, 4, 9, 16))
        transposed = self.random.randint(0, 1)
        weight = self.weight(*((columns, inner) if transposed else (inner, columns)))
        bias = self.weight(*self.random.choice(((columns,), (1,), (rows, columns), (rows, 1))))
        return self.add("Gemm", [value[0], weight, bias], (rows, columns), transB=transposed,
                        alpha=self.random.choice((1.0, 0.5)), beta=self.random.choice((1.0, 2.0)))

    def conv(self):
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        (_, channels, *sizes), spatial = value[2], len(value[2]) - 2
        group = channels if self.random.random() < 0.3 else 1
        kernel = [self.random.choice((1, 2, 3)) for _ in range(spatial)]
        strides = [self.random.randint(1, 2) for _ in range(spatial)]
        dilations = [self.random.randint(1, 2) for _ in range(spatial)]
        pads = [self.random.randint(0, 1) for _ in range(2 * spatial)]
        out = [(s + pads[i] + pads[i + spatial] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1
               for i, s in enumerate(sizes)]
        if min(out) < 1:
            return False
        filters = group * self.random.randint(1, 3)
        weight = self.weight(filters, channels // group, *kernel)
        return self.add("Conv", [value[0], weight, self.weight(filters)], (value[2][0], filters, *out), group=group,
                        kernel_shape=kernel, strides=strides, dilations=dilations, pads=pads)

    def pool(self):
        value = self.pick(rank=[3, 4])
        if not value or 0 in value[2]:
            return False
        spatial = len(value[2]) - 2
        kernel = [min(self.random.randint(1, 3), s) for s in value[2][2:]]
        strides = [self.random.randint(1, 2) for _ in range(spatial)]
        out = [(s - k) // t + 1 for s, k, t in zip(value[2][2:], kernel, strides)]
        return self.add(self.random.choice(("MaxPool", "AveragePool")), [value[0]], (*value[2][:2], *out),
                        kernel_shape=kernel, strides=strides)

    def transpose(self):
        value = self.pick(rank=range(1, 6))
        if not value:
            return False
        name, _, shape = value
        order = list(range(len(shape)))
        self.random.shuffle(order)
        return self.add("Transpose", [name], [shape[i] for i in order], perm=order)

    def reshape(self):
        name, _, shape = self.pick()
        count = int(np.prod(shape))
        if not count:
            return False
        divisor = self.random.choice([d for d in range(1, count + 1) if count % d == 0])
        target = self.random.choice(([-1], [divisor, -1], [divisor, count // divisor], [1, -1, divisor]))
        result = [count // abs(int(np.prod(target))) if t == -1 else t for t in target]
        return self.add("Reshape", [name, self.constant(np.array(target, np.int64))], result)

    def unsqueeze(self):
        name, _, shape = self.pick(rank=range(0, 4)) or (None, None, None)
        if name is None:
            return False
        axis = self.random.randint(0, len(shape))
        return self.add("Unsqueeze", [name, self.constant(np.array([axis], np.int64))],
                        (*shape[:axis], 1, *shape[axis:]))

    def expand(self):
        name, _, shape = self.pick(rank=range(0, 4)) or (None, None, None)
        if name is None:
            return False
        target = (self.random.randint(1, 3), *[s if s != 1 else self.random.randint(1, 3) for s in shape])
        return self.add("Expand", [name, self.constant(np.array(target, np.int64))], target)

    def concat(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        axis = self.random.randrange(len(value[2]))
        fits = [v for v in self.values if v[1] == FLOAT and len(v[2]) == len(value[2])
                and all(a == b for i, (a, b) in enumerate(zip(v[2], value[2])) if i != axis)]
        parts = [self.random.choice(fits) for _ in range(self.random.randint(1, 3))]
        size = sum(p[2][axis] for p in parts)
        return self.add("Concat", [p[0] for p in parts], (*value[2][:axis], size, *value[2][axis + 1:]), axis=axis)

    def slice(self):
        value = self.pick(rank=range(1, 5))
        if not value:
            return False
        axis = self.random.randrange(len(value[2]))
        size = value[2][axis]
        start, end = self.random.randint(-size - 1, size), self.random.choice((size, 2**62, -1, size // 2))
        step = self.random.choice((1, 1, 2, -1, -2))
        if step < 0:
            start, end = end, start
        result = len(range(size)[slice(start, end, step)])
        parameters = [self.constant(np.array([n], np.int64)) for n in (start, end, axis, step)]
        return self.add("Slice", [value[0], *parameters], (*value[2][:axis], result, *value[2][axis + 1:]))

    def pad(self):
        value = self.pick(rank=range(1, 5))
        if not value or 0 in value[2]:
            return False
        mode = self.random.choice(("constant", "edge", "reflect"))
        pads = [self.random.randint(0, 2 if mode != "reflect" else min(2, s - 1)) for s in value[2] * 2]
        rank = len(value[2])
        result = [s + pads[i] + pads[i + rank] for i, s in enumerate(value[2])]
        return self.add("Pad", [value[0], self.constant(np.array(pads, np.int64))], result, mode=mode)

    def gather(self):
        value = self.pick(rank=range(1, 4))
        if not value or 0 in value[2]:
            return False
        axis = self.random.randrange(len(value[2]))
        size = value[2][axis]
        shape = self.random.choice(((), (3,), (2, 2)))
        indices = np.array([self.random.randint(-size, size - 1) for _ in range(int(np.prod(shape)))], np.int64)
        return self.add("Gather", [value[0], self.constant(indices.reshape(shape))],
                        (*value[2][:axis], *shape, *value[2][axis + 1:]), axis=axis)

    def softmax(self):
        value = self.pick(rank=range(1, 5))
        return bool(value) and self.add(self.random.choice(("Softmax", "LogSoftmax")), [value[0]], value[2],
                                        axis=self.random.randint(-len(value[2]), len(value[2]) - 1))

    def normalize(self):
        value = self.pick(rank=range(2, 5))
        if not value or 0 in value[2]:
            return False
        name, _, shape = value
        if self.random.random() < 0.5:
            return self.add("LayerNormalization", [name, self.weight(shape[-1]), self.weight(shape[-1])], shape)
        channels = shape[1]
        variance = self.constant(np.full(channels, 0.5 + self.random.random(), np.float32))
        return self.add("BatchNormalization",
                        [name, self.weight(channels), self.weight(channels), self.weight(channels), variance], shape)

    def model(self, dynamic):
        """Returns the model; its outputs are the values that nobody uses."""
        used = {i for n in self.nodes for i in n.input}
        kinds = {FLOAT: TensorProto.FLOAT, INT64: TensorProto.INT64, BOOL: TensorProto.BOOL}
        inputs = [helper.make_tensor_value_info(
            name, kinds[dtype], [f"{name}_{i}" if dynamic and self.random.random() < 0.7 else s
                                 for i, s in enumerate(shape)]) for name, dtype, shape in self.inputs]
        outputs = [helper.make_tensor_value_info(n, kinds[t], None) for n, t, _ in self.values if n not in used]
        outputs = [o for o in outputs if o.name.startswith("v")]
        graph = helper.make_graph(self.nodes, "fuzz", inputs, outputs, self.initializers)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def draw_inputs(graph, generator):
    numbers, values = np.random.default_rng(generator.randrange(2**32)), {}
    strange = generator.random() < 0.1
    for name, _, shape in graph.inputs:
        array = numbers.standard_normal(shape).astype(np.float32)
        if strange and array.size:
            array.reshape(-1)[numbers.integers(0, array.size)] = generator.choice((np.inf, -np.inf, np.nan, -0.0, 1e38))
        values[name] = np.asarray(array, np.float32)
    return values


def draw(seed, number):
    """Draws a graph that onnxruntime takes; returns (model, inputs, expected outputs)."""
    for attempt in range(50):
        generator = random.Random(f"{seed}/{number}/{attempt}")
        graph = Graph(generator)
        wanted = generator.randint(1, 8)
        for _ in range(4 * wanted):
            graph.grow()
            if len(graph.nodes) >= wanted:
                break
        if not graph.nodes:
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


def decide(model, inputs):
    """Returns what the reference evaluator makes of the graph, or None."""
    try:
        with np.errstate(all="ignore"):
            outputs = ReferenceEvaluator(model, new_ops=[MaxPool, AveragePool]).run(None, inputs)
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
    parser.add_argument("--keep", type=pathlib.Path)
    harness.add_build_argument(parser)
    options = parser.parse_args()
    compiler = harness.tool(options.build, "onnx-aot-compile")
    runner = harness.tool(options.build, "onnx-aot-run")
    tally, endings = harness.Tally(), collections.Counter()

    def attempt(level, work, model, given, wanted):
        """Compiles and runs at one level; returns (right, decided, refused or wrong; why)."""
        module, results = work / f"O{level}.so", work / f"O{level}.npz"
        done = harness.run_limited([compiler, work / "model.onnx", "-o", module, f"-O{level}"])
        if done.status == 1 and "error:" in done.err and not module.exists():
            return "refused", done.message()
        if done.status != 0:
            return "wrong", f"compiling: {done.ending()}: {done.err.strip()[-300:]}"
        done = harness.run_limited([runner, module, "--inputs", work / "in.npz", "--outputs", results])
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

    def check(number):
        drawn = draw(options.seed, number)
        if not drawn:
            endings["not drawn"] += 1
            return
        model, given, wanted = drawn
        ops = " ".join(n.op_type for n in model.graph.node)
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            work = pathlib.Path(work)
            onnx.save(model, work / "model.onnx")
            np.savez(work / "in.npz", **given)
            for level in options.levels.split(","):
                ending, text = attempt(level, work, model, given, wanted)
                if ending in ("wrong", "refused"):
                    break
        endings[ending] += 1
        wrong = ending == "wrong"
        if wrong and options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            onnx.save(model, options.keep / f"{number}.onnx")
            np.savez(options.keep / f"{number}.npz", **given)
        tally.check(f"graph {number}: {ops}", f"-O{level}: {text}" if wrong else "", text if ending == "refused" else "")

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(check, range(options.first, options.first + options.count)))
    print(", ".join(f"{n} {kind}" for kind, n in endings.items()))
    tally.finish()


if __name__ == "__main__":
    main()
