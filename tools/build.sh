#!/usr/bin/env bash
# Sets up and builds into build/: everything, or the targets named. Programs lie
# in build/bin.
set -euo pipefail
cd "$(dirname "$0")/.."
# ccache outside the tree: a fresh clone builds fast where one was built before.
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/zerograph-ccache}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
tools/setup.sh
[[ -e build/build.ninja ]] || cmake -G Ninja -S . -B build >build/configure.log ||
  { cat build/configure.log >&2; exit 1; }
echo "build: compiling (log in build/build.log)"
ninja -C build -j"$(nproc)" "$@" >build/build.log ||
  { grep -A20 -m3 FAILED build/build.log >&2; exit 1; }
echo "build: done"
