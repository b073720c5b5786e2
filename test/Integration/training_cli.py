#!/usr/bin/env python3
"""Train from the command line: numbers against numpy, checkpoints, runs that are killed, mistakes.

usage: training_cli.py [--build DIR]

The module is written by hand (test/unit/runtime/Inputs/training-fixture.c, built with gcc): a linear regression with
SGD and momentum, which numpy follows in float64. No compiler of ours is needed.
"""
import argparse
import csv
import json
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "utils"))
import harness  # noqa: E402

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402

SAMPLES, BATCH = 50, 8


class Bench:
    """Paths, and the tool."""

    def __init__(self, tool, work):
        self.tool, self.work = tool, work

    def __truediv__(self, name):
        return self.work / name

    def command(self, *args, module="linear.so", data="data.npz"):
        return [str(self.tool), str(self / module), "--train", str(self / data), *map(str, args)]

    def run(self, *args, **more):
        """Returns (standard output, problem)."""
        done = subprocess.run(self.command(*args, **more), capture_output=True, text=True)
        return done.stdout, "" if done.returncode == 0 else f"status {done.returncode}: {done.stderr.strip()[-400:]}"

    def refuses(self, tally, name, *args, says, **more):
        _, problem = self.run(*args, **more)
        missing = [part for part in says if part not in problem]
        tally.check(name, "" if problem and not missing else f"it says {problem!r}, not {missing}", problem)


def make_data(count, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, 3)).astype(np.float32)
    return {"x": x, "target": (2 * (x @ np.float32([1, -3, 0.5]) + 1)).astype(np.float32)}


START = {"w": np.float32([.5, .25, -.125]), "b": np.array(.75), "scale": np.array(2, np.float32),
         "seen": np.array([100])}


def prepare(bench):
    for module, fused in (("linear", 0), ("fused", 1), ("both", 2), ("bare", 3)):
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", f"-DFIXTURE_FUSED={fused}", "-I", ROOT / "runtime/include",
                        ROOT / "test/unit/runtime/Inputs/training-fixture.c", "-o", bench / f"{module}.so", "-lm"],
                       check=True)
        save_file(START, bench / f"{module}.safetensors")
    np.savez(bench / "data.npz", **make_data(SAMPLES, 0))
    save_file(make_data(SAMPLES, 0), bench / "data.safetensors")
    np.savez(bench / "eval.npz", **make_data(20, 1))


def gradients(w, b, x, t):
    """Loss and gradients of the fixture's model, in float64."""
    error = 2 * (x @ w + b) - t
    g = 4 * error / len(t)
    return np.mean(error ** 2), x.T @ g, g.sum()


def reference(epochs, rate, accumulate=1):
    """The training that the tool makes without --shuffle: (rows of step, loss, lr, norm; parameters)."""
    data = make_data(SAMPLES, 0)
    x, t = data["x"].astype(np.float64), data["target"].astype(np.float64)
    w, b, vw, vb = START["w"].astype(np.float64), float(START["b"]), np.zeros(3), 0.0
    rows = []
    batches = [slice(i, i + BATCH) for i in range(0, SAMPLES, BATCH)]
    for _ in range(epochs):
        for first in range(0, len(batches), accumulate):
            group = batches[first:first + accumulate]
            parts = [gradients(w, b, x[s], t[s]) for s in group]
            loss, gw, gb = (sum(p[i] for p in parts) / len(parts) for i in range(3))
            norm, lr = np.sqrt(gw @ gw + gb * gb), rate(len(rows))
            clip = min(1, 100 / norm)
            vw, vb = vw / 2 + gw * clip, vb / 2 + gb * clip
            w, b = w - lr * vw, b - lr * vb
            rows.append((len(rows) + 1, loss, lr, norm))
    return rows, w, b


