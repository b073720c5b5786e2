#!/usr/bin/env python3
"""Find the numbers of the compiler's cost model that are best for a model on this machine, by measuring.

usage: tune.py MODEL.onnx -o FILE.json [--build DIR] [--threads N] [--inputs FILE.npz] [--dim NAME=N]... [--rounds N]
               [--seconds S] [-- FLAG of onnx-aot-compile...]

The file holds what is better than the default, and is an input of later compiles (`onnx-aot-compile --tune=FILE.json`):
those are deterministic, like any other. One number after the other is tried at each of its values; the best so far and
the candidate run in turns, and a candidate has to gain more than a hundredth.
"""
import argparse
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

CANDIDATES = {
    "panel_vectors": [1, 2, 3, 4], "max_rows": [4, 6, 7, 10, 12], "cached_bytes": [64 << 10, 128 << 10, 512 << 10, 1 << 20],
    "task_points": [4 << 10, 64 << 10, 256 << 10], "block_bytes": [32 << 10, 64 << 10, 256 << 10], "winograd": [False],
}
GAIN = 0.99


class Tuner:
    def __init__(self, options, work):
        self.options, self.work, self.count = options, work, 0
        self.runner = harness.tool(options.build, "onnx-aot-run")
        self.compiler = harness.tool(options.build, "onnx-aot-compile")

    def compile(self, numbers):
        """Returns the module for these numbers, None when it cannot be had."""
        self.count += 1
        file, module = self.work / f"{self.count}.json", self.work / f"{self.count}.so"
        file.write_text(json.dumps(numbers))
        done = harness.run_limited([self.compiler, self.options.model, "-o", module, f"--tune={file}",
                                    *self.options.flags], 600, memory=0)
        if done.status != 0:
            print(f"{numbers}: {done.ending()}: {done.message()}", file=sys.stderr)
            return None
        return module

    def measure(self, modules):
        """Returns each module's least time in ms, of rounds in turns."""
        given = ["--inputs", self.options.inputs] if self.options.inputs else ["--random-inputs=1"]
        times = [[] for _ in modules]
        for _ in range(self.options.rounds):
            for module, into in zip(modules, times):
                done = harness.run_limited(
                    [self.runner, module, *given, *(f"--dim={d}" for d in self.options.dim), "--threads",
                     self.options.threads, "--bench", self.options.seconds, "--json"], 600, memory=0)
                if done.status != 0:
                    sys.exit(f"the model does not run: {done.message()}")
                into.append(json.loads(done.out.strip().splitlines()[-1])["min_ms"])
        return [min(t) for t in times]

    def tune(self):
        numbers, best = {}, self.compile({})
        if not best:
            sys.exit("the model cannot be compiled")
        for name, values in CANDIDATES.items():
            for value in values:
                module = self.compile({**numbers, name: value})
                if not module:
                    continue
                now, candidate = self.measure([best, module])
                better = candidate < GAIN * now
                print(f"{name} = {json.dumps(value)}: {candidate:.3f} ms, before {now:.3f} ms{', kept' if better else ''}",
                      flush=True)
                (best if better else module).unlink()
                if better:
                    numbers[name], best = value, module
        return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FILE.json")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--inputs", type=pathlib.Path, metavar="FILE.npz", help="inputs to run on (default: random numbers)")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N", help="a symbolic size, for random inputs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each module in each round")
    options = harness.parse_arguments(parser)
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        numbers = Tuner(options, pathlib.Path(work)).tune()
    options.output.write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
