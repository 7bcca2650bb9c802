#!/usr/bin/env bash
# Installs what the build needs and is missing: Debian packages by name, and
# the ONNX C++ library from its PyPI source distribution into build/deps. With
# --parquet also Apache Arrow from PyPI's pyarrow, 55 MB, to read Parquet. With
# --tests that, and what only tests and contributors need: without root or sudo
# these packages are left out, and said. Idempotent; a second run only looks.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${*:-} in
  "") tests= parquet= ;;
  --parquet) tests= parquet=1 ;;
  --tests) tests=1 parquet=1 ;;
  *) echo "usage: tools/setup.sh [--tests|--parquet]" >&2; exit 2 ;;
esac

ONNX_VERSION=1.22.0
ARROW_VERSION=26.0.1
DEPS=$PWD/build/deps
PACKAGES=(
  g++ ninja-build cmake ccache python3 python3-venv pkg-config
  libmlir-19-dev mlir-19-tools llvm-19-dev llvm-19-tools lld-19 liblld-19-dev
  zlib1g-dev libzstd-dev
  libprotobuf-dev protobuf-compiler libgtest-dev libgmock-dev
  libabsl-dev libcli11-dev nlohmann-json3-dev libyaml-cpp-dev libxxhash-dev
  liburing-dev
  libdnnl-dev libopenmpi-dev openmpi-bin
)
# Fuzzers, ranks on two hosts, ranks under srun; the style; and pages.
TEST_PACKAGES=(
  clang-14 libclang-rt-14-dev libomp-14-dev iproute2
  munge slurmctld slurmd slurm-client clang-format-14 chromium
)

say() { echo "setup: $*"; }

missing_of() { # PACKAGE...: those that are not installed
  local package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
      grep -q 'install ok installed' || echo "$package"
  done
}

sudo=
((EUID == 0)) || sudo=$(command -v sudo) || sudo=none
install() { # PACKAGE...
  say "installing $*"
  $sudo apt-get update -qq
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "$@" >/dev/null
}

readarray -t missing < <(missing_of "${PACKAGES[@]}")
if ((!${#missing[@]})); then
  say "all ${#PACKAGES[@]} packages are installed"
elif [[ $sudo == none ]]; then
  say "missing packages: ${missing[*]}; run as root or install sudo" >&2
  exit 1
else
  install "${missing[@]}"
fi

if [[ -n $tests ]]; then
  readarray -t missing < <(missing_of "${TEST_PACKAGES[@]}")
  if ((!${#missing[@]})); then
    say "all ${#TEST_PACKAGES[@]} packages of the tests are installed"
  elif [[ $sudo == none ]]; then
    say "not installed, for want of root or sudo: ${missing[*]}"
  else
    install "${missing[@]}"
    # The tests start a munged of their own, and Debian's came up by itself.
    if [[ " ${missing[*]} " == *" munge "* ]]; then
      $sudo invoke-rc.d munge stop >/dev/null 2>&1 || true
      $sudo update-rc.d munge disable >/dev/null 2>&1 || true
    fi
  fi
fi

venv() { # PACKAGE...: in a Python of the build's own
  # The system's own Python: a venv of another one may not survive it.
  [[ -x $DEPS/venv/bin/pip ]] || /usr/bin/python3 -m venv "$DEPS/venv"
  (($# == 0)) || "$DEPS/venv/bin/pip" -q install "$@"
}

# Tests of the Python package import numpy.
if [[ -n $tests ]]; then
  "$DEPS/venv/bin/python" -c 'import numpy' 2>/dev/null || venv numpy
fi

# ONNX 1.22.0: the last release whose source distribution holds the node
# test data. Its build asks for a newer CMake than Debian 12 has, so one from
# PyPI is used for this build alone. What defines the operators runs once a
# model: -O1, and several files compiled as one, take a quarter of the time, and
# a model compiles as fast.
if [[ ! -e $DEPS/onnx/.complete ]]; then
  say "building ONNX $ONNX_VERSION into build/deps/onnx (a minute)"
  mkdir -p "$DEPS"
  [[ -x $DEPS/venv/bin/cmake ]] || venv cmake
  if [[ ! -d $DEPS/onnx-$ONNX_VERSION ]]; then
    "$DEPS/venv/bin/pip" -q download --no-deps --no-binary onnx \
      -d "$DEPS" "onnx==$ONNX_VERSION"
    tar -xf "$DEPS/onnx-$ONNX_VERSION.tar.gz" -C "$DEPS"
  fi
  "$DEPS/venv/bin/cmake" -G Ninja -S "$DEPS/onnx-$ONNX_VERSION" \
    -B "$DEPS/onnx-build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" -DONNX_USE_UNITY_BUILD=ON \
    -DONNX_BUILD_PYTHON=OFF \
    -DONNX_ML=ON -DBUILD_SHARED_LIBS=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DCMAKE_INSTALL_PREFIX="$DEPS/onnx" >"$DEPS/onnx-build.log"
  ninja -C "$DEPS/onnx-build" -j"$(nproc)" install >>"$DEPS/onnx-build.log" ||
    { tail -20 "$DEPS/onnx-build.log" >&2; exit 1; }
  touch "$DEPS/onnx/.complete"
else
  say "ONNX $ONNX_VERSION is in build/deps/onnx"
fi

# Debian 12 has no Arrow. The wheel brings headers and libraries for C++; these
# work with others of the same version alone, so they are found by full path.
if [[ -n $parquet && ! -e $DEPS/arrow/.complete ]]; then
  say "unpacking Apache Arrow $ARROW_VERSION into build/deps/arrow"
  mkdir -p "$DEPS"
  venv
  rm -rf "$DEPS/arrow" "$DEPS/pyarrow"
  "$DEPS/venv/bin/pip" -q download --no-deps --only-binary :all: \
    -d "$DEPS/pyarrow" "pyarrow==$ARROW_VERSION"
  /usr/bin/python3 -m zipfile -e "$DEPS"/pyarrow/*.whl "$DEPS/pyarrow"
  mkdir "$DEPS/arrow"
  mv "$DEPS"/pyarrow/pyarrow/{include,libarrow.so.*,libparquet.so.*} "$DEPS/arrow"
  for library in arrow parquet; do
    ln -s "$(basename "$DEPS"/arrow/lib$library.so.*)" "$DEPS/arrow/lib$library.so"
  done
  rm -rf "$DEPS/pyarrow"
  touch "$DEPS/arrow/.complete"
  rm -f build/build.ninja # configured without it: the next build looks again
fi
say "done"
