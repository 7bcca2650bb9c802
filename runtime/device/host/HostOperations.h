//===- HostOperations.h - what a host stream can do -----------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTOPERATIONS_H
#define ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTOPERATIONS_H

#include "runtime/device/Device.h"
#include "runtime/device/host/WorkerPool.h"

namespace zerograph {

// As Stream's functions of these names; `pool` outlives the operation.

absl::StatusOr<std::unique_ptr<Operation>>
makeLaunch(WorkerPool &pool, const KernelModule &module,
           const plan::Kernel &kernel, unsigned index,
           absl::Span<void *const> buffers);

absl::StatusOr<std::unique_ptr<Operation>>
makeMatmul(WorkerPool &pool, const plan::Matmul &matmul,
           absl::Span<void *const> buffers, uint64_t scratch_bytes);

absl::StatusOr<std::unique_ptr<Operation>>
makeConvolution(WorkerPool &pool, const plan::Convolution &convolution,
                absl::Span<void *const> buffers, uint64_t scratch_bytes);

absl::StatusOr<std::unique_ptr<Operation>> makeCopy(WorkerPool &pool,
                                                    const void *source,
                                                    void *destination,
                                                    uint64_t bytes);

absl::StatusOr<std::unique_ptr<Operation>>
makeFill(WorkerPool &pool, void *destination, uint64_t bytes);

std::unique_ptr<Operation> makeCall(std::function<absl::Status()> function);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_HOST_HOSTOPERATIONS_H