def numbers(tally, bench):
    """Every loss, rate and norm is numpy's; so are the parameters."""
    total = 4 * 7
    cases = {
        "constant rate": ([], lambda i: .02, {}),
        "cosine": (["--schedule=cosine"], lambda i: .01 * (1 + np.cos(np.pi * i / total)), {}),
        "linear with warm-up": (["--schedule=linear:warmup_steps=5"],
                                lambda i: .02 * (i / 5 if i < 5 else (total - i) / (total - 5)), {}),
        "accumulation": (["--accumulate=3"], lambda i: .02, {"accumulate": 3}),
    }
    for name, (flags, rate, how) in cases.items():
        _, problem = bench.run("--batch", BATCH, "--epochs", 4, "--lr", .02, "--metrics", bench / "m.csv", "--save",
                               bench / "out.safetensors", *flags)
        if problem:
            tally.check(f"numbers: {name}", problem)
            continue
        text = (bench / "m.csv").read_text()
        if not text.startswith("step,epoch,loss,lr,grad_norm,ms\n"):
            problem = "the header is another"
        rows, w, b = reference(4, rate, **how)
        got = [[float(v) for v in r[:5]] for r in list(csv.reader(text.splitlines()))[1:]]
        if len(got) != len(rows):
            problem = f"{len(got)} rows instead of {len(rows)}"
        for g, (step, loss, lr, norm) in zip(got, rows):
            if g[0] != step or not np.allclose([g[2], g[3], g[4]], [loss, lr, norm], rtol=1e-4, atol=1e-6):
                problem = problem or f"row {g}, numpy has {step, loss, lr, norm}"
        out = load_file(bench / "out.safetensors")
        if not np.allclose(out["w"], w, rtol=1e-4) or not np.allclose(out["b"], b, rtol=1e-4):
            problem = problem or f"w={out['w']} b={out['b']}, numpy has {w}, {b}"
        if out["seen"][0] != 100 + 4 * SAMPLES:
            problem = problem or f"the statistic is {out['seen']}"
        tally.check(f"numbers: {name}", problem, f"{len(rows)} steps")


def files(tally, bench):
    """The same training from another kind of file, with another number of threads, by the fused program."""
    def train(*flags, seed=5, **more):
        _, problem = bench.run("--batch", BATCH, "--epochs", 3, "--shuffle", "--seed", seed, "--save",
                               bench / "out.safetensors", *flags, **more)
        return problem, None if problem else (bench / "out.safetensors").read_bytes()
    problem, first = train("--threads", 1)
    tally.check("a training with --shuffle", problem)
    for name, flags, more in (("from .safetensors", [], {"data": "data.safetensors"}),
                              ("with 2 threads", ["--threads", 2], {}),
                              ("by the fused program", [], {"module": "fused.so"})):
        problem, again = train(*flags, **more)
        tally.check(f"the same bits {name}", problem or ("" if again == first else "they differ"))
    problem, other = train(seed=6)
    tally.check("another order with another seed", problem or ("" if other != first else "it is the same"))


def evaluation(tally, bench):
    out, problem = bench.run("--batch", BATCH, "--epochs", 2, "--lr", .02, "--eval", bench / "eval.npz", "--json",
                             "--plot", bench / "loss.svg", "--save", bench / "out.safetensors")
    if not problem:
        said, data, state = json.loads(out), make_data(20, 1), load_file(bench / "out.safetensors")
        want = gradients(state["w"].astype(np.float64), state["b"], data["x"].astype(np.float64), data["target"])[0]
        if not np.isclose(said["eval_loss"], want, rtol=1e-5) or said["updates"] != 14 or said["accuracy"] is not None:
            problem = f"{said}, the loss is {want}"
    tally.check("--eval", problem)
    svg = (bench / "loss.svg").read_text() if not problem else ""
    root = ElementTree.fromstring(svg) if svg else []
    curve = [e for e in root if e.get("stroke") == "#1f77b4"]
    tally.check("--plot FILE.svg", problem or ("" if len(curve) == 1 and len(curve[0].get("points").split()) == 14 else svg[:300]))
    _, problem = bench.run("--batch", BATCH, "--epochs", 2, "--lr", .02, "--plot", bench / "loss.png")
    tally.check("--plot FILE.png", problem or check_png((bench / "loss.png").read_bytes()))


