//===- LaunchFold.cpp - adds contributions up on a GPU --------------------===//

#include "runtime/comm/cuda/LaunchFold.h"

#include "runtime/device/cuda/FoldKernel.h"
#include "runtime/plan/Describe.h"

using namespace zerograph;

absl::Status zerograph::launchFold(const CudaModule &module, CUstream stream,
                                   const GpuFold &fold) {
  uint64_t size = elementSize(fold.wire), elements = fold.bytes / size;
  CUdeviceptr sum = fold.sum, contributions = fold.contributions;
  uint64_t stride = fold.stride / size, count = fold.count;
  uint64_t accumulate = fold.accumulate;
  bool aligned =
      (sum | contributions | fold.stride | fold.bytes) % kFoldAccess == 0;
  uint64_t width = aligned ? foldWidth(fold.wire) : 1;
  void *parameters[] = {&sum,   &contributions, &stride,
                        &count, &elements,      &accumulate};
  uint64_t threads = elements / width;
  uint64_t grid = (threads + kFoldBlock - 1) / kFoldBlock;
  ZG_CUDA(module.gpu()->api, cuLaunchKernel, module.fold(fold.wire, width),
          unsigned(grid), 1, 1, kFoldBlock, 1, 1, 0, stream, parameters,
          nullptr);
  return absl::OkStatus();
}
