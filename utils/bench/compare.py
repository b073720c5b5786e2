#!/usr/bin/env python3
"""Compare compiled models with onnxruntime: time, start-up, memory, size, all in one run.

usage: compare.py [--models NAME,...] [--dir DIR ...] [--threads 1,2] [--json FILE] [--html FILE]
       compare.py --train [--torch PYTHON] [--ort-training PYTHON] [--models NAME,...] [--dir DIR ...] [--threads 1,2] ...

Rounds alternate between the two, each round a fresh process pinned to as many cores as it has threads; the
figure that counts is the ratio of the minima (and of the medians) of the same run, since all times drift with the
machine. Beside it stand the FMA peak of one core, measured between the rounds, and the percentage of the limit
that it sets for the model's multiplications and additions.

With --train the peers are PyTorch and onnxruntime-training, each in an environment of its own (--torch PYTHON,
--ort-training PYTHON: one of them or both, a row for each), and the figures are those of a whole training step; models
are searched as NAME_train.onnx.

A model is a name (searched as NAME.onnx under --dir; trained ones as in test/Integration/models.py) or a path.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parents[1] / "test" / "Integration")]

# The shapes at which trained models with free dimensions are measured.
SHAPES = {
    "orientation": {"x": (1, 3, 224, 224)},
    "ocr-detect": {"x": (1, 3, 640, 480)},
    "ocr-read": {"x": (1, 3, 48, 320)},
    "ocr-turn": {"x": (1, 3, 48, 192)},
    "minilm": {"input_ids": (1, 128), "attention_mask": (1, 128)},
    "magika": {"bytes": (1, 2048)},
    "basic-pitch": {"serving_default_input_2:0": (1, 43844, 1)},
    "smart-turn": {"input_features": (1, 80, 800)},
    "silero": {"input": (1, 576), "state": (2, 1, 128)},
    "silero-op15": {"input": (1, 576), "state": (2, 1, 128)},
    "silero-half": {"input": (1, 576), "state": (2, 1, 128)},
    "silero-ifless": {"input": (1, 576), "state": (2, 1, 128)},
    "silero-sequence": {"input": (237, 576)},
}
DEFAULT = "resnet50,mobilenet_v2,bert,gpt2"


def run_onnxruntime(path, inputs, threads, seconds):
    """The peer's side of a round, in its own process: prints what onnx-aot-run --bench --json prints."""
    import numpy as np
    import onnxruntime
    with np.load(inputs) as file:
        given = {n: file[n] for n in file.files}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    begin = time.perf_counter()
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    loaded = time.perf_counter()
    session.run(None, given)
    first = time.perf_counter()
    times = []
    while not times or time.perf_counter() - first < seconds:
        start = time.perf_counter()
        session.run(None, given)
        times.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"load_ms": 1e3 * (loaded - begin), "first_run_ms": 1e3 * (first - loaded),
                      "median_ms": statistics.median(times), "min_ms": min(times), "runs": len(times)}))


