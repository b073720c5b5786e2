#!/usr/bin/env python3
"""Run the training examples of docs/Training.md: a CNN from scratch, its last layers anew, a small language model.

usage: training_examples.py [--build DIR] [--fashion DIR]

The commands are those of the page, as they stand there; the programs of docs/examples do the same. The pictures are
drawn here (ten patterns, moved about in noise), the text is the documentation. With --fashion, a folder with
Fashion-MNIST's *-ubyte.gz, only the CNN is trained, on that: 91 % of the test pictures must be right after five epochs.
"""
import argparse
import gzip
import json
import math
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "utils"))
import harness  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

EXAMPLES = ROOT / "docs" / "examples"


def run(*command, cwd=None):
    """Returns (output, problem)."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=cwd)
    return done.stdout, "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr.strip()[-500:]}"


def at_least(value, least):
    return "" if value is not None and value >= least else f"{value} is below {least}"


def at_most(value, most):
    return "" if value is not None and value <= most else f"{value} is above {most}"


def commands(title):
    """The commands of a section of docs/Training.md, each a list of words."""
    text = (ROOT / "docs" / "Training.md").read_text()
    section = text.split(f"## {title}\n")[1].split("\n## ")[0]
    blocks = "".join(re.findall(r"```\n(.*?)```", section, re.S)).replace("\\\n", "")
    found = [shlex.split(line) for line in blocks.splitlines()]
    assert found, title
    return found


class Examples:
    def __init__(self, tally, build, work):
        self.tally, self.work = tally, work
        self.tools = {f"onnx-aot-{t}": [harness.tool(build, f"onnx-aot-{t}")] for t in ("compile", "run")}
        self.tools["prepare.py"] = [sys.executable, EXAMPLES / "prepare.py"]
        self.library = next(pathlib.Path(build).rglob("libonnx-aot-runtime.a"))

    def full(self, command):
        """A command of the documentation with the paths of the tools."""
        return [str(w) for w in self.tools[command[0]] + command[1:]]

    def section(self, title):
        """Runs the commands of a section; returns what the last training says, or None after a failure."""
        said = None
        for command in commands(title):
            trains = "--train" in command and command[0] == "onnx-aot-run"
            out, problem = run(*self.full(command), *(["--json"] if trains else []), cwd=self.work)
            if not self.tally.check(" ".join(command)[:90], problem, out.strip() if trains else ""):
                return None
            said = json.loads(out) if trains else said
        return said

    def build(self, name):
        _, problem = run("g++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "runtime/include",
                         EXAMPLES / f"{name}.cpp", self.library, "-lpthread", "-ldl", "-o", self.work / name)
        return self.tally.check(f"build {name}.cpp", problem)


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


def classifier(ex, work, accuracy):
    """From scratch; killed and started again the same; the export answers like the trainer; from C++."""
    title = "A CNN from scratch"
    said = ex.section(title)
    if not said:
        return
    ex.tally.check("the CNN learns", at_least(said["accuracy"], accuracy), f"accuracy {said['accuracy']}")
    test = load_file(work / "data/test.safetensors")
    session = onnxruntime.InferenceSession(work / "trained.onnx")
    right = [session.run(None, {"x": x})[0].argmax(1) == labels
             for x, labels in ((test["x"][i:i + 500], test["labels"][i:i + 500]) for i in range(0, len(test["x"]), 500))]
    there = float(np.concatenate(right).mean())
    np.savez(work / "x.npz", x=test["x"][:64])
    np.savez(work / "scores.npz", scores=session.run(None, {"x": test["x"][:64]})[0])
    for how in (["trained.so"], ["lenet.so", "--checkpoint", "out.safetensors"]):
        _, problem = run(*ex.tools["onnx-aot-run"], *how, "--inputs", "x.npz", "--expect", "scores.npz", "--rtol", 1e-4,
                         "--atol", 1e-4, cwd=work)
        ex.tally.check(f"{how[0]} answers like it", problem)
    ex.tally.check("the export is as good in onnxruntime",
                   "" if abs(there - said["accuracy"]) < 0.003 else f"{there} there")
    whole, table = (work / "out.safetensors").read_bytes(), work / "loss.csv"
    norms = [float(line.split(",")[4]) for line in table.read_text().splitlines()[1:]]
    ex.tally.check("each update's norm is known", "" if min(norms) > 0 else str(norms[:5]))
    bare = ex.full(commands(title)[2])
    del bare[bare.index("--metrics"):bare.index("--export")]
    bare[bare.index("--save") + 1] = "bare.safetensors"
    _, problem = run(*bare, cwd=work)
    ex.tally.check("the same bits without --metrics", problem or (
        "" if (work / "bare.safetensors").read_bytes() == whole else "they differ"))

    def rows():
        return len(table.read_text().splitlines()) if table.exists() else 0

    command, kills, all_rows = ex.full(commands(title)[2]), 0, rows()
    (work / "out.safetensors").unlink()
    table.unlink()
    for part in (0.3, 0.6):
        process = subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and rows() < part * all_rows:
            time.sleep(0.01)
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    _, problem = run(*command, cwd=work)
    same = not problem and (work / "out.safetensors").read_bytes() == whole
    ex.tally.check("killed and resumed: the same bits", problem or ("" if same else "they differ"))
    ex.tally.check("it was killed in the middle", "" if kills == 2 and rows() == all_rows else f"{kills} times")


def classifier_from_cpp(ex, work):
    if ex.build("train-classifier"):
        out, problem = run("./train-classifier", "lenet.so", "data/train.safetensors", "data/test.safetensors", 6,
                           "cpp.safetensors", cwd=work)
        last = re.findall(r"accuracy ([0-9.]+)", out)
        ex.tally.check("the CNN learns from C++", problem or at_least(float(last[-1]) if last else None, 0.95),
                       out.strip().splitlines()[-1] if out else "")


def linked(ex, work):
    """An object and gcc: no loader, no file but the values to begin with."""
    (work / "linked").mkdir()
    out = work / "linked" / "lenet.o"
    _, problem = run(*ex.tools["onnx-aot-compile"], "data/lenet.onnx", "--train", "--loss=cross-entropy", "--optimizer=adamw",
                     "-o", out, cwd=work)
    if not ex.tally.check("compile lenet.o", problem):
        return
    _, problem = run("gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "runtime/include", "-I", out.parent,
                     EXAMPLES / "train-linked.c", out, ex.library, "-lstdc++", "-lpthread", "-ldl", "-lm", "-o",
                     work / "train-linked")
    if ex.tally.check("build train-linked.c", problem):
        said, problem = run("./train-linked", "linked/lenet.safetensors", cwd=work)
        right = re.findall(r"(\d+) of 32 right", said)
        ex.tally.check("it learns in a C program", problem or at_least(int(right[0]) if right else None, 30), said.strip()[-50:])


def fine_tuning(ex, work):
    """Five classes first; then only the last layers, on five others. The first layers keep their bits."""
    said = ex.section("The last layers of a trained model")
    if not said:
        return
    ex.tally.check("the last layers learn", at_least(said["accuracy"], 0.9), f"accuracy {said['accuracy']}")
    before, after = ({v.name: v for v in onnx.load(work / f).graph.initializer} for f in ("base.onnx", "tuned.onnx"))
    changed = sorted(n for n in before if before[n].raw_data != after[n].raw_data)
    ex.tally.check("only they change", "" if changed == ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight"]
                   else f"changed: {changed}")


def language_model(ex, work):
    (work / "book.txt").write_text("".join(p.read_text() for p in sorted((ROOT / "docs").glob("*.md"))))
    said = ex.section("A small language model")
    if not said:
        return
    # Below what the frequencies of the characters alone allow.
    alphabet = len((work / "text/alphabet.txt").read_text())
    tokens = load_file(work / "text/test.safetensors")["labels"].ravel()
    share = np.bincount(tokens, minlength=alphabet) / len(tokens)
    entropy = -sum(p * math.log(p) for p in share if p)
    ex.tally.check("it learns more than the alphabet", at_most(said["eval_loss"], entropy - 0.3),
                   f"loss {said['eval_loss']:.3f}, entropy {entropy:.3f}")
    if ex.build("language-model"):
        out, problem = run("./language-model", "language-model.so", "text/train.safetensors", "text/alphabet.txt", 100,
                           cwd=work)
        losses = [float(v) for v in re.findall(r"loss ([0-9.]+)", out)]
        if not problem and (len(losses) < 3 or losses[-1] > losses[0] - 1 or len(out) < 300):
            problem = f"it prints {out[:200]!r}"
        ex.tally.check("it learns and writes from C++", problem, f"loss {losses[:1]} to {losses[-1:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--fashion", type=pathlib.Path)
    args = harness.parse_arguments(parser)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        ex = Examples(tally, args.build, work)
        if args.fashion:
            (work / "fashion-mnist").symlink_to(args.fashion.resolve())
            classifier(ex, work, accuracy=0.91)
        else:
            (work / "fashion-mnist").mkdir()
            draw(work / "fashion-mnist")
            classifier(ex, work, accuracy=0.95)
            classifier_from_cpp(ex, work)
            linked(ex, work)
            fine_tuning(ex, work)
            language_model(ex, work)
    tally.finish()


if __name__ == "__main__":
    main()
