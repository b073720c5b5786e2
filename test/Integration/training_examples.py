#!/usr/bin/env python3
"""Run the training examples of docs/Training.md: a CNN from scratch, its last layers anew, a small language model.

usage: training_examples.py [--build DIR] [--fashion DIR]

Each is trained from the command line and by the program of docs/examples. The pictures are drawn here (ten patterns,
moved about in noise), the text is the documentation. --fashion, a folder with Fashion-MNIST's *-ubyte.gz, also trains
on that: 91 % of the test pictures must be right after five epochs.
"""
import argparse
import gzip
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "utils"))
import harness  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"


def run(*command):
    """Returns (output, problem)."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    return done.stdout, "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr.strip()[-500:]}"


def at_least(value, least):
    return "" if value is not None and value >= least else f"{value} is below {least}"


def at_most(value, most):
    return "" if value is not None and value <= most else f"{value} is above {most}"


class Examples:
    def __init__(self, tally, build, work):
        self.tally, self.work = tally, work
        self.compiler, self.runner = (harness.tool(build, f"onnx-aot-{t}") for t in ("compile", "run"))
        self.library = next(pathlib.Path(build).rglob("libonnx-aot-runtime.a"))

    def compile(self, model, out, *flags):
        _, problem = run(self.compiler, self.work / model, "--train", "--optimizer=adamw", *flags, "-o", self.work / out)
        return self.tally.check(f"compile {out}", problem)

    def train(self, name, module, data, test, *flags):
        """Trains from the command line; returns what the tool says at the end, or None."""
        out, problem = run(self.runner, self.work / module, "--train", self.work / data, "--eval", self.work / test,
                           "--batch", 64, "--shuffle", "--seed", 1, "--json", *flags)
        return json.loads(out) if self.tally.check(f"train {name}", problem, out.strip()) else None

    def build(self, name):
        _, problem = run("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "runtime/include",
                         EXAMPLES / f"{name}.cpp", self.library, "-lpthread", "-ldl", "-o", self.work / name)
        return self.tally.check(f"build {name}.cpp", problem)

    def prepare(self, what, source, out):
        _, problem = run(sys.executable, EXAMPLES / "prepare.py", what, source, self.work / out)
        return self.tally.check(f"prepare {out}", problem)


def write_idx(path, array):
    header = bytes([0, 0, 8, array.ndim]) + b"".join(int(d).to_bytes(4, "big") for d in array.shape)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(header + array.tobytes())


def draw(folder, train=2000, test=500):
    """Ten classes: bars, crosses and rings at any place, in noise."""
    rng, (row, column) = np.random.default_rng(0), np.mgrid[0:28, 0:28]
    for name, count in (("train", train), ("t10k", test)):
        labels = rng.integers(0, 10, count)
        pictures = rng.uniform(0, 90, (count, 28, 28))
        for picture, label in zip(pictures, labels):
            y, x = row - rng.integers(9, 19), column - rng.integers(9, 19)
            near = np.maximum(abs(x), abs(y)) <= 7
            shape = [abs(y) <= 1, abs(x) <= 1, abs(x - y) <= 1, abs(x + y) <= 1, (abs(x) <= 1) | (abs(y) <= 1),
                     abs(abs(x) - abs(y)) <= 1, abs(np.hypot(x, y) - 6) <= 1, np.maximum(abs(x), abs(y)) >= 6,
                     abs(np.hypot(x, y) - 3) <= 1, abs(x) + abs(y) <= 5][label]
            picture[near & shape] += 150
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", pictures.astype(np.uint8))
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", labels.astype(np.uint8))


def classifier(ex, work):
    """From scratch, from the command line and from C++; the export answers like the trainer."""
    if not ex.compile("drawn/lenet.onnx", "lenet.so", "--loss=cross-entropy"):
        return
    said = ex.train("the CNN", "lenet.so", "drawn/train.safetensors", "drawn/test.safetensors", "--epochs", 6,
                    "--schedule=cosine", "--save", work / "lenet-out.safetensors", "--model", work / "drawn/lenet.onnx",
                    "--export", work / "lenet-trained.onnx")
    if said:
        ex.tally.check("the CNN learns", at_least(said["accuracy"], 0.95), f"accuracy {said['accuracy']}")
        test = load_file(work / "drawn/test.safetensors")
        scores = onnxruntime.InferenceSession(work / "lenet-trained.onnx").run(None, {"x": test["x"]})[0]
        accuracy = float((scores.argmax(1) == test["labels"]).mean())
        ex.tally.check("the export is as good in onnxruntime",
                       "" if abs(accuracy - said["accuracy"]) < 0.003 else f"{accuracy} there")
    if ex.build("train-classifier"):
        out, problem = run(work / "train-classifier", work / "lenet.so", work / "drawn/train.safetensors",
                           work / "drawn/test.safetensors", 6, work / "cpp.safetensors")
        last = re.findall(r"accuracy ([0-9.]+)", out)
        ex.tally.check("the CNN learns from C++", problem or at_least(float(last[-1]) if last else None, 0.95),
                       out.strip().splitlines()[-1] if out else "")


def fine_tuning(ex, work):
    """Five classes first; then only the last layers, on five others. The first layers keep their bits."""
    if not ex.compile("drawn/lenet5.onnx", "first.so", "--loss=cross-entropy"):
        return
    said = ex.train("the first five classes", "first.so", "drawn/first-train.safetensors",
                    "drawn/first-test.safetensors", "--epochs", 6, "--schedule=cosine", "--model",
                    work / "drawn/lenet5.onnx", "--export", work / "base.onnx")
    if not said or not ex.compile("base.onnx", "second.so", "--loss=cross-entropy", "--trainable=fc*"):
        return
    said = ex.train("the last layers", "second.so", "drawn/second-train.safetensors", "drawn/second-test.safetensors",
                    "--epochs", 6, "--schedule=cosine", "--save", work / "second-out.safetensors", "--model",
                    work / "base.onnx", "--export", work / "tuned.onnx")
    if not said:
        return
    ex.tally.check("the last layers learn", at_least(said["accuracy"], 0.9), f"accuracy {said['accuracy']}")
    before, after = ({v.name: v for v in onnx.load(work / f).graph.initializer} for f in ("base.onnx", "tuned.onnx"))
    changed = sorted(n for n in before if before[n].raw_data != after[n].raw_data)
    ex.tally.check("only they change", "" if changed == ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"]
                   else f"changed: {changed}")


def language_model(ex, work):
    text = work / "text.txt"
    text.write_text("".join(p.read_text() for p in sorted((ROOT / "docs").glob("*.md"))))
    if not ex.prepare("text", text, "text") or not ex.compile(
            "text/language-model.onnx", "language-model.so", "--loss=cross-entropy:class_axis=-1", "--clip-norm=1"):
        return
    alphabet = len((work / "text/alphabet.txt").read_text())
    said = ex.train("the language model", "language-model.so", "text/train.safetensors", "text/test.safetensors",
                    "--epochs", 4, "--lr", 0.003, "--schedule=cosine:warmup_steps=5")
    if said:
        # Below what the frequencies of the characters alone allow.
        tokens = load_file(work / "text/test.safetensors")["labels"].ravel()
        share = np.bincount(tokens, minlength=alphabet) / len(tokens)
        entropy = -sum(p * math.log(p) for p in share if p)
        ex.tally.check("it learns more than the alphabet", at_most(said["eval_loss"], entropy - 0.3),
                       f"loss {said['eval_loss']:.3f}, entropy {entropy:.3f}")
    if ex.build("language-model"):
        out, problem = run(work / "language-model", work / "language-model.so", work / "text/train.safetensors",
                           work / "text/alphabet.txt", 100)
        losses = [float(v) for v in re.findall(r"loss ([0-9.]+)", out)]
        if not problem and (len(losses) < 3 or losses[-1] > losses[0] - 1 or len(out) < 300):
            problem = f"it prints {out[:200]!r}"
        ex.tally.check("it learns and writes from C++", problem, f"loss {losses[:1]} to {losses[-1:]}")


def fashion(ex, work, folder):
    if not ex.prepare("images", folder, "fashion") or not ex.compile(
            "fashion/lenet.onnx", "fashion.so", "--loss=cross-entropy"):
        return
    said = ex.train("Fashion-MNIST", "fashion.so", "fashion/train.safetensors", "fashion/test.safetensors", "--epochs", 5,
                    "--lr", 0.001, "--schedule=cosine")
    if said:
        ex.tally.check("Fashion-MNIST: 91 % after 5 epochs", at_least(said["accuracy"], 0.91),
                       f"accuracy {said['accuracy']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--fashion", type=pathlib.Path)
    args = harness.parse_arguments(parser)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        ex = Examples(tally, args.build, work)
        (work / "pictures").mkdir()
        draw(work / "pictures")
        if ex.prepare("images", work / "pictures", "drawn"):
            classifier(ex, work)
            fine_tuning(ex, work)
        language_model(ex, work)
        if args.fashion:
            fashion(ex, work, args.fashion)
    tally.finish()


if __name__ == "__main__":
    main()
