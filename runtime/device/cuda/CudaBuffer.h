//===- CudaBuffer.h - memory of a GPU, and memory that it reaches ---------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDABUFFER_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDABUFFER_H

#include "runtime/device/Buffer.h"
#include "runtime/device/cuda/CudaContext.h"

namespace zerograph {

/// Full of NaNs until written, so that the highest byte touched can be found.
absl::StatusOr<std::unique_ptr<Buffer>>
makeCudaBuffer(std::shared_ptr<CudaContext> context, plan::Space space,
               uint64_t bytes, uint64_t alignment);

/// Returns where a range lies for the GPU; an error where the buffer is another
/// device's, or ends before the range.
absl::StatusOr<CUdeviceptr> cudaAddress(const DeviceRange &range);
/// Returns the address of each of the ranges.
absl::StatusOr<std::vector<CUdeviceptr>>
cudaAddresses(const std::vector<DeviceRange> &ranges);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDABUFFER_H
