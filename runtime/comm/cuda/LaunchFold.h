//===- LaunchFold.h - adds contributions up on a GPU ----------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_CUDA_LAUNCHFOLD_H
#define ZEROGRAPH_RUNTIME_COMM_CUDA_LAUNCHFOLD_H

#include "runtime/device/cuda/CudaModule.h"

namespace zerograph {

/// The fold of FoldKernel.h, for `count` arrays of `bytes` bytes of type
/// `wire`, each `stride` bytes after the one before; whole elements.
struct GpuFold {
  plan::ElementType wire = plan::F32;
  CUdeviceptr sum = 0, contributions = 0;
  uint64_t stride = 0, count = 1, bytes = 0;
  bool accumulate = true;
};

/// Enqueues it. The thread has the module's context.
absl::Status launchFold(const CudaModule &module, CUstream stream,
                        const GpuFold &fold);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_CUDA_LAUNCHFOLD_H
