#!/usr/bin/env python3
"""Compare the gradient of every operator with differences of its reference implementation, in float64.

usage: gradients.py [--build DIR] [--filter RE] [-- FLAG...]

The rows are in gradients/<category>.py. Many cases are compiled as one model, once with static and once with symbolic
dimensions: outputs are weighted by random numbers and summed, and `onnx-autodiff` appends the gradients. They must equal
five-point central differences at 1e-6 of the gradient's largest value; a selection is differentiated twice. Every
operator that has a rule needs at least five cases.
"""
import argparse
import collections
import importlib
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import compose, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "utils"), str(HERE / "gradients")]
import cases as table  # noqa: E402
import harness  # noqa: E402

BATCH, DYNAMIC_BATCH = 40, 6  # cases in a model; sizes that only the run knows make much code
DYNAMIC_CASES = 4  # of an operator
MINIMUM = 5  # cases for each rule


class Prepared:
    """A case with what the reference says: outputs, weights, expected gradients."""

    def __init__(self, case):
        self.case = case
        self.names = [None if x is None else f"x{i}" for i, x in enumerate(case.inputs)]
        self.outputs = [f"y{i}" for i in range(case.outputs)]
        self.nodes = case.nodes or [helper.make_node(case.op, [n or "" for n in self.names], self.outputs,
                                                     name=case.op, domain=case.domain, **case.attributes)]
        self.session = None if case.forward else ReferenceEvaluator(self.bare_model())
        results = self.evaluate(case.inputs)
        self.used = list(case.used) if case.used is not None else \
            [i for i, y in enumerate(results) if y.dtype == np.float64]
        self.results = results
        self.weights = {i: table.rng("weight", i, results[i].shape).uniform(0.5, 1.5, results[i].shape) for i in self.used}
        self.gradients = case.expect(case.inputs, self.weights) if case.expect else \
            [self.differences(i, self.value, case.step) for i in case.wanted()]

    def evaluate(self, inputs):
        if self.case.forward:
            results = self.case.forward(*inputs)
            results = results if isinstance(results, (tuple, list)) else [results]
        else:
            results = self.session.run(None, {n: x for n, x in zip(self.names, inputs) if n})
        return [np.asarray(y) for y in results]

    def value(self, inputs):
        """The number that is differentiated."""
        results = self.evaluate(inputs)
        return float(sum(np.sum(results[i] * w) for i, w in self.weights.items()))

    def differences(self, place, function, h):
        """d function / d input by five-point central differences."""
        x = self.case.inputs[place]
        gradient = np.zeros_like(x)
        for index in np.ndindex(x.shape):
            total = 0.0
            for offset, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
                moved = list(self.case.inputs)
                moved[place] = x.copy()
                moved[place][index] += offset * h
                total += weight * function(moved)
            gradient[index] = total / (12 * h)
        return gradient

    def second_gradients(self):
        """Gradients of the sum of all first gradients: differences along (1, 1, ...) differentiated again."""
        h = 5e-3

        def along(inputs):
            total = 0.0
            for offset, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
                moved = list(inputs)
                for place in self.case.wanted():
                    moved[place] = inputs[place] + offset * h
                total += weight * self.value(moved)
            return total / (12 * h)

        return [self.differences(i, along, h) for i in self.case.wanted()]

    def bare_model(self):
        inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                  for n, x in zip(self.names, self.case.inputs) if n]
        outputs = [helper.make_empty_tensor_value_info(n) for n in self.outputs]
        return model_of(helper.make_graph(self.nodes, "case", inputs, outputs), self.case.opset)

    def is_input(self, place):
        return self.case.inputs[place].dtype == np.float64 or place in self.case.runtime

    def graph(self, number, dynamic):
        """The weighted sum of the outputs as a graph whose names begin with c<number>_."""
        inputs, initializers, nodes, sums = [], [], list(self.nodes), []

        def add_input(name, array, fixed=False):
            shape = [f"{name}_d{i}" for i in range(array.ndim)] if dynamic and not fixed else array.shape
            inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))

        for place, (name, array) in enumerate(zip(self.names, self.case.inputs)):
            if array is None:
                continue
            if self.is_input(place):
                add_input(name, array, place in self.case.fixed)
            else:
                initializers.append(numpy_helper.from_array(array, name))
        for i, weight in self.weights.items():
            add_input(f"w{i}", weight)
            nodes.append(helper.make_node("Mul", [f"y{i}", f"w{i}"], [f"p{i}"], name="weigh"))
            nodes.append(helper.make_node("ReduceSum", [f"p{i}"], [f"s{i}"], name="total", keepdims=0))
            sums.append(f"s{i}")
        nodes.append(helper.make_node("Sum", sums, ["loss"], name="loss"))
        graph = helper.make_graph(nodes, "case", inputs,
                                  [helper.make_tensor_value_info("loss", onnx.TensorProto.DOUBLE, [])], initializers)
        prefixed = compose.add_prefix_graph(graph, f"c{number}_")
        for value in prefixed.input:
            for dim in value.type.tensor_type.shape.dim:
                if dim.dim_param:
                    dim.dim_param = f"c{number}_{dim.dim_param.removeprefix(f'c{number}_')}"
        return prefixed

    def feeds(self, number):
        feeds = {f"c{number}_{n}": x for i, (n, x) in enumerate(zip(self.names, self.case.inputs)) if n and self.is_input(i)}
        return feeds | {f"c{number}_w{i}": w for i, w in self.weights.items()}


def model_of(graph, opset):
    domains = [("", opset), ("com.microsoft", 1), ("ai.onnx.ml", 5), ("ai.onnx.preview.training", 1)]
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*d) for d in domains], ir_version=11)