def check_png(data):
    """The file's structure, and that it shows a curve on white."""
    chunks, at = {}, 8
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        if zlib.crc32(kind + body) != int.from_bytes(data[at + 8 + size:at + 12 + size], "big"):
            return f"{kind}: a wrong checksum"
        chunks[kind] = body
        at += 12 + size
    if data[:8] != b"\x89PNG\r\n\x1a\n" or list(chunks) != [b"IHDR", b"IDAT", b"IEND"]:
        return f"{data[:8]} {list(chunks)}"
    width, height = (int.from_bytes(chunks[b"IHDR"][i:i + 4], "big") for i in (0, 4))
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 3 * width + 1)
    pixels = rows[:, 1:].reshape(height, width, 3)
    columns = (pixels == [0x1f, 0x77, 0xb4]).all(2).any(0).sum()
    white = (pixels == 255).all(2).mean()
    return "" if columns > 300 and 0.8 < white < 0.99 and not rows[:, 0].any() else f"{columns} columns, {white} white"


def killed(tally, bench, rounds=12):
    """A run that is killed at random and started again ends with the same bits and the same metrics."""
    flags = ["--batch", 2, "--epochs", 30, "--shuffle", "--seed", 3, "--schedule=cosine", "--accumulate", 2]
    begin = time.monotonic()
    _, problem = bench.run(*flags, "--save", bench / "whole.safetensors", "--metrics", bench / "whole.csv",
                           "--save-every", 7)
    took = time.monotonic() - begin
    if not tally.check("a training that is not killed", problem):
        return
    def rows(name):
        return [r[:5] for r in csv.reader((bench / name).read_text().splitlines())]
    chance = random.Random(4)
    command = bench.command(*flags, "--save", bench / "part.safetensors", "--metrics", bench / "part.csv",
                            "--save-every", 7, "--resume")
    kills = 0
    for _ in range(rounds):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(took * chance.uniform(0.05, 0.3))
        process.kill()
        kills += process.wait() == -signal.SIGKILL
    done = subprocess.run(command, capture_output=True, text=True)
    problem = done.stderr if done.returncode else ""
    same = (bench / "part.safetensors").read_bytes() == (bench / "whole.safetensors").read_bytes()
    tally.check("killed and resumed: the same bits", problem or ("" if same else "they differ"), f"{kills} kills")
    tally.check("killed and resumed: the same metrics",
                "" if rows("part.csv") == rows("whole.csv") else "they differ")
    tally.check("it was killed at all", "" if kills > 1 else f"only {kills} times")


def interrupted(tally, bench):
    """Asked to end, it saves; resumed, it ends with the bits of a training that was not."""
    epochs, took = 500, 0
    while took < 0.9:  # long enough to be asked in the middle, on any machine
        epochs *= 4
        flags = ["--batch", 2, "--epochs", epochs, "--shuffle"]
        begin = time.monotonic()
        _, problem = bench.run(*flags, "--save", bench / "whole.safetensors")
        took = time.monotonic() - begin
        if problem:
            break
    process = subprocess.Popen(bench.command(*flags, "--save", bench / "asked.safetensors"), stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, text=True)
    time.sleep(took / 3)
    process.terminate()
    said = process.communicate()[1]
    if process.returncode != 1 or "which are saved" not in said:
        problem = problem or f"status {process.returncode}: {said}"
    if tally.check("SIGTERM saves", problem, said.strip()):
        _, problem = bench.run(*flags, "--save", bench / "asked.safetensors", "--resume")
        same = (bench / "asked.safetensors").read_bytes() == (bench / "whole.safetensors").read_bytes()
        tally.check("SIGTERM and resumed: the same bits", problem or ("" if same else "they differ"))


