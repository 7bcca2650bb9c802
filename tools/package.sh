#!/usr/bin/env bash
# Makes packages of the programs and of libzerograph, which run on any x86-64
# Linux that has glibc 2.35 and the C++ library of GCC 12, or later ones. In
# build-package/packages: a folder that can be moved anywhere, the same as
# .tar.xz, a .deb, and a wheel for pip, which has the Python package too. Without
# Parquet and zerograph-opt.
set -euo pipefail
cd "$(dirname "$0")/.."
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/zerograph-ccache}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
GLIBC=2.35
# The packages that are linked into the programs.
LINKED=(libmlir-19-dev liblld-19-dev libcli11-dev nlohmann-json3-dev
  libxxhash-dev liburing-dev zlib1g-dev libzstd-dev)

tools/setup.sh
# Beside build/ and with the same things in it, so that the compiler cache knows
# what build/ has compiled.
build=build-package
mkdir -p $build
ln -sfn ../build/deps $build/deps
[[ -e $build/build.ninja ]] ||
  cmake -G Ninja -S . -B $build -DZEROGRAPH_STATIC=ON \
    -DZEROGRAPH_DEPS="$PWD/$build/deps" >$build/configure.log ||
  { cat $build/configure.log >&2; exit 1; }
echo "package: compiling (log in $build/build.log)"
ninja -C $build -j"$(nproc)" zerograph zerograph-run libzerograph \
  >$build/build.log || { grep -A20 -m3 FAILED $build/build.log >&2; exit 1; }

version=$($build/bin/zerograph --version | cut -d' ' -f2)
out=$build/packages
name=zerograph-$version-linux-x86_64
folder=$out/$name
rm -rf "$out"
cmake --install $build --prefix "$folder" --strip --component Unspecified \
  >$build/install.log

# The libraries that are loaded and that a bare system does not have.
licenses=$folder/share/doc/zerograph/licenses
mkdir "$licenses"
ldd "$folder"/bin/zerograph "$folder"/bin/zerograph-run |
  awk '$3 ~ "^/" {print $3}' | sort -u | while read -r file; do
  case $(basename "$file") in
    libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.*) continue ;;
    libzerograph.so) continue ;;
  esac
  cp -L "$file" "$folder/lib/"
  # Its name finds it: a package may say /lib where the file is in /usr/lib.
  package=$(dpkg -S "*/$(basename "$(realpath "$file")")" | cut -d: -f1 | head -1)
  cp -L "/usr/share/doc/$package/copyright" "$licenses/$package"
done
for package in "${LINKED[@]}"; do
  cp -L "/usr/share/doc/$package/copyright" "$licenses/$package"
done
cp build/deps/onnx-[0-9]*/LICENSE "$licenses/onnx"

newest=$(objdump -T "$folder"/bin/* "$folder"/lib/*.so* | grep -o 'GLIBC_[0-9.]*' |
  sort -uV | tail -1)
[[ $(printf '%s\n' "$newest" GLIBC_$GLIBC | sort -V | tail -1) == GLIBC_$GLIBC ]] ||
  { echo "package: needs $newest, more than glibc $GLIBC" >&2; exit 1; }

if readelf -d "$folder"/bin/* "$folder"/lib/*.so* | grep -E 'R(UN)?PATH.*(\[|:)/'; then
  echo "package: a program looks for libraries in a folder of this machine" >&2
  exit 1
fi

# The same bytes for the same commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
find "$folder" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
XZ_OPT='-9 -T0' tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner \
  -cJf "$out/$name.tar.xz" "$name"
if nm -D --defined-only "$folder/lib/libzerograph.so" | grep -v ' zg_'; then
  echo "package: libzerograph.so shows more than its interface" >&2
  exit 1
fi
/usr/bin/python3 tools/wheel.py "$folder" python "$out" "$version" \
  "manylinux_${GLIBC/./_}_x86_64"

deb=$out/deb
mkdir -p "$deb"/{DEBIAN,usr/lib/zerograph,usr/lib/cmake/zerograph}
mkdir -p "$deb"/{usr/share/doc,usr/bin,usr/include}
cp -a "$folder"/{bin,lib,include} "$deb/usr/lib/zerograph/"
ln -s ../lib/zerograph/include/zerograph.h "$deb/usr/include/"
echo 'include(/usr/lib/zerograph/lib/cmake/zerograph/zerographConfig.cmake)' \
  >"$deb/usr/lib/cmake/zerograph/zerographConfig.cmake"
cp -a "$folder/share/zerograph" "$deb/usr/share/"
cp -a "$folder/share/doc/zerograph" "$deb/usr/share/doc/"
cp -a LICENSE "$deb/usr/share/doc/zerograph/copyright"
for program in "$folder"/bin/*; do
  ln -s "../lib/zerograph/bin/$(basename "$program")" "$deb/usr/bin/"
done
cat >"$deb/DEBIAN/control" <<CONTROL
Package: zerograph
Version: $version
Architecture: amd64
Maintainer: The Zerograph developers <zerograph@localhost>
Depends: libc6 (>= $GLIBC), libstdc++6 (>= 12)
Suggests: openmpi-bin
Provides: libzerograph-dev
Description: compiles training graphs in ONNX for many ranks
 Adds the backward pass and the optimizer to a graph exported to ONNX, divides
 parameters, gradients and states among ranks as ZeRO does, and trains.
CONTROL
find "$deb" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
dpkg-deb --root-owner-group -Zxz --build "$deb" \
  "$out/zerograph_${version}_amd64.deb" >/dev/null
rm -rf "$deb"

echo "package: $(du -sh "$folder" | cut -f1) in $folder"
(cd "$out" && du -h -- *.tar.xz *.deb *.whl)
