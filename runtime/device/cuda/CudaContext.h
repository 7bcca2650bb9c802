//===- CudaContext.h - a GPU, opened --------------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H

#include "runtime/device/cuda/CudaApi.h"

#include <memory>
#include <string>

namespace zerograph {

/// One GPU's primary context, which a process shares.
class CudaContext {
public:
  static absl::StatusOr<std::shared_ptr<CudaContext>> open(const CudaApi &api,
                                                           int device);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  /// Makes it the calling thread's: before any call that needs one.
  absl::Status enter() const;

  /// "sm_90".
  const std::string &architecture() const { return arch; }

  const CudaApi &api;

private:
  CudaContext(const CudaApi &api, CUdevice device) : api(api), device(device) {}

  CUdevice device;
  CUcontext handle = nullptr;
  std::string arch;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDACONTEXT_H