def inference(tally, bench):
    """The trained module answers without targets, with the values of a checkpoint."""
    x = make_data(20, 1)["x"]
    np.savez(bench / "x.npz", x=x)
    _, problem = bench.run("--batch", BATCH, "--lr", .02, "--save", bench / "out.safetensors")
    state = load_file(bench / "out.safetensors")
    np.savez(bench / "y.npz", y=(2 * (x.astype(np.float64) @ state["w"] + state["b"])).astype(np.float32))
    def infer(*flags):
        return subprocess.run([bench.tool, str(bench / "linear.so"), "--inputs", str(bench / "x.npz"), *map(str, flags)],
                              capture_output=True, text=True)
    done = infer("--checkpoint", bench / "out.safetensors", "--expect", bench / "y.npz", "--rtol", 1e-6)
    tally.check("--checkpoint without --train: what was trained answers",
                problem or ("" if done.returncode == 0 else done.stdout + done.stderr), done.stdout.strip())
    done = infer("--checkpoint", bench / "linear.safetensors", "--expect", bench / "y.npz", "--rtol", 1e-6)
    tally.check("it answers otherwise with other values", "" if done.returncode == 1 and not done.stderr else done.stderr)
    done = infer("--checkpoint", bench / "data.safetensors")
    tally.check("it refuses another model's values",
                "" if done.returncode == 1 and "'w'" in done.stderr else f"{done.returncode}: {done.stderr}")
    done = infer()
    tally.check("it says what to give it", "" if done.returncode == 1 and "--checkpoint" in done.stderr else done.stderr)


def norms(tally, bench):
    """With --metrics the norm is there, also where the module could do without; no bit changes for that."""
    ends = []
    for flags in ([], ["--metrics", bench / "m.csv"]):
        _, problem = bench.run("--batch", BATCH, "--epochs", 2, "--lr", .02, "--save", bench / "out.safetensors", *flags,
                               module="both.so")
        ends.append(problem or (bench / "out.safetensors").read_bytes())
    rows = list(csv.reader((bench / "m.csv").read_text().splitlines()))[1:]
    tally.check("--metrics: each row has a norm", "" if len(rows) == 14 and all(float(r[4]) > 0 for r in rows) else str(rows))
    tally.check("--metrics: the same bits as without", "" if ends[0] == ends[1] else str(ends)[:300])


def make_model(path, drop=None, shape=(3,)):
    """The fixture's model as an ONNX file; its initializers lie in it in all the ways there are."""
    raw = onnx.numpy_helper.from_array
    values = {"w": helper.make_tensor("w", TensorProto.FLOAT, shape, np.resize(START["w"], shape).ravel()),
              "b": helper.make_tensor("b", TensorProto.DOUBLE, [], [.75]),
              "scale": raw(START["scale"], "scale"),
              "seen": helper.make_tensor("seen", TensorProto.INT64, [1], [100]),
              "other": raw(np.float32([7]), "other")}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["xw"]), helper.make_node("Cast", ["b"], ["bf"], to=1),
             helper.make_node("Add", ["xw", "bf"], ["s"]), helper.make_node("Mul", ["s", "scale"], ["y"]),
             helper.make_node("Identity", ["seen"], ["count"]), helper.make_node("Identity", ["other"], ["rest"])]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "line", [info("x", 1, ["N", 3])],
                              [info("y", 1, ["N"]), info("count", 7, [1]), info("rest", 1, [1])],
                              [v for k, v in values.items() if k != drop], doc_string="kept")
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], producer_name="test")
    model.ir_version = 10
    onnx.save(model, path)
    return model


