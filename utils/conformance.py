#!/usr/bin/env python3
"""Run the official ONNX suite: compile each case, run it, compare with what the suite expects.

A case is a folder with a model.onnx and test_data_set_* folders, or one of the suite's light nets. Each is
compiled and run in fresh processes under a time and a memory limit and falls into one class:

  passed      every output of every data set is right (count, shape, element type, values)
  refused     the compiler ended with status 1, said why, and left no file
  wrong       it compiled, and an output is wrong or the run ended with an error
  known       its values cannot be those expected, as --known says; number, shapes and types of the outputs are right
  crashed     the compiler or the compiled model died, or failed without a word
  timed out   no end within --timeout seconds

Exit status 0 when nothing is wrong, crashed or timed out, the floors hold, and no golden ULP
got worse. --known names a file with lines "CASE  REASON"; a listed case that has come to pass is a failure, so that
the list only shrinks.
"""
import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import pathlib
import re
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import numpy_helper

import harness

CLASSES = ("passed", "refused", "known", "wrong", "crashed", "timed out")


@dataclasses.dataclass
class Case:
    """One model with its data sets; a data set is (input files, output files), in the order of the graph's."""
    name: str
    model: pathlib.Path
    sets: list
    rtol: float = 1e-3
    atol: float = 1e-7


@dataclasses.dataclass
class Result:
    """What became of a case."""
    name: str
    kind: str
    reason: str = ""
    max_ulp: int = 0
    compile_seconds: float = 0.0
    compile_rss: int = 0
    run_seconds: float = 0.0


# ---- Finding the cases -----------------------------------------------------------------------------


def numbered(folder, stem):
    """Returns folder/stem_0.pb, stem_1.pb, ... in order."""
    return sorted(folder.glob(f"{stem}_*.pb"), key=lambda p: int(p.stem.rsplit("_", 1)[1]))


def find_cases(suite):
    """Finds every case under a folder, sorted by name. Names are paths from the suite's folder."""
    cases = []
    for model in suite.rglob("model.onnx"):
        folder = model.parent
        sets = [(numbered(d, "input"), numbered(d, "output")) for d in sorted(folder.glob("test_data_set_*"))]
        if sets:
            cases.append(Case(case_name(folder), model, sets, **tolerance(folder / "data.json")))
    for description in suite.rglob("real/*/data.json"):
        url = json.loads(description.read_text()).get("url", "")
        model = description.parents[2] / "light" / pathlib.Path(url).name
        if "/light/" in url and model.is_file():
            outputs = numbered(model.parent, f"{model.stem}_output")
            cases.append(Case(case_name(description.parent), model, [(None, outputs)], **tolerance(description)))
    return sorted(cases, key=lambda c: c.name)


def case_name(folder):
    return f"{folder.parent.name}/{folder.name}"


def tolerance(description):
    """Returns a case's own tolerances, as far as it has some."""
    if not description.is_file():
        return {}
    return {k: v for k, v in json.loads(description.read_text()).items() if k in ("rtol", "atol")}


# ---- Values ----------------------------------------------------------------------------------------


def read_value(path, type_proto):
    """Reads one .pb file as an array, a list (sequence) or None (empty optional)."""
    data = path.read_bytes()
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def flatten(named):
    """Spells sequences as NAME[0], NAME[1], ...; leaves out empty optionals."""
    flat = {}
    for name, value in named.items():
        if isinstance(value, list):
            flat.update({f"{name}[{i}]": v for i, v in enumerate(value)})
        elif value is not None:
            flat[name] = value
    return flat


def light_input(value_info):
    """The input that the suite's runner gives to a light net."""
    shape = tuple(d.dim_value for d in value_info.type.tensor_type.shape.dim)
    count = np.prod(shape)
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def load_sets(case, model):
    """Returns (inputs, expected outputs) by name for each data set of a case."""
    initializers = {t.name for t in model.graph.initializer}
    sets = []
    for inputs, outputs in case.sets:
        if inputs is None:
            given = {v.name: light_input(v) for v in model.graph.input if v.name not in initializers}
        else:
            given = {v.name: read_value(p, v.type) for p, v in zip(inputs, model.graph.input)}
        expected = {v.name: read_value(p, v.type) for p, v in zip(outputs, model.graph.output)}
        sets.append((flatten(given), flatten(expected)))
    return sets


