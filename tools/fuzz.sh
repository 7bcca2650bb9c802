#!/usr/bin/env bash
# Feeds made-up bytes to everything that reads a file: tools/fuzz.sh [SECONDS]
# [TARGET...], 60 seconds for each of onnx, plan, safetensors, checkpoint, npy,
# config, machine, run, names and frames. Two run at a time. From the same seeds
# come the same inputs; ZEROGRAPH_FUZZ_SEED=N gives others. tests/fuzz/README.md
# says how to go on from what it finds.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
targets=("$@")
((${#targets[@]})) || targets=(onnx plan safetensors checkpoint npy config machine run names frames)
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tools/fuzz.sh [SECONDS] [onnx|plan|safetensors|checkpoint|npy|config|machine|run|names|frames...]" >&2
  exit 2
fi

tools/setup.sh --tests # clang
tools/build.sh zerograph # plans to begin with
FUZZ=build/fuzz
CLANG=${ZEROGRAPH_CLANG:-clang-14}
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/zerograph-ccache}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
mkdir -p "$FUZZ"
[[ -e $FUZZ/build.ninja ]] || cmake -G Ninja -S . -B "$FUZZ" \
  -DZEROGRAPH_FUZZ=ON -DCMAKE_C_COMPILER="$CLANG" \
  -DCMAKE_CXX_COMPILER="${CLANG/clang/clang++}" \
  -DZEROGRAPH_DEPS="$PWD/build/deps" >"$FUZZ/configure.log" 2>&1 ||
  { cat "$FUZZ/configure.log" >&2; exit 1; }
echo "fuzz: compiling (log in $FUZZ/build.log)"
ninja -C "$FUZZ" -j"$(nproc)" fuzz >"$FUZZ/build.log" ||
  { grep -A20 -m3 FAILED "$FUZZ/build.log" >&2; exit 1; }

# Seeds: our models, plans of them, and ONNX's node tests, which have each
# operator. What earlier runs found stays in corpus/ and is used again.
SEEDS=$FUZZ/seeds
rm -rf "$SEEDS"
mkdir -p "$SEEDS/plans/mlp-digits" "$SEEDS/plans/resnet-mini" "$SEEDS/onnx" \
  "$SEEDS/config" "$SEEDS/machine"
cp tests/config/examples/*.*son tests/config/examples/*.yaml "$SEEDS/config"
cp machines/*.yaml "$SEEDS/machine"
plan() { # MODEL NAME OPTION...
  build/bin/zerograph compile "models/$1/model.onnx" \
    -o "$SEEDS/plans/$1/$2.zgplan" --micro-batch 2 "${@:3}" >/dev/null
}
plan mlp-digits stage3 --ranks 2 --zero 3
plan mlp-digits stage2 --ranks 2 --zero 2 --accumulate 2 --optimizer sgd
plan mlp-digits stage0 --ranks 1 --zero 0
plan resnet-mini stage1 --ranks 2 --zero 1
"$FUZZ/bin/fuzz_seeds" "$SEEDS" models/*/*.onnx "$SEEDS"/plans/*/*.zgplan
for model in build/deps/onnx-*/onnx/backend/test/data/node/*/model.onnx; do
  folder=${model%/model.onnx}
  # Functions written out: larger, and made of the operators of the others.
  [[ $folder != *_expanded* ]] || continue
  cp "$model" "$SEEDS/onnx/node-${folder##*/}"
done

run() { # TARGET
  local corpus=$FUZZ/corpus/$1 found=$FUZZ/found/$1
  mkdir -p "$corpus" "$found"
  # 2 GiB and half a minute are what any input may take, sanitizers included.
  # A fuzzer that runs out of memory can hang while it reports that.
  timeout -k 10 $((seconds + 120)) "$FUZZ/bin/fuzz_$1" \
    -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 \
    -seed="${ZEROGRAPH_FUZZ_SEED:-1}" -max_len=262144 \
    -artifact_prefix="$found/" -print_final_stats=1 \
    "$corpus" "$SEEDS/$1" >"$FUZZ/$1.log" 2>&1 || {
    tail -n 60 "$FUZZ/$1.log" >&2
    echo "fuzz: $1 failed; the input lies in $found. Once more:" >&2
    echo "  $FUZZ/bin/fuzz_$1 $found/NAME" >&2
    # Where nothing but this output is kept, it is the only copy.
    for input in "$found"/*; do
      [[ $(stat -c %s "$input") -gt 16384 ]] ||
        echo "fuzz: base64 of $input: $(base64 -w0 "$input")" >&2
    done
    return 1
  }
  echo "fuzz: $1: $(awk '/number_of_executed_units/ {print $2}' \
    "$FUZZ/$1.log") inputs in $seconds s, nothing found"
}

failed=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  pids=()
  for target in "${targets[@]:i:2}"; do
    run "$target" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do
    wait "$pid" || failed=1
  done
done
exit $failed
