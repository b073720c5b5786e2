#!/usr/bin/env bash
# Run every test; the last line is "N passed, N failed", the exit status 0 only when nothing failed.
# usage: utils/test.sh [--full] [SUITE...]
#   --full   also the suites that take long (docs/Testing.md marks them)
#   SUITE    only these; docs/Testing.md says what each asks
# Builds first what is not built (utils/setup.sh --build-only). Each suite's output is in build/test/SUITE.log.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export ONNX_AOT_DEPS=${ONNX_AOT_DEPS:-$root/.deps} ONNX_AOT_PRESET=${ONNX_AOT_PRESET:-release}
build=build/$ONNX_AOT_PRESET
models=$ONNX_AOT_DEPS/models
known=test/Integration/conformance-known.txt
jobs=$(nproc)
suites=(
  style
  lit
  unit
  sanitizers
  numerics
  bugs
  strings
  sizes
  graphs
  convolutions
  attention
  ulp
  contrib
  custom-ops
  training
  training-losses
  training-parity
  training-memory
  training-lora
  gradients
  gpu
  gpu-mutations
  gpu-training
  gpu-models
  gpu-conformance
  ml
  quantized
  models
  examples
  training-cli
  verify-gradients
  training-examples
  training-issues
  hostile
  damaged
  conformance
)
full=
chosen=()
for argument; do
  case $argument in
    --full) full=1 ;;
    -*) sed -n '2,6s/^# //p' "$0" >&2; exit 2 ;;
    *) chosen+=("$argument") ;;
  esac
done
[ -z "$full" ] || suites+=(sanitizers-full levels ulp-full gpu-training-full gpu-conformance-full training-parity-full docs fashion-mnist conformance-full conformance-dynamic)
[ ${#chosen[@]} -eq 0 ] || suites=("${chosen[@]}")

# Each suite is a command whose last line is "N passed, N failed".
suite() {
  case $1 in
    style) python utils/check-style.py ;;
    lit) python utils/count-tests.py lit lit --no-progress-bar -v --timeout 300 -j "$jobs" "$build/test" ;;
    unit) python utils/count-tests.py ctest ctest --test-dir "$build" --output-on-failure -j "$jobs" ;;
    sanitizers) utils/sanitizers.sh --runtime-only ;;
    sanitizers-full) utils/sanitizers.sh ;;
    numerics) python test/Integration/numerics.py ;;
    bugs) python test/Integration/bugs.py ;;
    strings) python test/Integration/strings.py ;;
    sizes) python test/Integration/sizes.py ;;
    attention) python test/Integration/attention.py ;;
    ulp) python test/Integration/ulp.py ;;
    ulp-full) python test/Integration/ulp.py --full ;;
    convolutions) python test/Integration/convolutions.py ;;
    contrib) python test/Integration/contrib.py --jobs "$jobs" ;;
    custom-ops) python test/Integration/custom_ops.py ;;
    graphs) python test/Integration/graphs.py ;;
    training) python test/Integration/training.py ;;
    training-parity) python test/Integration/training_parity.py --sample --jobs "$jobs" ;;
    training-parity-full) python test/Integration/training_parity.py --jobs "$jobs" ;;
    training-memory) python test/Integration/training_memory.py ;;
    training-losses) python test/Integration/training_losses.py ;;
    training-lora) python test/Integration/training_lora.py ;;
    gradients) python test/Integration/gradients.py ;;
    levels) python test/Integration/levels.py --models "$models" ;;
    docs) python utils/update-docs.py --check ;;
    ml) python test/Integration/ml.py --jobs "$jobs" ;;
    quantized) python test/Integration/quantized.py --models "$models" ;;
    models) python test/Integration/models.py --models "$models" ;;
    examples) python test/Integration/examples.py --models "$models" ;;
    verify-gradients) python test/Integration/verify_gradients.py ;;
    training-cli) python test/Integration/training_cli.py ;;
    training-examples) python test/Integration/training_examples.py ;;
    training-issues) python test/Integration/training_issues.py --build "$build" ;;
    fashion-mnist) fashion=$(utils/fetch-fashion-mnist.sh "$ONNX_AOT_DEPS/fashion-mnist") &&
                     python test/Integration/training_examples.py --fashion "$fashion" ;;
    gpu) python test/Integration/gpu.py --build "$build" ;;
    gpu-training) python test/Integration/gpu-training.py --build "$build" ;;
    gpu-training-full) python test/Integration/gpu-training.py --build "$build" --full ;;
    gpu-mutations) python test/Integration/gpu-mutations.py --build "$build" ;;
    gpu-models) python test/Integration/models.py --models "$models" --device emu --filter 'minilm|orientation|silero-static' ;;
    gpu-conformance) python utils/conformance.py --known "$known" --device emu --sample 200 --jobs "$jobs" --min-found 200 ;;
    gpu-conformance-full) python utils/conformance.py --known "$known" --device emu --sample 650 --jobs "$jobs" --min-found 650 \
                            --min-pass 600 --timeout 600 ;;
    hostile) python test/Integration/hostile.py ;;
    damaged) python utils/fuzz-import.py --models "$models" ;;
    conformance) python utils/conformance.py --known "$known" --sample 200 --jobs "$jobs" --min-found 200 --min-pass 194 ;;
    conformance-full) python utils/conformance.py --known "$known" --jobs "$jobs" --min-found 1914 --min-pass 1888 \
                        --json build/test/conformance.json ;;
    conformance-dynamic) python utils/conformance.py --known "$known" --jobs "$jobs" --min-found 1914 --min-pass 1838 --dynamic \
                           --json build/test/conformance-dynamic.json ;;
    *) echo "no such suite: $1"; return 2 ;;
  esac
}

utils/setup.sh --build-only || { echo "0 passed, 1 failed"; exit 1; }
export PATH=$root/.venv/bin:/usr/lib/llvm-22/bin:$PATH
mkdir -p build/test
python utils/fetch-models.py "$models" >build/test/fetch.log 2>&1 ||
  { cat build/test/fetch.log; echo "0 passed, 1 failed"; exit 1; }
passed=0 failed=0 number=0 began=$SECONDS
for name in "${suites[@]}"; do
  number=$((number + 1))
  start=$SECONDS
  printf '[%d/%d %3d:%02d] %s ... ' "$number" "${#suites[@]}" $(((start - began) / 60)) $(((start - began) % 60)) "$name"
  log=build/test/$name.log
  suite "$name" >"$log" 2>&1 </dev/null
  status=$?
  if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]}
  else
    p=0 f=0
  fi
  # A suite that breaks off, or that checks nothing, is a failure of its own.
  [ "$f" -gt 0 ] || { [ "$status" -eq 0 ] && [ "$p" -gt 0 ]; } || f=1
  printf '%d ok, %d failed, %d s\n' "$p" "$f" $((SECONDS - start))
  if [ "$f" -gt 0 ]; then
    echo "---- the end of $log:"
    tail -n 60 "$log"
    echo "----"
  fi
  passed=$((passed + p)) failed=$((failed + f))
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
