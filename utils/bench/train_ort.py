#!/usr/bin/env python3
"""onnxruntime-training's side of compare.py --train: the same files, through generate_artifacts and its training API.

usage: train_ort.py MODEL.onnx THREADS SECONDS     needs: onnxruntime-training-cpu 1.19.2, onnx 1.16, numpy 1, torch
Prints what onnx-aot-run --bench --json prints. The loss is cross-entropy, the optimizer AdamW: the ones of the
models that it takes.
"""
import json
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnxruntime.training import artifacts
from onnxruntime.training.api import CheckpointState, Module, Optimizer


def main():
    path, threads, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    model = onnx.load(path)
    sizes = [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim]
    classes = model.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as work:
        artifacts.generate_artifacts(
            model, requires_grad=[i.name for i in model.graph.initializer if i.data_type == onnx.TensorProto.FLOAT],
            loss=artifacts.LossType.CrossEntropyLoss, optimizer=artifacts.OptimType.AdamW, artifact_directory=work)
        begin, folder = time.perf_counter(), pathlib.Path(work)
        state = CheckpointState.load_checkpoint(folder / "checkpoint")
        module = Module(folder / "training_model.onnx", state, folder / "eval_model.onnx", session_options=options)
        optimizer = Optimizer(folder / "optimizer_model.onnx", module)
        loaded = time.perf_counter()
    module.train()
    generator = np.random.default_rng(7)
    x = generator.standard_normal(sizes).astype(np.float32)
    labels = generator.integers(0, classes, sizes[:1])

    def step():
        start = time.perf_counter()
        module(x, labels)
        optimizer.step()
        module.lazy_reset_grad()
        return 1e3 * (time.perf_counter() - start)

    first, times, start = step(), [], time.perf_counter()
    while len(times) < 3 or time.perf_counter() - start < seconds:
        times.append(step())
    print(json.dumps({"load_ms": 1e3 * (loaded - begin), "first_run_ms": first, "median_ms": statistics.median(times),
                      "min_ms": min(times), "runs": len(times)}))


if __name__ == "__main__":
    main()
