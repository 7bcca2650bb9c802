//===- CudaTimers.h - when a GPU worked on steps --------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDATIMERS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDATIMERS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaEvents.h"

namespace zerograph {

/// Events before and after each of some steps.
class CudaTimers {
public:
  /// `steps` of them, numbered from 0.
  absl::Status create(CudaEvents &events, size_t steps);

  /// Begins a run, which `stream` is the first to work on.
  absl::Status start(const CudaApi &api, CUstream stream);
  absl::Status begin(const CudaApi &api, size_t step, CUstream stream);
  absl::Status end(const CudaApi &api, size_t step, CUstream stream);
  /// Reads the times of the run, which is over: nanoseconds of the steady
  /// clock.
  absl::Status read(const CudaApi &api, std::vector<StepTime> &times) const;

private:
  struct Pair {
    CUevent begun = nullptr, ended = nullptr;
  };
  CUevent origin = nullptr;
  int64_t began = 0; // the steady clock when `origin` was recorded
  std::vector<Pair> pairs;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDATIMERS_H