def export(tally, bench):
    """The trained model runs in onnxruntime with the values of the checkpoint; all else is as it was."""
    source = make_model(bench / "line.onnx")
    _, problem = bench.run("--batch", BATCH, "--epochs", 2, "--lr", .02, "--save", bench / "out.safetensors",
                           "--model", bench / "line.onnx", "--export", bench / "trained.onnx")
    if not tally.check("--export", problem):
        return
    state, x = load_file(bench / "out.safetensors"), make_data(20, 1)["x"]
    got = onnxruntime.InferenceSession(bench / "trained.onnx").run(None, {"x": x})
    want = 2 * (x.astype(np.float64) @ state["w"] + state["b"])
    problem = harness.compare(got[0], want.astype(np.float32), rtol=1e-5, atol=1e-6).problem
    tally.check("--export: the values are the trained ones",
                problem or ("" if got[1][0] == 200 and got[2][0] == 7 else str(got[1:])))
    trained = onnx.load(bench / "trained.onnx")
    onnx.checker.check_model(trained)
    for model in (source, trained):
        for tensor in model.graph.initializer:
            if tensor.name != "other":
                for field in ("raw_data", "float_data", "double_data", "int64_data"):
                    tensor.ClearField(field)
    tally.check("--export: all else is as it was", "" if source == trained else "it differs")
    done = subprocess.run([bench.tool, str(bench / "linear.so"), "--checkpoint", str(bench / "out.safetensors"), "--model",
                           str(bench / "line.onnx"), "--export", str(bench / "again.onnx")], capture_output=True, text=True)
    tally.check("--export of a checkpoint: the same file", done.stderr or (
        "" if (bench / "again.onnx").read_bytes() == (bench / "trained.onnx").read_bytes() else "it differs"))
    for name, how, says in (("a parameter is missing", {"drop": "b"}, ["'b'", "not the model"]),
                            ("a parameter has another shape", {"shape": (3, 1)}, ["'w'", "[3, 1]", "[3]"])):
        make_model(bench / "other.onnx", **how)
        bench.refuses(tally, f"--export: {name}", "--model", bench / "other.onnx", "--export", bench / "no.onnx",
                      says=says)
    whole = (bench / "line.onnx").read_bytes()
    chance, problems = random.Random(1), []
    for i in range(60):
        damaged = bytearray(whole[:chance.randrange(len(whole))] if i % 2 else whole)
        if i % 2 == 0:
            damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        (bench / "damaged.onnx").write_bytes(damaged)
        done = subprocess.run(bench.command("--epochs", 0, "--model", bench / "damaged.onnx", "--export",
                                            bench / "no.onnx"), capture_output=True, text=True)
        if done.returncode not in (0, 1):
            problems.append(f"{i}: status {done.returncode}")
    tally.check("--export: damaged files are refused or copied", "; ".join(problems))


def info(tally, bench):
    done = subprocess.run([bench.tool, str(bench / "linear.so"), "--info"], capture_output=True, text=True)
    wanted = ["loss      mse", "optimizer sgd:momentum=0.5", 'input     x: float32 ["?",3]', "target    target: float32",
              "parameter w: float32 [3], trainable", "parameter seen: int64 [1], state", "program   update: arena 0 bytes",
              "memory    parameters 32, gradients 20, optimizer state 20 bytes"]
    missing = [w for w in wanted if w not in done.stdout]
    tally.check("--info", f"no {missing} in {done.stdout}" if missing or done.returncode else "")
    done = subprocess.run([bench.tool, str(bench / "fused.so"), "--info", "--json"], capture_output=True, text=True)
    said = json.loads(done.stdout)
    tally.check("--info --json", "" if sorted(said["programs"]) == ["eval", "fused", "infer"] and said["gradient_bytes"] == 0
                and said["slots"] == ["velocity"] else str(said))


def partial(tally, bench):
    """A checkpoint of another model gives what it has."""
    save_file({"w": np.float32([9, 8, 7]), "head": np.float32([1])}, bench / "other.safetensors")
    flags = ["--checkpoint", bench / "other.safetensors", "--epochs", 0, "--save", bench / "out.safetensors"]
    bench.refuses(tally, "another model's checkpoint", *flags, says=["'b'"])
    _, problem = bench.run(*flags, "--partial")
    if not problem:
        out = load_file(bench / "out.safetensors")
        problem = "" if list(out["w"]) == [9, 8, 7] and out["b"] == .75 and out["scale"] == 2 else str(out)
    tally.check("--partial", problem)


