#!/usr/bin/env python3
"""Run models that scikit-learn, XGBoost and LightGBM trained, and compare with what those libraries say.

usage: ml.py [--build DIR] [--models DIR] [--filter RE] [--jobs N] [-- FLAG...]

The models and the answers were made by utils/make-ml-models.py. Every row of the data set is asked at once; labels must be
equal, probabilities and values within 1e-5 of the largest one.
"""
import argparse
import concurrent.futures
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "utils"))
import harness  # noqa: E402

TOLERANCE = 1e-5


def find_output(got, want):
    """Picks the output that stands for labels, probabilities or values: by its element type."""
    kind = "i" if want.dtype.kind == "i" else "f"
    found = [v for v in got.values() if v.dtype.kind == kind]
    return found[0].reshape(want.shape) if len(found) == 1 and found[0].size == want.size else None


def check(path, options, tally, work):
    name = path.stem
    with np.load(path.parent / f"{name.split('-')[0]}.npz") as file:
        x = file["X"]
    with np.load(path.with_suffix(".npz")) as file:
        wanted = {n: file[n] for n in file.files}
    given = onnx.load(path).graph.input[0].name
    np.savez(work / f"{name}-in.npz", **{given: x})
    for command in ([harness.tool(options.build, "onnx-aot-compile"), path, "-o", work / f"{name}.so", *options.flags],
                    [harness.tool(options.build, "onnx-aot-run"), work / f"{name}.so", "--inputs", work / f"{name}-in.npz",
                     "--outputs", work / f"{name}-out.npz"]):
        done = harness.run_limited(command, 120)
        if done.status != 0:
            tally.check(name, f"{pathlib.Path(command[0]).name}: {done.ending()}: {done.message()}")
            return
    with np.load(work / f"{name}-out.npz") as file:
        got = {n: file[n] for n in file.files}
    for kind, want in wanted.items():
        value = find_output(got, want)
        if value is None:
            tally.check(f"{name}: {kind}", f"no output for it among {[(v.dtype, v.shape) for v in got.values()]}")
        elif kind == "label":
            wrong = int((value != want).sum())
            tally.check(f"{name}: label", f"{wrong} of {want.size} differ" if wrong else "")
        else:
            want = want.astype(value.dtype)
            found = harness.compare(value, want, rtol=0, atol=TOLERANCE, scaled=True)
            tally.check(f"{name}: {kind}", found.problem, f"max abs {found.max_abs:.2g}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, default=HERE / "Inputs" / "ml")
    parser.add_argument("--filter", default="", metavar="RE")
    parser.add_argument("--jobs", type=int, default=2)
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    paths = [p for p in sorted(options.models.glob("*.onnx")) if re.search(options.filter, p.stem)]
    tally = harness.Tally()
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(lambda path: check(path, options, tally, pathlib.Path(work)), paths))
    tally.finish()


if __name__ == "__main__":
    main()
