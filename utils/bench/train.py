"""The training half of compare.py: step times and memory of compiled training modules beside PyTorch's."""
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


def compare(bench, name, path, summary):
    """Measures one model with every number of threads; returns its row."""
    loss, optimizer = MODELS[name]
    data = bench.work / f"{name}.npz"
    batch = make_data(path, data, 8 if name == "resnet18" else 16)
    module = bench.work / f"{name}.so"
    done = harness.run_limited([bench.compiler, path, "--train", f"--loss={loss}", f"--optimizer={optimizer}", "-o", module,
                                *bench.options.flags], seconds=1200, memory=0)
    row = {"name": f"{name} (train)", "flops": 0, "threads": {}, "compile_s": done.seconds, "compile_rss": done.rss,
           "model_bytes": path.stat().st_size}
    if done.status != 0:
        return {**row, "problem": f"{done.ending()}: {done.message()}"}
    row["module_bytes"] = module.stat().st_size
    for threads in bench.options.threads:
        sides = {"ours": [], "theirs": []}
        try:
            for _ in range(bench.options.rounds):
                bench.measure_peak()
                sides["ours"].append(steps(bench, module, data, batch, threads, bench.options.seconds))
                sides["theirs"].append(bench.round(
                    [bench.options.torch, HERE / "train_torch.py", name, threads, str(bench.options.seconds)], threads))
        except RuntimeError as error:
            row["problem"] = str(error)
            break
        row["threads"][threads] = {side: summary(rounds) for side, rounds in sides.items()}
    return row