if sys.argv[1:2] == ["--peer"]:
    run_onnxruntime(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    sys.exit()

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

import flops  # noqa: E402
import harness  # noqa: E402
import models as trained  # noqa: E402
import page  # noqa: E402
import train as training  # noqa: E402


def find(name, folders):
    """Returns (name, path, shapes by input name) of a model, or None."""
    if name.endswith(".onnx"):
        return pathlib.Path(name).stem, pathlib.Path(name).resolve(), {}
    relative = {m.name: m.path for m in trained.MODELS}.get(name, name + ".onnx")
    for folder in folders:
        if (folder / relative).is_file():
            return name, (folder / relative).resolve(), SHAPES.get(name, {})
    return None


def draw_inputs(path, shapes):
    """Draws inputs for a model: free dimensions become 1."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    generator, values = np.random.default_rng(7), {}
    for value in session.get_inputs():
        shape = shapes.get(value.name, [d if isinstance(d, int) and d > 0 else 1 for d in value.shape])
        if "float" in value.type:
            values[value.name] = generator.standard_normal(shape).astype(np.float32)
        elif value.name == "sr":
            values[value.name] = np.array(16000, np.int64)
        elif "mask" in value.name:
            values[value.name] = np.ones(shape, np.int64)
        else:
            integer = np.int32 if value.type == "tensor(int32)" else np.int64
            values[value.name] = generator.integers(0, 200, shape).astype(integer)
    return values


class Bench:
    """Runs rounds with the tools of one build folder."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.compiler = harness.tool(options.build, "onnx-aot-compile")
        self.runner = harness.tool(options.build, "onnx-aot-run")
        self.cores = sorted(os.sched_getaffinity(0))
        self.gflops = self.gbytes = 0.0
        subprocess.run(["clang-22", "-O3", "-march=native", "-ffp-contract=fast", HERE / "peak.c", "-o",
                        work / "peak"], check=True)

    def pinned(self, threads, command):
        """Runs a command on as many cores as it has threads; returns its Outcome."""
        cores = ",".join(str(c) for c in self.cores[:threads])
        return harness.run_limited(["taskset", "-c", cores, *command], seconds=600, memory=0)

    def measure_peak(self):
        gflops, gbytes = map(float, self.pinned(1, [self.work / "peak"]).out.split())
        self.gflops, self.gbytes = max(self.gflops, gflops), max(self.gbytes, gbytes)

    def compile(self, path):
        """Compiles a model; returns (module, figures)."""
        module = self.work / f"{path.stem}.so"
        done = harness.run_limited([self.compiler, path, "-o", module, *self.options.flags], seconds=600, memory=0)
        if done.status != 0:
            return None, {"problem": f"{done.ending()}: {done.message()}"}
        weights = module.with_suffix(".weights")
        size = module.stat().st_size + (weights.stat().st_size if weights.exists() else 0)
        return module, {"compile_s": done.seconds, "compile_rss": done.rss, "module_bytes": size,
                        "model_bytes": path.stat().st_size}

    def round(self, command, threads):
        """One process of a round; returns its figures, with its peak memory."""
        done = self.pinned(threads, command)
        if done.status != 0:
            raise RuntimeError(f"{done.ending()}: {done.message()}")
        return {**json.loads(done.out.strip().splitlines()[-1]), "rss": done.rss}

    def compare(self, name, path, shapes):
        """Measures one model with every number of threads; returns its row."""
        given = draw_inputs(path, shapes)
        inputs = self.work / "inputs.npz"
        np.savez(inputs, **given)
        row = {"name": name, "flops": flops.count(path, {n: v.shape for n, v in given.items()}), "threads": {}}
        module, figures = self.compile(path)
        row.update(figures)
        for threads in self.options.threads if module else ():
            sides = {"ours": [], "theirs": []}
            seconds = str(self.options.seconds)
            try:
                for _ in range(self.options.rounds):
                    self.measure_peak()
                    sides["ours"].append(self.round(
                        [self.runner, module, "--inputs", inputs, "--threads", threads, "--bench", seconds, "--json"],
                        threads))
                    sides["theirs"].append(self.round(
                        [sys.executable, __file__, "--peer", path, inputs, threads, seconds], threads))
            except RuntimeError as error:
                row["problem"] = str(error)
                break
            row["threads"][threads] = {side: summary(rounds) for side, rounds in sides.items()}
        return row


def summary(rounds):
    """What counts of a side's rounds."""
    return {"min_ms": min(r["min_ms"] for r in rounds), "median_ms": statistics.median(r["median_ms"] for r in rounds),
            "start_ms": min(r["load_ms"] + r["first_run_ms"] for r in rounds), "rss": max(r["rss"] for r in rounds)}


def table(rows, bench):
    """Builds the table: a list of lists of text, the first one the header."""
    lines = [["model", "threads", "ours ms", "theirs ms", "ratio", "(median)", "of limit", "start ms", "theirs",
              "RSS MB", "theirs", "module MB", "compile s", "its RSS MB"]]
    for row in rows:
        if not row["threads"]:
            lines.append([row["name"], "-", row.get("problem", row.get("refusal", ""))[:100]] + [""] * 11)
        for threads, sides in row["threads"].items():
            ours, theirs = sides["ours"], sides["theirs"]
            limit = row["flops"] / (bench.gflops * threads * 1e6)
            lines.append([
                row["name"], str(threads), f"{ours['min_ms']:.2f}", f"{theirs['min_ms']:.2f}",
                f"{ours['min_ms'] / theirs['min_ms']:.2f}", f"{ours['median_ms'] / theirs['median_ms']:.2f}",
                f"{100 * limit / ours['min_ms']:.0f} %" if row["flops"] else "-", f"{ours['start_ms']:.1f}", f"{theirs['start_ms']:.0f}",
                f"{ours['rss'] / 1e6:.0f}", f"{theirs['rss'] / 1e6:.0f}", f"{row['module_bytes'] / 1e6:.1f}",
                f"{row['compile_s']:.1f}", f"{row['compile_rss'] / 1e6:.0f}"])
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=DEFAULT, help="names or paths, by commas, or 'all' (default: %(default)s)")
    parser.add_argument("--dir", action="append", type=pathlib.Path, default=[], help="where models lie; repeatable")
    parser.add_argument("--threads", default="1", type=lambda t: [int(n) for n in t.split(",")])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1, help="of each side in each round")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--html", type=pathlib.Path)
    parser.add_argument("--max-ratio", type=float, help="exit with status 1 when a ratio of minima is above")
    parser.add_argument("--train", action="store_true", help="compare training steps")
    parser.add_argument("--torch", help="the Python that has torch, for --train")
    parser.add_argument("--ort-training", help="the Python that has onnxruntime-training, for --train")
    harness.add_build_argument(parser)
    options = harness.parse_arguments(parser)
    if options.train and not (options.torch or options.ort_training):
        parser.error("--train wants --torch PYTHON or --ort-training PYTHON")
    folders = options.dir or [pathlib.Path(os.environ.get("ONNX_AOT_DEPS", harness.ROOT / ".deps")) / "models"]
    if options.train and options.models in (DEFAULT, "all"):
        options.models = ",".join(training.MODELS)
    names = DEFAULT.split(",") + [m.name for m in trained.MODELS] if options.models == "all" \
        else options.models.split(",")
    chosen = [(name, find(f"{name}_train" if options.train else name, folders)) for name in names]
    for name in [name for name, found in chosen if not found]:
        print(f"{name}: not found under {', '.join(map(str, folders))}", file=sys.stderr)
    rows, chosen = [], [found for _, found in chosen if found]
    with tempfile.TemporaryDirectory(prefix="onnx-aot-") as work:
        bench, progress = Bench(options, pathlib.Path(work)), harness.Progress(len(chosen))
        for found in chosen:
            rows += training.compare(bench, found[0].removesuffix("_train"), found[1], summary) if options.train \
                else [bench.compare(*found)]
            progress.step(found[0])
    page.print_table(table(rows, bench))
    print(f"\none core's peak in this run: {bench.gflops:.0f} GFLOP/s (FMA), {bench.gbytes:.0f} GB/s (reading memory)")
    print("of limit: time that the peak allows for the model's multiply-adds, in percent of ours; "
          "start: load and first run")
    if options.json:
        options.json.write_text(json.dumps({"gflops": bench.gflops, "gbytes": bench.gbytes, "models": rows}, indent=1))
    if options.html:
        options.html.write_text(page.render(table(rows, bench), rows, bench))
    ratios = [s["ours"]["min_ms"] / s["theirs"]["min_ms"] for r in rows for s in r["threads"].values()]
    failed = any("problem" in r for r in rows) or not ratios
    sys.exit(1 if failed or (options.max_ratio and max(ratios) > options.max_ratio) else 0)


if __name__ == "__main__":
    main()
