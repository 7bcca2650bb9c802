#!/usr/bin/env bash
# Runs what should be run first on a machine with an NVIDIA GPU: builds; what
# the machine has; the tests that need a GPU; NCCL with two ranks on one card;
# NVIDIA's checkers, where they are installed; times. All is run, whatever
# fails, and said at the end. PEERS=PYTHON: also torch.compile's times.
set -uo pipefail
cd "$(dirname "$0")/.."
tools/build.sh || exit
out=build/gpu
mkdir -p "$out"
failed=()
run() { # NAME COMMAND...: its output goes into $out/NAME too
  local name=$1
  shift
  echo "gpu: $name: $*"
  "$@" 2>&1 | tee "$out/$name"
  ((PIPESTATUS[0] == 0)) || failed+=("$name")
}
run env build/bin/zerograph env
target=${TARGET:-cuda:native}
run tests ctest --test-dir build -L gpu --output-on-failure

train=(build/bin/zerograph train models/mlp-digits/model.onnx
  --data models/mlp-digits/batches.safetensors --matmul generated --micro-batch 8 --zero 3
  --steps 5)
run host "${train[@]}" --target host --ranks 2 --save-weights "$out/host.safetensors"
# NCCL refuses two ranks on one card unless they look like two machines; its
# newer versions let them share it.
export NCCL_MULTI_RANK_GPU_ENABLE=1 NCCL_SOCKET_IFNAME=${NCCL_SOCKET_IFNAME:-lo}
two=(mpirun --oversubscribe)
((EUID != 0)) || two+=(--allow-run-as-root)
run nccl-two "${two[@]}" \
  -n 1 -x NCCL_HOSTID=a "${train[@]}" --target "$target" \
  --save-weights "$out/nccl.safetensors" : \
  -n 1 -x NCCL_HOSTID=b "${train[@]}" --target "$target" \
  --save-weights "$out/nccl.safetensors"
run nccl-two-bits cmp "$out/host.safetensors" "$out/nccl.safetensors"

checked=(build/bin/zerograph train models/gpt2-nano/model.onnx
  --data models/gpt2-nano/batches.safetensors --target "$target"
  --dim seq=64 --micro-batch 1)
if command -v compute-sanitizer >/dev/null; then
  # Memory that network cards reach is asked for where the driver says that there
  # is some, and it may refuse all the same, as in virtual machines: no fault.
  for precision in fp32 bf16; do
    once=("${checked[@]}" --steps 2 --graph off --precision "$precision")
    run "memcheck-$precision" compute-sanitizer --tool memcheck \
      --report-api-errors no --error-exitcode 1 "${once[@]}"
    for tool in racecheck initcheck synccheck; do
      run "$tool-$precision" compute-sanitizer --tool "$tool" \
        --error-exitcode 1 "${once[@]}"
    done
  done
else
  echo "gpu: no compute-sanitizer in PATH: a CUDA toolkit has it"
fi

for model in small medium; do
  bench=(tools/bench --device "$target" --workload "gpt2-$model-1024")
  [[ -z ${PEERS:-} ]] || bench+=(--peers "$PEERS" --modes compile)
  run "gpt2-$model-f32" "${bench[@]}"
  run "gpt2-$model-tf32" "${bench[@]}" --allow-tf32
  run "gpt2-$model-tf32-products" "${bench[@]}" --allow-tf32 \
    --attention products
  run "gpt2-$model-bf16" "${bench[@]}" --precision bf16 \
    --keep "$out/gpt2-$model-bf16-steps"
  run "gpt2-$model-bf16-products" "${bench[@]}" --precision bf16 \
    --attention products
done
for convolution in library generated; do
  run "resnet-$convolution" build/bin/zerograph train \
    models/resnet-mini/model.onnx --data models/resnet-mini/batches.safetensors \
    --target "$target" --micro-batch 8 --steps 50 --convolution "$convolution"
done
for graph in off compute all; do
  run "graph-$graph" "${checked[@]}" --steps 50 --graph "$graph"
done
if ((${#failed[@]})); then
  echo "gpu: failed: ${failed[*]}; each has its output in $out"
  exit 1
fi
echo "gpu: all passed; the outputs are in $out"
