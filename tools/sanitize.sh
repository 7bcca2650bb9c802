#!/usr/bin/env bash
# Runs the runtime's tests, and a training run of two ranks, under sanitizers:
# tools/sanitize.sh [address,undefined|thread ...], both without arguments. What
# is generated and what libraries compute is not instrumented; threads, files,
# collectives and memory of the runtime are. At last, whatever is asked for, it
# looks for leaks where a GPU's libraries fail.
set -euo pipefail
cd "$(dirname "$0")/.."
kinds=("$@")
((${#kinds[@]})) || kinds=(address,undefined thread)
# All but executor_test, which counts allocations by an allocator of its own.
TESTS=(plan_test io_test state_test checkpoint_test comm_test device_test
  train_test)

tools/build.sh zerograph e2e_cuda_test
export CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/zerograph-ccache}
export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
plan() { # NAME OPTION...
  build/bin/zerograph compile models/gpt2-nano/model_keep_names.onnx \
    -o "$work/$1.zgplan" --ranks 2 --zero 3 --prefetch 2 --micro-batch 2 \
    --dim seq=64 "${@:2}"
}
plan one --dump-gradients
plan sums --accumulate 2

# Nothing is suppressed: neither Debian's oneDNN nor protobuf needs it.
export ASAN_OPTIONS=detect_stack_use_after_return=1
export UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=history_size=7
# The thread sanitizer of GCC 12 finds its memory taken where addresses are
# chosen at random among many.
run() { timeout 900 setarch -R "$@"; }

for kind in "${kinds[@]}"; do
  case $kind in
    address,undefined | thread) ;;
    *) echo "usage: tools/sanitize.sh [address,undefined|thread ...]" >&2
       exit 2 ;;
  esac
  folder=build/sanitize-${kind%%,*}
  mkdir -p "$folder"
  [[ -e $folder/build.ninja ]] || cmake -G Ninja -S . -B "$folder" \
    -DZEROGRAPH_SANITIZE="$kind" -DZEROGRAPH_DEPS="$PWD/build/deps" \
    >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log" >&2; exit 1; }
  echo "sanitize: compiling for $kind (log in $folder/build.log)"
  ninja -C "$folder" -j"$(nproc)" zerograph-run "${TESTS[@]}" \
    >"$folder/build.log" ||
    { grep -A20 -m3 FAILED "$folder/build.log" >&2; exit 1; }
  for test in "${TESTS[@]}"; do
    run "$folder/bin/$test" >"$folder/$test.log" 2>&1 ||
      { tail -n 100 "$folder/$test.log" >&2
        echo "sanitize: $kind: $test failed" >&2; exit 1; }
  done
  for name in one sums; do
    for threads in 1 2; do
      options=(--log "$work/log" --save-weights "$work/weights")
      [[ $name == sums ]] || options+=(--dump-gradients "$work/gradients")
      run "$folder/bin/zerograph-run" train "$work/$name.zgplan" \
        --data models/gpt2-nano/batches.safetensors --steps 4 \
        --threads "$threads" "${options[@]}" >"$folder/train.log" 2>&1 ||
        { tail -n 100 "$folder/train.log" >&2
          echo "sanitize: $kind: training failed" >&2; exit 1; }
    done
  done
  echo "sanitize: $kind: ${#TESTS[@]} tests and 4 runs, nothing found"
done

# The whole program, whose every call of a GPU's libraries fails in turn: it
# holds a compiler, so leaks alone are looked for.
LD_PRELOAD=$(gcc -print-file-name=liblsan.so) timeout 900 \
  build/bin/e2e_cuda_test --gtest_filter='*Fail*' >"$work/leaks.log" 2>&1 ||
  { tail -n 100 "$work/leaks.log" >&2
    echo "sanitize: leaks: e2e_cuda_test failed" >&2; exit 1; }
echo "sanitize: leaks: nothing found"
