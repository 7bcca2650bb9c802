#!/usr/bin/env bash
# Installs the wheel of tools/package.sh into an empty virtual environment on bare
# Debians, and trains with it: tools/try_wheel.sh [SUITE...], by default bookworm
# (glibc 2.36, Python 3.11) and trixie (glibc 2.41, Python 3.13). Says how long
# each part took, and fails if a file outside of the environment has changed. As
# root, with mmdebstrap, in an environment that may mount.
set -euo pipefail
cd "$(dirname "$0")/.."
suites=("$@")
((${#suites[@]})) || suites=(bookworm trixie)
wheel=$(ls build-package/packages/*.whl)

# In the bare system, where /try has the wheel.
read -r -d '' inside <<'EOF' || true
set -euo pipefail
cd /try
ldd --version | sed -n 1p
python3 --version
python3 -m venv venv
touch begin
TIMEFORMAT='install: %R s'
time venv/bin/pip install -q --no-cache-dir --disable-pip-version-check ./*.whl
TIMEFORMAT='import: %R s'
time venv/bin/python -B -c 'import zerograph'
TIMEFORMAT='examples/train.py: %R s'
time venv/bin/python -B train.py model.onnx w.safetensors | tail -1
venv/bin/zerograph --version
changed=$(find / -xdev -newer begin -type f ! -path '/try/*' ! -path '/proc/*')
[[ -z $changed ]] || { echo "changed outside of the environment: $changed" >&2; exit 1; }
EOF

for suite in "${suites[@]}"; do
  root=$(mktemp -d)
  # What is mounted there goes with the namespace.
  unshare --mount --propagation private bash -euo pipefail -c '
    root=$1 suite=$2 wheel=$3
    echo "try_wheel: a bare $suite"
    mmdebstrap --quiet --variant=minbase \
      --include=ca-certificates,python3,python3-venv "$suite" "$root"
    # The network of this machine.
    for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
      [[ ! -e $file ]] || cp -L "$file" "$root$file"
    done
    rm -rf "$root/etc/ssl/certs"
    cp -aL /etc/ssl/certs "$root/etc/ssl/certs"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mkdir "$root/try"
    cp "$wheel" examples/train.py models/mlp-digits/model.onnx "$root/try"
    chroot "$root" bash -c "$4"' _ "$root" "$suite" "$wheel" "$inside" ||
    { rm -rf --one-file-system "$root"; exit 1; }
  rm -rf --one-file-system "$root"
done
