//===- CudaDriver.h - this machine's GPUs ---------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDADRIVER_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDADRIVER_H

#include "runtime/device/Driver.h"

namespace zerograph {

/// The GPUs that this process may use, by their UUIDs; an error says what is
/// missing.
absl::StatusOr<std::vector<std::string>> listGpus();

/// Returns "sm_90": the newest architecture whose plans this process's first
/// GPU runs.
absl::StatusOr<std::string> nativeArchitecture();

/// Opens GPU `number`. An error says what is missing: the driver, a GPU, or
/// one that the plan's kernels are for.
absl::StatusOr<std::unique_ptr<Driver>>
openCudaDriver(const plan::Target &target, unsigned number);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDADRIVER_H
