#!/usr/bin/env bash
# Build the runtime, the importer and the tools with AddressSanitizer and UndefinedBehaviorSanitizer; run on them the
# unit tests and all that is hostile. The last line is "N passed, N failed". Takes long: utils/test.sh --full runs it.
# usage: utils/sanitizers.sh [--runtime-only]
#   --runtime-only   only the runtime and its tests: minutes instead of an hour
set -uo pipefail
cd "$(dirname "$0")/.."
export ONNX_AOT_DEPS=${ONNX_AOT_DEPS:-$PWD/.deps} ONNX_AOT_PRESET=asan
# LLVM's own code is not instrumented: what its containers say of their ends means nothing here.
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:detect_container_overflow=0 UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1
build=build/asan
targets=(onnx-aot-runtime-tests onnx-aot-checkpoint-crash-tests onnx-aot-run)
[ "${1:-}" = --runtime-only ] || targets=(all)
cmake --preset asan >build/asan.log 2>&1 && cmake --build $build --target "${targets[@]}" >>build/asan.log 2>&1 ||
  { tail -n 40 build/asan.log; echo "0 passed, 1 failed"; exit 1; }
passed=0 failed=0
run() {
  local output
  output=$("$@" 2>&1)
  echo "$output" | grep -v '^ok'
  if [[ $(tail -n 1 <<<"$output") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    failed=$((failed + 1))
  fi
}
if [ "${1:-}" = --runtime-only ]; then
  run python utils/count-tests.py ctest ctest --test-dir $build/test/unit/runtime --output-on-failure
else
  run python utils/count-tests.py ctest ctest --test-dir $build --output-on-failure
  run python test/Integration/hostile.py --build $build
  run python test/Integration/sizes.py --build $build --filter '^(Conv|MaxPool|Add|Pad|Slice|Reshape|LayerNorm)'
  run python utils/fuzz-import.py --build $build --models "$ONNX_AOT_DEPS/models"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