def run_batch(batch, dynamic, second, options):
    """Returns the outputs of a model of these cases by name, or says what went wrong."""
    graphs = [p.graph(i, dynamic) for i, p in enumerate(batch)]
    whole = helper.make_graph([n for g in graphs for n in g.node], "gradients", [v for g in graphs for v in g.input],
                              [v for g in graphs for v in g.output], [t for g in graphs for t in g.initializer])
    wrt = [f"c{i}_x{place}" for i, p in enumerate(batch) for place in p.case.wanted()]
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(model_of(whole, batch[0].case.opset), work / "model.onnx")
        feeds = {n: harness.savable(x) for i, p in enumerate(batch) for n, x in p.feeds(i).items()}
        np.savez(work / "in.npz", **feeds)
        passes = ["--onnx-fold-constants=small-integers-only=true",
                  f"--onnx-autodiff=inputs={','.join(wrt)} outputs=*_loss"]
        if second:
            passes += ["--onnx-fold-constants=small-integers-only=true",
                       f"--onnx-autodiff=inputs={','.join(wrt)} outputs=*_grad"]
        compiler, opt, runner = (harness.tool(options.build, f"onnx-aot-{t}") for t in ("compile", "opt", "run"))
        for command in ([compiler, work / "model.onnx", "--emit=import", "-o", work / "model.mlir"],
                        [opt, work / "model.mlir", *passes, "-o", work / "grad.mlir"],
                        [compiler, work / "grad.mlir", "-o", work / "grad.so", "-O0", *options.flags],
                        [runner, work / "grad.so", "--inputs", work / "in.npz", "--outputs", work / "out.npz"]):
            done = harness.run_limited(command, 600)
            if done.status != 0:
                return f"{pathlib.Path(command[0]).name}: {done.ending()}: {done.message()}"
        with np.load(work / "out.npz") as file:
            return {name: file[name] for name in file.files}


def compare(got, want, rtol):
    if got.shape != want.shape:
        return f"shape {list(got.shape)}, expected {list(want.shape)}"
    if not np.isfinite(want).all():
        return "the expected gradient is not finite: a bad case"
    scale = np.abs(want).max() if want.size else 0.0
    error = np.abs(got - want).max() if want.size else 0.0
    # The differences themselves have an error of about 1e-10.
    return "" if error <= rtol * scale + 1e-9 else f"error {error:.3g} of {scale:.3g}: got {got.ravel()[:4]}, expected {want.ravel()[:4]}"


def check(batch, dynamic, second, options, tally):
    """Runs the cases together, or one by one when that fails, so that each has its own verdict."""
    outputs = run_batch(batch, dynamic, second, options)
    if isinstance(outputs, str) and len(batch) > 1:
        half = len(batch) // 2
        check(batch[:half], dynamic, second, options, tally)
        check(batch[half:], dynamic, second, options, tally)
        return
    for number, prepared in enumerate(batch):
        kind = ("dynamic" if dynamic else "static") + (", twice" if second else "")
        name = f"{prepared.case.name()} {kind}"
        if isinstance(outputs, str):
            tally.check(name, outputs)
            continue
        suffix, rtol = ("_grad_grad", 1e-4) if second else ("_grad", prepared.case.rtol)
        expected = prepared.second_gradients() if second else prepared.gradients
        problems = [f"input {place}: {p}" for place, want in zip(prepared.case.wanted(), expected)
                    if (p := compare(outputs[f"c{number}_x{place}{suffix}"], want, rtol))]
        tally.check(name, "; ".join(problems))


def rules(options):
    """The operators that have a rule, as the compiler lists them."""
    with tempfile.NamedTemporaryFile(suffix=".mlir") as empty:
        done = harness.run_limited([harness.tool(options.build, "onnx-aot-opt"), empty.name, "--onnx-list-gradients"])
    return [line.split()[0].removeprefix("onnx.") for line in done.out.splitlines() if line.startswith("onnx.")]


def chosen_dynamic(prepared):
    """The first few cases of each operator."""
    counts = collections.Counter()
    chosen = []
    for p in prepared:
        if p.case.dynamic and counts[p.case.op] < DYNAMIC_CASES:
            counts[p.case.op] += 1
            chosen.append(p)
    return chosen


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--filter", metavar="RE", help="only cases whose operator matches")
    parser.add_argument("--category", help="only the rows of one file of gradients/")
    options = harness.parse_arguments(parser)
    for path in sorted((HERE / "gradients").glob("*.py")):
        if path.stem != "cases" and options.category in (None, path.stem):
            importlib.import_module(path.stem)
    chosen = [c for c in table.CASES if not options.filter or re.fullmatch(options.filter, c.op)]
    tally = harness.Tally()
    prepared, seen, firsts = [], set(), []
    for case in chosen:
        try:
            prepared.append(Prepared(case))
        except Exception as error:  # the reference cannot do it: the row is wrong
            tally.check(case.name(), f"no reference: {error}")
            continue
        if case.second and not case.expect and case.op not in seen:
            seen.add(case.op)
            firsts.append(prepared[-1])
    for opset in sorted({p.case.opset for p in prepared}):
        for dynamic, second, group in ((False, False, prepared), (True, False, chosen_dynamic(prepared)),
                                       (False, True, firsts)):
            group = [p for p in group if p.case.opset == opset]
            size = DYNAMIC_BATCH if dynamic else BATCH
            for start in range(0, len(group), size):
                check(group[start:start + size], dynamic, second, options, tally)
    if not options.filter and not options.category:
        counts = collections.Counter(c.op for c in table.CASES)
        for op in rules(options):
            tally.check(f"rule of {op} has tests", "" if counts[op] >= MINIMUM else f"{counts[op]} cases, at least {MINIMUM}")
    tally.finish()


if __name__ == "__main__":
    main()
