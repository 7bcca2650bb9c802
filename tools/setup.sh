#!/usr/bin/env bash
# Installs what the build needs and is missing: Debian packages by name, and
# the ONNX C++ library from its PyPI source distribution into build/deps.
# Idempotent; a second run only looks. Needs root or sudo for the packages.
set -euo pipefail
cd "$(dirname "$0")/.."

ONNX_VERSION=1.22.0
DEPS=$PWD/build/deps
PACKAGES=(
  g++ ninja-build cmake ccache python3 python3-venv pkg-config
  libmlir-19-dev mlir-19-tools llvm-19-dev llvm-19-tools lld-19 zlib1g-dev
  libprotobuf-dev protobuf-compiler libgtest-dev libgmock-dev
  libabsl-dev libcli11-dev nlohmann-json3-dev libxxhash-dev
  libdnnl-dev libopenmpi-dev openmpi-bin clang-format-14
  clang-14 libclang-rt-14-dev
)

say() { echo "setup: $*"; }

missing=()
for package in "${PACKAGES[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null |
    grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  sudo=
  if ((EUID != 0)); then
    command -v sudo >/dev/null || {
      say "missing packages: ${missing[*]}; run as root or install sudo" >&2
      exit 1
    }
    sudo=sudo
  fi
  say "installing ${missing[*]}"
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >/dev/null
else
  say "all ${#PACKAGES[@]} packages are installed"
fi

# ONNX 1.22.0: the last release whose source distribution holds the node
# test data. Its build asks for a newer CMake than Debian 12 has, so one from
# PyPI is used for this build alone.
if [[ ! -e $DEPS/onnx/.complete ]]; then
  say "building ONNX $ONNX_VERSION into build/deps/onnx (three minutes)"
  mkdir -p "$DEPS"
  [[ -x $DEPS/venv/bin/cmake ]] || {
    # The system's own Python: a venv of another one may not survive it.
    /usr/bin/python3 -m venv "$DEPS/venv"
    "$DEPS/venv/bin/pip" -q install cmake
  }
  if [[ ! -d $DEPS/onnx-$ONNX_VERSION ]]; then
    "$DEPS/venv/bin/pip" -q download --no-deps --no-binary onnx \
      -d "$DEPS" "onnx==$ONNX_VERSION"
    tar -xf "$DEPS/onnx-$ONNX_VERSION.tar.gz" -C "$DEPS"
  fi
  "$DEPS/venv/bin/cmake" -G Ninja -S "$DEPS/onnx-$ONNX_VERSION" \
    -B "$DEPS/onnx-build" -DCMAKE_BUILD_TYPE=Release -DONNX_BUILD_PYTHON=OFF \
    -DONNX_ML=ON -DBUILD_SHARED_LIBS=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON \
    -DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache \
    -DCMAKE_INSTALL_PREFIX="$DEPS/onnx" >"$DEPS/onnx-build.log"
  ninja -C "$DEPS/onnx-build" -j"$(nproc)" install >>"$DEPS/onnx-build.log" ||
    { tail -20 "$DEPS/onnx-build.log" >&2; exit 1; }
  touch "$DEPS/onnx/.complete"
else
  say "ONNX $ONNX_VERSION is in build/deps/onnx"
fi
say "done"
