#!/usr/bin/env python3
"""Find where a compiled model's numbers leave onnxruntime's: the first value of the graph that differs.

usage: compare-values.py MODEL.onnx [--inputs FILE.npz] [--dim NAME=N]... [--build DIR] [-- FLAG...]

Makes every value of the top graph an output, compiles that with the given flags (such as -O0), runs it, and prints
the values in the graph's order whose error is above --tolerance (relative to the value's largest element): the
first one is where to look. Making a value an output can keep a fusion from happening; --only NAME,NAME
takes only some values. Inputs are random unless given.
"""
import argparse
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import harness


def make_outputs(model, only):
    """Adds every typed value of the top graph to the outputs; returns (name, producing node) in order."""
    inferred = onnx.shape_inference.infer_shapes(model)
    types = {v.name: v for v in [*inferred.graph.value_info, *inferred.graph.output]}
    present = {v.name for v in model.graph.output}
    values = []
    for node in model.graph.node:
        for name in node.output:
            if name not in types or (only and name not in only and name not in present):
                continue
            values.append((name, node))
            if name not in present:
                # The shape stays open: a declared one that is wrong must not hide the difference.
                value = model.graph.output.add(name=name)
                value.type.CopyFrom(types[name].type)
                value.type.tensor_type.ClearField("shape")
    return values


def random_inputs(session, dims):
    generator, values = np.random.default_rng(7), {}
    for value in session.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else dims.get(d, 1) for d in value.shape]
        kind = value.type[len("tensor("):-1]
        if "float" in kind or kind == "double":
            numpy_type = {"float": np.float32, "double": np.float64, "float16": np.float16}[kind]
            values[value.name] = generator.standard_normal(shape).astype(numpy_type)
        else:
            values[value.name] = generator.integers(0, 2, shape).astype(kind if kind != "bool" else np.bool_)
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("--inputs", type=pathlib.Path)
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--only", default="", help="names of values, by commas")
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--all", action="store_true", help="print every value, not only those that differ")
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    model = onnx.load(options.model)
    values = make_outputs(model, set(filter(None, options.only.split(","))))
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work = pathlib.Path(work)
        onnx.save(model, work / "model.onnx")
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 4
        # As written: the optimiser renames and fuses values.
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(work / "model.onnx", settings, ["CPUExecutionProvider"])
        if options.inputs:
            with np.load(options.inputs) as file:
                given = {n: file[n] for n in file.files}
        else:
            given = random_inputs(session, dict((n, int(s)) for n, s in (d.rsplit("=", 1) for d in options.dim)))
        names = [v.name for v in model.graph.output]
        wanted = dict(zip(names, session.run(names, given)))
        np.savez(work / "in.npz", **{n: harness.savable(v) for n, v in given.items()})
        for command in ([harness.tool(options.build, "onnx-aot-compile"), work / "model.onnx", "-o", work / "model.so",
                         *options.flags],
                        [harness.tool(options.build, "onnx-aot-run"), work / "model.so", "--inputs", work / "in.npz",
                         "--outputs", work / "out.npz"]):
            done = harness.run_limited(command, seconds=600, memory=0)
            if done.status != 0:
                sys.exit(f"{pathlib.Path(command[0]).name}: {done.ending()}\n{done.err}")
        with np.load(work / "out.npz") as file:
            got = {n: file[n] for n in file.files}
    differing = 0
    for name, node in values:
        worst = harness.compare(got[name], wanted[name], rtol=0, atol=options.tolerance, scaled=True) if name in got \
            else harness.Difference("not among the outputs of the run")
        if worst.problem or options.all:
            differing += bool(worst.problem)
            print(f"{node.op_type:20} {name}  {list(np.shape(wanted[name]))}  "
                  f"{worst.problem or f'max abs {worst.max_abs:.2g}, max ulp {worst.max_ulp}'}")
    print(f"{differing} of {len(values)} values differ")
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
