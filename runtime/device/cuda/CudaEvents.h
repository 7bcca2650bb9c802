//===- CudaEvents.h - events, and when a GPU worked on steps --------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAEVENTS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAEVENTS_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

#include <vector>

namespace zerograph {

/// Makes events, and destroys them when it goes. For one thread.
class CudaEvents {
public:
  explicit CudaEvents(std::shared_ptr<CudaContext> context)
      : context(std::move(context)) {}
  ~CudaEvents() {
    if (!events.empty() && context->enter().ok()) {
      for (CUevent event : events) {
        context->api.cuEventDestroy(event);
      }
    }
  }
  CudaEvents(const CudaEvents &) = delete;
  CudaEvents &operator=(const CudaEvents &) = delete;

  /// The thread has entered the context.
  absl::StatusOr<CUevent> make(unsigned flags = CU_EVENT_DISABLE_TIMING) {
    CUevent event = nullptr;
    ZG_CUDA(context->api, cuEventCreate, &event, flags);
    events.push_back(event);
    return event;
  }

private:
  std::shared_ptr<CudaContext> context;
  std::vector<CUevent> events;
};

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

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAEVENTS_H
