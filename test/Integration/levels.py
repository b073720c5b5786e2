#!/usr/bin/env python3
"""Compile each trained model at -O0 to -O3: all levels give the same answer within a stated error.

usage: levels.py --models DIR [--build DIR] [--filter RE]

The models and their inputs are those of models.py. The error is told in units in the last place of the output's
largest value (for half-precision outputs those of that type), against -O0, which computes every operator by itself.
docs/Numerics.md states the limits.
"""
import argparse
import concurrent.futures
import pathlib
import re
import tempfile

import numpy as np
import onnx
import onnxruntime

import models
from models import harness

LEVELS = (0, 1, 2, 3)
LIMIT = 256  # ULP of the largest value
# These amplify roundings: a sigmoid of large sums, and a network that was quantised.
LIMITS = {"ocr-detect": 1024, "smart-turn": 131072}


def scaled_ulp(got, wanted):
    """The largest difference in ULP of the largest wanted value; exact types: 0 or infinity."""
    if got.shape != wanted.shape or got.dtype != wanted.dtype:
        return float("inf")
    if not harness.is_float(wanted.dtype) or wanted.size == 0:
        return 0.0 if np.array_equal(got, wanted) else float("inf")
    a, b = got.astype(np.float64), wanted.astype(np.float64)
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return float("inf")
    finite = np.isfinite(b)
    largest = np.abs(b[finite]).max(initial=0.0)
    unit = np.spacing(wanted.dtype.type(largest)) if largest else np.finfo(wanted.dtype).tiny
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0) / float(unit))


def first_inputs(model, path):
    """The stored inputs of a model, or random ones of its first shape."""
    for stored in model.stored:
        with np.load(models.HERE / "Inputs" / f"{stored}.npz") as file:
            return {n[4:]: file[n] for n in file.files if n.startswith("in__")}
    session = onnxruntime.InferenceSession(str(path), models.session_options(), ["CPUExecutionProvider"])
    return models.random_inputs(session, model.shapes[0] if model.shapes else models.declared_shapes(session))


def check(options, tally, work, model, folder):
    path = folder / model.path
    given, outputs = first_inputs(model, path), {}
    names = [v.name for v in onnx.load(path, load_external_data=False).graph.output]
    checker = models.Checker(options, tally, work)
    for level in LEVELS:
        module = work / f"{model.name}-O{level}.so"
        done = harness.run_limited([checker.compiler, path, "-o", module, f"-O{level}"], seconds=600)
        if done.status:
            tally.check(f"{model.name}: -O{level}", f"{done.ending()}: {done.message()}")
            return
        outputs[level], problem = checker.run(module, given, f"{model.name}-O{level}")
        module.unlink()
        if problem:
            tally.check(f"{model.name}: -O{level}", problem)
            return
        if level:
            worst = max(scaled_ulp(outputs[level][n], outputs[0][n]) for n in names)
            limit = LIMITS.get(model.name, LIMIT)
            tally.check(f"{model.name}: -O{level}", "" if worst <= limit else f"{worst:.1f} ULP, stated are {limit}",
                        f"{worst:.1f} ULP")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--filter", default="", metavar="RE")
    parser.add_argument("--jobs", type=int, default=2)
    harness.add_build_argument(parser)
    options = parser.parse_args()
    options.flags = []
    tally = harness.Tally()
    chosen = [m for m in models.MODELS if not m.refused and re.search(options.filter, m.name)]
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda m: check(options, tally, pathlib.Path(work), m, options.models), chosen))
    tally.finish()


if __name__ == "__main__":
    main()
