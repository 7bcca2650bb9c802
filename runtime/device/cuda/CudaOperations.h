//===- CudaOperations.h - what a queue of a GPU can do --------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAOPERATIONS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAOPERATIONS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

namespace zerograph {

/// Binds what a step does; `Issue::stream` is then a CUstream. `module` is the
/// program's. Both outlive the operation, and so do the buffers.
absl::StatusOr<std::unique_ptr<Operation>>
makeCudaOperation(const CudaApi &api, const Module *module,
                  const StepBinding &step);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAOPERATIONS_H
