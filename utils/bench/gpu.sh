#!/usr/bin/env bash
# Check and time modules on a real GPU: correctness first, then times. To be run where a GPU is lent, from a built tree.
# usage: utils/bench/gpu.sh [BUILD] [MODEL.onnx...]
#   BUILD    build folder (default: build/release); its tools must run on this machine
#   MODEL    models to time (default: those of docs that .deps/models holds)
# The last line is "N passed, N failed", of the correctness part.
set -uo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
[ $# -eq 0 ] || shift
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader ||
  { echo "there is no NVIDIA GPU here: nothing was run"; echo "0 passed, 1 failed"; exit 1; }
arch=sm_$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
ptxas=$(command -v ptxas || true)
flags=(--device=cuda "--gpu-arch=$arch" ${ptxas:+"--ptxas=$ptxas"})
echo "== correctness on $arch"
python3 test/Integration/gpu.py --build "$build" --real "$arch" | tee build/gpu-correctness.log | grep -v '^ok'
echo "== training: 20 steps beside the CPU's"
python3 test/Integration/gpu-training.py --build "$build" --real "$arch" | tee -a build/gpu-correctness.log | grep -v '^ok'
echo "== ratios to PyTorch (cuBLAS, cuDNN); above 1 ours is faster"
python3 utils/bench/gpu-ratios.py --build "$build" --arch "$arch"
echo "== times: the same module on the GPU and, compiled for it, on the CPU"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ $# -gt 0 ] || set -- $(find "${ONNX_AOT_DEPS:-.deps}/models" -name '*.onnx' -size +1M 2>/dev/null | head -5)
for model; do
  for device in gpu cpu; do
    extra=()
    [ $device = cpu ] || extra=("${flags[@]}")
    if "$build/bin/onnx-aot-compile" "$model" "${extra[@]}" -o "$work/$device.so" 2>"$work/log"; then
      echo "$(basename "$model") $device: $("$build/bin/onnx-aot-run" "$work/$device.so" --random-inputs 1 --bench 3 2>&1 |
        tail -3 | tr '\n' ' ')"
    else
      echo "$(basename "$model") $device: $(head -1 "$work/log")"
    fi
  done
done
awk '/^[0-9]+ passed, [0-9]+ failed$/ { p += $1; f += $3 } END { print p " passed, " f " failed" }' build/gpu-correctness.log