def mistakes(tally, bench):
    data = make_data(10, 0)
    np.savez(bench / "short.npz", x=data["x"][:9], target=data["target"])
    np.savez(bench / "wrong.npz", x=data["x"][:, :2], target=data["target"])
    np.savez(bench / "double.npz", x=data["x"].astype(np.float64), target=data["target"])
    np.savez(bench / "half.npz", x=data["x"])
    np.savez(bench / "bad.npz", x=data["x"], target=np.full(10, -2000, np.float32))
    np.savez(bench / "large.npz", x=data["x"] * 1e3, target=data["target"])
    np.savez(bench / "far.npz", x=data["x"], target=np.full(10, 3e38, np.float32))
    bench.refuses(tally, "a missing target", data="half.npz", says=["half.npz", "target 'target'"])
    bench.refuses(tally, "other numbers of samples", data="short.npz", says=["'target'", "10 samples", "9"])
    bench.refuses(tally, "another shape", data="wrong.npz", says=["'x'", "[10, 2]", "[?, 3]"])
    bench.refuses(tally, "another type", data="double.npz", says=["'x'", "float64", "float32"])
    bench.refuses(tally, "a value that the model refuses", data="bad.npz", says=["below -1000", "(epoch 1, batch 1)"])
    for name, value, says in (("a NaN", np.nan, "not a number"), ("an infinity", np.inf, "infinite")):
        target = data["target"].copy()
        target[7] = value
        np.savez(bench / "nan.npz", x=data["x"], target=target)
        for module in ("linear.so", "fused.so"):
            (bench / "nan.safetensors").unlink(missing_ok=True)
            bench.refuses(tally, f"{name} in the data of {module}", "--batch", 2, "--save", bench / "nan.safetensors",
                          module=module, data="nan.npz", says=["loss", says, "epoch 1, batch 4", "samples from 6",
                                                               "was not written"])
            tally.check("it saves nothing", "it did" if (bench / "nan.safetensors").exists() else "")
    bench.refuses(tally, "a learning rate that is too high", "--lr", 1e30, "--epochs", 50, says=["loss", "1e+30", "too high"])
    for module in ("linear.so", "fused.so"):
        kept = bench / "kept.safetensors"
        kept.write_bytes(b"what was there before")
        bench.refuses(tally, f"parameters of {module} that its last update made infinite", "--lr", 3e38, "--epochs", 1, "--batch", 10,
                      "--save", kept, module=module, data="large.npz", says=["parameter '", "not finite after 1 updates", "not written"])
        tally.check("it keeps the old checkpoint", "" if kept.read_bytes() == b"what was there before" else "it did not")
        bench.refuses(tally, f"an evaluation of {module} that is infinite", "--eval", bench / "far.npz", "--epochs", 1, module=module,
                      says=["loss of the evaluation is infinite", "far.npz"])
    bench.refuses(tally, "a module without optimizer", module="bare.so", says=["--optimizer=none"])
    bench.refuses(tally, "--export to an unknown kind", "--export", bench / "a.pt", says=[".onnx", ".so"])
    bench.refuses(tally, "no file", data="none.npz", says=["none.npz"])
    bench.refuses(tally, "no checkpoint", "--checkpoint", bench / "none", says=["none"])
    bench.refuses(tally, "a schedule that is none", "--schedule=sine", says=["'sine'", "cosine"])
    bench.refuses(tally, "--resume without --save", "--resume", says=["--save"])
    bench.refuses(tally, "--plot as .pdf", "--plot", bench / "a.pdf", says=[".svg", ".png"])
    bench.refuses(tally, "accumulation without gradients", "--accumulate", 2, module="fused.so", says=["accumulate"])
    bench.refuses(tally, "--export without a model", "--export", bench / "a.onnx", says=["ONNX file", "--model"])
    bench.refuses(tally, "a batch of 0", "--batch", 0, says=["--batch"])
    _, problem = bench.run("--save", bench / "a.safetensors", "--seed", 1)
    tally.check("a checkpoint to resume from", problem)
    bench.refuses(tally, "--resume with another seed", "--save", bench / "a.safetensors", "--seed", 2, "--resume",
                  says=["seed=1", "seed=2"])
    damaged = bytearray((bench / "a.safetensors").read_bytes())
    damaged[-20] ^= 4
    (bench / "b.safetensors").write_bytes(damaged)
    bench.refuses(tally, "a damaged checkpoint", "--checkpoint", bench / "b.safetensors", says=["damaged", "hash"])
    bench.refuses(tally, "a full disk", "--save", "/dev/full", says=["/dev/full"])
    done = subprocess.run([bench.tool, str(bench / "linear.so"), "--epochs", "2"], capture_output=True, text=True)
    tally.check("--epochs without --train", "" if done.returncode == 1 and "--train" in done.stderr else done.stderr)
    done = subprocess.run([bench.tool, str(bench / "linear.so")], capture_output=True, text=True)
    tally.check("a training module without --train",
                "" if done.returncode == 1 and "training module" in done.stderr else done.stderr)


