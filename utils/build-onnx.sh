#!/usr/bin/env bash
# Build the onnx C++ library from its source distribution and install it.
# usage: build-onnx.sh PREFIX        needs: pip and cmake >= 3.26 on PATH, ninja, clang++-22, protobuf
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(mkdir -p "${1:?usage: build-onnx.sh PREFIX}" && cd "$1" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/onnx-aot-onnx.XXXXXX")
trap 'rm -rf "$work"' EXIT

pip download --quiet --disable-pip-version-check --no-deps --no-binary onnx \
    --require-hashes --requirement "$here/onnx-source.txt" --dest "$work"
tar -xf "$work"/onnx-*.tar.gz -C "$work"

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
  # The source lies in a new folder each time: let ccache see the same paths.
  export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
fi
cmake -S "$work"/onnx-*/ -B "$work/build" -G Ninja --log-level=WARNING -Wno-dev \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DBUILD_SHARED_LIBS=OFF \
    -DONNX_ML=ON -DONNX_BUILD_PYTHON=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON "${launcher[@]}"
cmake --build "$work/build" --target install
# The stamp comes last: a prefix without it is incomplete.
cp "$here/onnx-source.txt" "$prefix/source.txt"
