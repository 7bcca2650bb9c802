//===- CudaEvents.h - events, with their owner ----------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAEVENTS_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAEVENTS_H

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

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDAEVENTS_H
