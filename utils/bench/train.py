"""The training half of compare.py: step times and memory of compiled training modules beside those of its peers."""
import csv
import pathlib
import statistics

import harness
import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent

# Model: loss and optimizer, as in the table of what is to be beaten.
MODELS = {
    "mlp": ("cross-entropy", "adamw"),
    "mlp512": ("cross-entropy", "adamw"),
    "lenet": ("cross-entropy", "adamw"),
    "resnet18": ("cross-entropy", "sgd:momentum=0.9"),
    "gpt_small": ("cross-entropy:class_axis=-1", "adamw"),
}


def make_data(path, target, batches):
    """Random samples for a model; returns the batch size."""
    graph, rng = onnx.load(path, load_external_data=False).graph, np.random.default_rng(7)
    shape = [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]
    scores = [d.dim_value for d in graph.output[0].type.tensor_type.shape.dim]
    count = shape[0] * batches
    if graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT64:
        x = rng.integers(0, scores[-1], (count, *shape[1:]))
    else:
        x = rng.standard_normal((count, *shape[1:])).astype(np.float32)
    labels = rng.integers(0, scores[-1], (count, *scores[1:-1]))
    np.savez(target, **{graph.input[0].name: x, "labels": labels})
    return shape[0]


def steps(bench, module, data, batch, threads, seconds):
    """One process that trains for about so long; returns the figures of a round."""
    metrics = bench.work / "metrics.csv"

    def train(epochs):
        done = bench.pinned(threads, [bench.runner, module, "--train", data, "--batch", batch, "--epochs", epochs, "--lr",
                                      "0.001", "--threads", threads, "--metrics", metrics])
        if done.status != 0:
            raise RuntimeError(f"{done.ending()}: {done.message()}")
        times = [float(row["ms"]) for row in csv.DictReader(metrics.open())]
        return done, times
    _, times = train(1)
    done, times = train(max(1, round(1e3 * seconds / max(sum(times), 1e-3))))
    return {"load_ms": 0.0, "first_run_ms": times[0], "median_ms": statistics.median(times), "min_ms": min(times),
            "runs": len(times), "rss": done.rss}


def peers(bench, name, path):
    """Yields (label, command without threads and seconds) for each peer whose environment is given."""
    if bench.options.torch:
        yield "PyTorch", [bench.options.torch, HERE / "train_torch.py", name]
    if bench.options.ort_training:
        yield "onnxruntime-training", [bench.options.ort_training, "-W", "ignore", HERE / "train_ort.py", path]


def compare(bench, name, path, summary):
    """Measures one model with every number of threads; returns a row for each peer, our own rounds shared by all."""
    loss, optimizer = MODELS[name]
    data = bench.work / f"{name}.npz"
    batch = make_data(path, data, 8 if name == "resnet18" else 16)
    module = bench.work / f"{name}.so"
    done = harness.run_limited([bench.compiler, path, "--train", f"--loss={loss}", f"--optimizer={optimizer}", "-o", module,
                                *bench.options.flags], seconds=1200, memory=0)
    shared = {"flops": 0, "compile_s": done.seconds, "compile_rss": done.rss, "model_bytes": path.stat().st_size}
    if done.status != 0:
        return [{**shared, "name": f"{name} (train)", "threads": {}, "problem": f"{done.ending()}: {done.message()}"}]
    shared["module_bytes"] = module.stat().st_size
    rows = [{**shared, "name": f"{name} (train), {label}", "peer": label, "threads": {}} for label, _ in peers(bench, name, path)]
    for threads in bench.options.threads:
        ours, theirs = [], [[] for _ in rows]
        for _ in range(bench.options.rounds):
            bench.measure_peak()
            ours.append(steps(bench, module, data, batch, threads, bench.options.seconds))
            for row, rounds, (_, command) in zip(rows, theirs, peers(bench, name, path)):
                if "refusal" in row:
                    continue
                try:
                    rounds.append(bench.round([*command, threads, str(bench.options.seconds)], threads))
                except RuntimeError as error:  # a model that the peer refuses
                    row["refusal"] = f"refused by the peer: {error}"
        for row, rounds in zip(rows, theirs):
            if "refusal" not in row:
                row["threads"][threads] = {"ours": summary(ours), "theirs": summary(rounds)}
    return rows
