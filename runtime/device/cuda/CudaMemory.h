//===- CudaMemory.h - memory of a GPU, and of the host for it -------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H

#include "runtime/device/cuda/CudaContext.h"

#include <memory>

namespace zerograph {

/// Memory that a GPU reaches, freed with its owner.
class CudaMemory {
public:
  virtual ~CudaMemory() = default;

  CUdeviceptr address() const { return begin; }
  /// Returns what the driver was asked for: whole granules.
  uint64_t allocated() const { return size; }

protected:
  CUdeviceptr begin = 0;
  uint64_t size = 0;
};

/// The GPU's own: one reservation of addresses with one allocation behind it,
/// which NCCL can register, and other processes and network cards may reach
/// where the machine lets them. `bytes` is not 0. Its beginning is aligned to
/// the driver's granularity, 2 MiB on today's.
absl::StatusOr<std::unique_ptr<CudaMemory>>
makeGpuMemory(std::shared_ptr<CudaContext> context, uint64_t bytes);

/// Locked pages of the host, at the same address for both.
absl::StatusOr<std::unique_ptr<CudaMemory>>
makePinnedMemory(std::shared_ptr<CudaContext> context, uint64_t bytes);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAMEMORY_H