def places(tally, bench):
    """No output takes the place of an input or of another; what cannot be written is known before the first step."""
    make_model(bench / "line.onnx")
    make_model(bench / "other.onnx", drop="b")
    (bench / "link.npz").symlink_to(bench / "data.npz")
    (bench / "hard.npz").hardlink_to(bench / "data.npz")
    (bench / "folder").mkdir()
    inputs = [bench / name for name in ("data.npz", "eval.npz", "linear.so", "linear.safetensors", "line.onnx")]
    before = [path.read_bytes() for path in inputs]
    model = ["--model", bench / "line.onnx"]
    late = ["--metrics", bench / "late.csv"]  # made by the training: it must not begin
    for name, args, says in (
            ("--save over the data", ["--save", bench / "data.npz"], ["--save", "would overwrite --train"]),
            ("--save over the module", ["--save", bench / "linear.so"], ["would overwrite MODULE"]),
            ("--save over the initial parameters", ["--save", bench / "linear.safetensors"], ["would overwrite the module's"]),
            ("--metrics over the data by a link", ["--metrics", bench / "link.npz"], ["--metrics", "would overwrite --train"]),
            ("--metrics over the data by a hard link", ["--metrics", bench / "hard.npz"], ["would overwrite --train"]),
            ("--plot over the evaluation's data", ["--eval", bench / "eval.npz", "--plot", bench / "folder/../eval.npz"],
             ["would overwrite --eval"]),
            ("--export over its model", [*model, "--export", bench / "line.onnx"], ["would overwrite --model"]),
            ("--metrics and --save", ["--save", bench / "new", "--metrics", bench / "new"], ["would overwrite --save"]),
            ("--save without a folder", [*late, "--save", bench / "none/a"], ["--save", "there is no folder"]),
            ("--save to a folder", [*late, "--save", bench / "folder"], ["--save", "it is a folder"]),
            ("--export without a folder", [*late, *model, "--export", bench / "none/a.onnx"], ["there is no folder"]),
            ("--model that is missing", [*late, "--model", bench / "nope.onnx", "--export", bench / "a.onnx"],
             ["cannot open --model", "nope.onnx", "No such file"]),
            ("--model of another model", [*late, "--model", bench / "other.onnx", "--export", bench / "a.onnx"],
             ["'b'", "not the model"]),
            ("--eval that is missing", [*late, "--eval", bench / "nope.npz"], ["cannot open --eval", "No such file"]),
            *((f"{option} with --train", [*late, option, value], ["--train", option]) for option, value in
              (("--outputs", bench / "o.npz"), ("--dim", "N=1"), ("--random-inputs", 1), ("--expect", bench / "o.npz"),
               ("--bench", 1), ("--inputs", bench / "o.npz")))):
        bench.refuses(tally, name, *args, says=says)
    bench.refuses(tally, "data that is missing", data="nope.npz", says=["cannot open --train", "No such file"])
    left = [name for name in ("late.csv", "new", "a.onnx", "o.npz") if (bench / name).exists()]
    tally.check("nothing was written", ", ".join(left))
    tally.check("inputs are as they were", "" if before == [path.read_bytes() for path in inputs] else "one differs")
    own = bench / "own.safetensors"
    save_file(START, own)
    _, problem = bench.run("--checkpoint", own, "--save", own, "--epochs", 1)
    tally.check("--save over its own --checkpoint", problem or ("" if "velocity" in str(sorted(load_file(own))) else "unchanged"))
    with open("/dev/full", "w") as full:
        done = subprocess.run(bench.command("--epochs", 1), stdout=full, stderr=subprocess.PIPE, text=True)
    tally.check("a full standard output",
                "" if done.returncode == 1 and "standard output" in done.stderr else f"{done.returncode}: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    args = harness.parse_arguments(parser)
    tally = harness.Tally()
    with tempfile.TemporaryDirectory() as work:
        bench = Bench(harness.tool(args.build, "onnx-aot-run"), pathlib.Path(work))
        prepare(bench)
        numbers(tally, bench)
        files(tally, bench)
        evaluation(tally, bench)
        killed(tally, bench)
        interrupted(tally, bench)
        info(tally, bench)
        partial(tally, bench)
        inference(tally, bench)
        norms(tally, bench)
        export(tally, bench)
        mistakes(tally, bench)
        places(tally, bench)
    tally.finish()


if __name__ == "__main__":
    main()