def make_dynamic(model):
    """Makes every dimension of every input symbolic and forgets all other declared shapes."""
    for number, value in enumerate(model.graph.input):
        if value.type.HasField("tensor_type"):
            for axis, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"d{number}_{axis}"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            for dim in value.type.tensor_type.shape.dim:
                dim.Clear()
    del model.graph.value_info[:]


# ---- One case --------------------------------------------------------------------------------------


class Runner:
    """Compiles and runs cases with the tools of one build folder."""

    def __init__(self, options):
        self.options = options
        self.known = read_known(options)
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.runner = harness.tool(options.build, "onnx-aot-run")

    def run(self, case):
        """Returns the Result of a case."""
        try:
            model = onnx.load(case.model, load_external_data=False)
            sets = load_sets(case, model)
        except Exception as error:  # a case that the harness cannot read must not pass unseen
            return Result(case.name, "wrong", f"the test data cannot be read: {error}")
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
            work = pathlib.Path(work)
            path = case.model
            if self.options.dynamic:
                make_dynamic(model)
                path = work / "model.onnx"
                path.write_bytes(model.SerializeToString())
            result, module = self.compile(case, path, work)
            if module:
                for inputs, expected in sets:
                    self.run_set(case, module, inputs, expected, work, result)
                    if result.kind != "passed":
                        break
        return result

    def limited(self, command):
        return harness.run_limited(command, self.options.timeout, int(self.options.memory * harness.GIB))

    def compile(self, case, path, work):
        """Compiles a case; returns its Result so far and the module's path, or None."""
        module = work / "module.so"
        done = self.limited([self.compiler, path, "-o", module, *self.options.flags])
        result = Result(case.name, "passed", compile_seconds=done.seconds, compile_rss=done.rss)
        if done.status == 0 and module.is_file():
            return result, module
        if done.status is None:
            result.kind, result.reason = "timed out", "compiling: " + done.ending()
        elif done.status == 1 and done.message() and not module.exists():
            result.kind, result.reason = "refused", done.message()
        else:
            what = "left a file although it failed" if module.exists() else done.ending()
            result.kind, result.reason = "crashed", f"compiling: {what}: {done.message()}"
        return result, None

    def run_set(self, case, module, inputs, expected, work, result):
        """Runs a module on one data set and writes into `result` what came of it."""
        np.savez(work / "in.npz", **{k: harness.savable(v) for k, v in inputs.items()})
        (work / "out.npz").unlink(missing_ok=True)
        done = self.limited([self.runner, module, "--inputs", work / "in.npz", "--outputs", work / "out.npz"])
        result.run_seconds += done.seconds
        if done.status is None:
            result.kind, result.reason = "timed out", "running: " + done.ending()
        elif done.status == 1:
            result.kind, result.reason = "wrong", f"running: {done.message()}"
        elif done.status != 0:
            result.kind, result.reason = "crashed", f"running: {done.ending()}: {done.message()}"
        else:
            try:
                with np.load(work / "out.npz") as file:
                    got = {name: file[name] for name in file.files}
            except Exception as error:
                result.kind, result.reason = "wrong", f"the outputs cannot be read: {error}"
                return
            worst = harness.compare_outputs(got, expected, rtol=case.rtol, atol=case.atol)
            result.max_ulp = max(result.max_ulp, worst.max_ulp)
            if worst.problem:
                same = [(k, v.shape, v.dtype) for k, v in sorted(got.items())] == \
                    [(k, v.shape, v.dtype) for k, v in sorted(expected.items())]
                known = same and case.name in self.known
                result.kind, result.reason = "known" if known else "wrong", worst.problem


# ---- All cases -------------------------------------------------------------------------------------


def select(cases, options):
    """Returns the cases that --filter and --sample leave."""
    cases = [c for c in cases if not options.filter or re.search(options.filter, c.name)]
    if options.sample and options.sample < len(cases):
        cases.sort(key=lambda c: hashlib.sha256(c.name.encode()).digest())
        cases = sorted(cases[:options.sample], key=lambda c: c.name)
    return cases


def read_known(options):
    """Returns the cases that are known to be wrong, with their reasons."""
    if not options.known:
        return {}
    lines = [line.split(None, 1) for line in options.known.read_text().splitlines() if line.strip()]
    return {line[0]: line[-1] for line in lines if not line[0].startswith("#")}


