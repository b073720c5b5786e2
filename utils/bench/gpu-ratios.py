#!/usr/bin/env python3
"""Time products, convolutions, softmax, attention and a training step beside PyTorch (cuBLAS, cuDNN) on a GPU.

usage: gpu-ratios.py [--build DIR] --arch sm_80 [--filter RE]

Both run in turn, five rounds; the ratio is of the medians: above 1.00 ours is faster. Ours includes the copies of inputs
and outputs, so torch copies them as well. Needs torch with CUDA.
"""
import argparse
import pathlib
import re
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "utils"))
import harness  # noqa: E402

ROUNDS, SECONDS = 5, 1.0
HALF = TensorProto.FLOAT16


def cases(torch):
    """Yields (name, nodes, inputs, weights, torch function)."""
    functional = torch.nn.functional
    for kind, name in ((TensorProto.FLOAT, "f32"), (HALF, "f16")):
        for m, n, k in ((1024, 1024, 1024), (4096, 4096, 1024), (64, 4096, 4096)):
            yield (f"gemm_{name}_{m}x{n}x{k}", [helper.make_node("MatMul", ["x", "w"], ["y"])],
                   {"x": (kind, (m, k)), "w": (kind, (k, n))}, lambda x, w: x @ w)
        yield (f"conv_{name}", [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 4)],
               {"x": (kind, (16, 64, 56, 56)), "w": (kind, (64, 64, 3, 3))}, lambda x, w: functional.conv2d(x, w, padding=1))
        yield (f"softmax_{name}", [helper.make_node("Softmax", ["x"], ["y"], axis=-1)], {"x": (kind, (4096, 1024))},
               lambda x: functional.softmax(x, -1))
        yield (f"attention_{name}", [helper.make_node("MatMul", ["q", "k"], ["s"]),
                                     helper.make_node("Softmax", ["s"], ["p"], axis=-1),
                                     helper.make_node("MatMul", ["p", "v"], ["y"])],
               {"q": (kind, (8, 12, 512, 64)), "k": (kind, (8, 12, 64, 512)), "v": (kind, (8, 12, 512, 64))},
               lambda q, k, v: functional.scaled_dot_product_attention(q, k.transpose(-1, -2), v, scale=1.0))


def time_ours(runner, module, inputs):
    """Milliseconds of a run, as onnx-aot-run measures them."""
    done = harness.run_limited([runner, module, "--inputs", inputs, "--bench", SECONDS, "--json"], 120, 0)
    found = re.search(r'"median_ms":\s*([0-9.eE+-]+)', done.out)
    return float(found.group(1)) if found else None


def time_torch(torch, function, arrays):
    host = [torch.from_numpy(a).pin_memory() for a in arrays]
    times, end = [], time.monotonic() + SECONDS
    while time.monotonic() < end:
        begin = time.perf_counter()
        function(*(h.cuda(non_blocking=True) for h in host)).cpu()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[len(times) // 10:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    harness.add_build_argument(parser)
    parser.add_argument("--arch", required=True, metavar="sm_80")
    parser.add_argument("--filter", default="", metavar="RE")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not installed: there is nothing to compare with")
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no CUDA device: there is nothing to compare with")
    compiler, runner = (harness.tool(options.build, f"onnx-aot-{n}") for n in ("compile", "run"))
    random = np.random.default_rng(0)
    print("case, ms, ms of torch, ratio")
    for name, nodes, inputs, function in cases(torch):
        if not re.search(options.filter, name):
            continue
        with tempfile.TemporaryDirectory(prefix="onnx-aot-") as folder:
            work = pathlib.Path(folder)
            values = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
            graph = helper.make_graph(nodes, name, values, [helper.make_empty_tensor_value_info("y")])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
                      work / "model.onnx")
            arrays = {n: random.standard_normal(s).astype(helper.tensor_dtype_to_np_dtype(t)) for n, (t, s) in inputs.items()}
            np.savez(work / "in.npz", **arrays)
            done = harness.run_limited([compiler, work / "model.onnx", "--device=cuda", f"--gpu-arch={options.arch}", "-o",
                                        work / "model.so"], 300, 0)
            if done.status != 0:
                print(f"{name}: {done.message() or done.ending()}")
                continue
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(time_ours(runner, work / "model.so", work / "in.npz"))
                theirs.append(time_torch(torch, function, list(arrays.values())))
            if None in ours:
                print(f"{name}: it does not run")
                continue
            mine, other = statistics.median(ours), statistics.median(theirs)
            print(f"{name}, {mine:.3f}, {other:.3f}, {other / mine:.2f}", flush=True)


if __name__ == "__main__":
    main()