def check_golden(results, options):
    """Compares each passed case's max ULP with the golden file; returns the complaints."""
    if not options.golden:
        return []
    golden = json.loads(options.golden.read_text()) if options.golden.is_file() else {}
    measured = {r.name: r.max_ulp for r in results if r.kind == "passed"}
    if options.update_golden:
        golden.update(measured)
        lines = ",\n".join(f"  {json.dumps(n)}: {u}" for n, u in sorted(golden.items()))
        options.golden.write_text("{\n" + lines + "\n}\n")
        return []
    return [f"{n}: max ulp {u}, golden {golden[n]}" for n, u in measured.items() if u > golden.get(n, u)]


def report(results, options, seconds):
    """Prints the classes and what is behind them; writes the JSON file."""
    counts = collections.Counter(r.kind for r in results)
    if options.verbose:
        for r in results:
            print(f"{r.kind:9}  {r.name}  {r.reason}" + (f" (max ulp {r.max_ulp})" if r.kind == "passed" else ""))
    refusals = collections.Counter(re.sub(r"^.*?error: ", "", r.reason) for r in results if r.kind == "refused")
    for reason, count in refusals.most_common(options.reasons):
        print(f"refused {count:4}  {reason}")
    for r in results:
        if r.kind not in ("passed", "refused", "known"):
            print(f"{r.kind.upper()}  {r.name}: {r.reason}")
    slowest = sorted(results, key=lambda r: -r.compile_seconds - r.run_seconds)[:3]
    print("slowest: " + ", ".join(f"{r.name} {r.compile_seconds:.1f} + {r.run_seconds:.1f} s" for r in slowest))
    print(f"{len(results)} cases in {seconds:.0f} s: " + ", ".join(f"{counts[k]} {k}" for k in CLASSES))
    if options.json:
        options.json.write_text(json.dumps({"counts": {k: counts[k] for k in CLASSES}, "seconds": round(seconds, 1),
                                            "cases": [dataclasses.asdict(r) for r in results]}, indent=1) + "\n")
    return counts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", type=pathlib.Path, help="folder of the suite (default: the onnx package's own)")
    harness.add_build_argument(parser)
    parser.add_argument("--filter", metavar="RE", help="only cases whose name matches")
    parser.add_argument("--sample", type=int, metavar="N", help="only N cases, always the same ones")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="seconds for one process")
    parser.add_argument("--memory", type=float, default=12, metavar="GIB", help="address space of one process")
    harness.add_device_argument(parser)
    parser.add_argument("--dynamic", action="store_true", help="make every input dimension symbolic first")
    parser.add_argument("--min-found", type=int, default=1, metavar="N", help="fewest cases that must be found")
    parser.add_argument("--min-pass", type=int, default=1, metavar="N", help="fewest cases that must pass")
    parser.add_argument("--known", type=pathlib.Path, metavar="FILE", help="cases that may be wrong, each with a reason")
    parser.add_argument("--golden", type=pathlib.Path, metavar="FILE", help="max ULP of each case; worse is a failure")
    parser.add_argument("--update-golden", action="store_true", help="write --golden instead of checking it")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every result there")
    parser.add_argument("--reasons", type=int, default=20, metavar="N", help="print the N most frequent refusals")
    parser.add_argument("--verbose", action="store_true", help="print a line for each case")
    options = harness.parse_arguments(parser)
    if not options.suite:
        options.suite = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    return options


def main():
    options = arguments()
    cases = select(find_cases(options.suite), options)
    if len(cases) < options.min_found:
        sys.exit(f"{len(cases)} cases found in {options.suite}, at least {options.min_found} expected")
    runner, progress, begin = Runner(options), harness.Progress(len(cases)), time.monotonic()

    def run(case):
        result = runner.run(case)
        progress.step(f"{result.kind}: {case.name}")
        return result

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run, cases))
    counts = report(results, options, time.monotonic() - begin)
    known, worse = read_known(options), check_golden(results, options)
    worse += [f"{r.name}: passes now, take it off {options.known}" for r in results
              if r.kind == "passed" and r.name in known]
    for complaint in worse:
        print("WORSE  " + complaint)
    bad = len(worse) + sum(r.kind not in ("passed", "refused", "known") for r in results)
    if counts["passed"] < options.min_pass:
        print(f"FLOOR  {counts['passed']} cases passed, at least {options.min_pass} expected")
        bad += 1
    print(f"{counts['passed']} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
