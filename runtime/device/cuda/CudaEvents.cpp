//===- CudaEvents.cpp - events, and when a GPU worked on steps ------------===//

#include "runtime/device/cuda/CudaEvents.h"

#include <chrono>

using namespace zerograph;

absl::Status CudaTimers::create(CudaEvents &events, size_t steps) {
  ZG_ASSIGN_OR_RETURN(origin, events.make(CU_EVENT_DEFAULT));
  for (size_t i = 0; i < steps; ++i) {
    Pair pair;
    ZG_ASSIGN_OR_RETURN(pair.begun, events.make(CU_EVENT_DEFAULT));
    ZG_ASSIGN_OR_RETURN(pair.ended, events.make(CU_EVENT_DEFAULT));
    pairs.push_back(pair);
  }
  return absl::OkStatus();
}

absl::Status CudaTimers::start(const CudaApi &api, CUstream stream) {
  ZG_CUDA(api, cuEventRecord, origin, stream);
  began = std::chrono::steady_clock::now().time_since_epoch() /
          std::chrono::nanoseconds(1);
  return absl::OkStatus();
}

absl::Status CudaTimers::begin(const CudaApi &api, size_t step,
                               CUstream stream) {
  ZG_CUDA(api, cuEventRecord, pairs[step].begun, stream);
  return absl::OkStatus();
}

absl::Status CudaTimers::end(const CudaApi &api, size_t step, CUstream stream) {
  ZG_CUDA(api, cuEventRecord, pairs[step].ended, stream);
  return absl::OkStatus();
}

absl::Status CudaTimers::read(const CudaApi &api,
                              std::vector<StepTime> &times) const {
  auto at = [&](CUevent event, int64_t &time) {
    float milliseconds = 0;
    ZG_CUDA(api, cuEventElapsedTime, &milliseconds, origin, event);
    time = began + int64_t(double(milliseconds) * 1e6);
    return absl::OkStatus();
  };
  times.resize(pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    ZG_RETURN_IF_ERROR(at(pairs[i].begun, times[i].begin));
    ZG_RETURN_IF_ERROR(at(pairs[i].ended, times[i].end));
  }
  return absl::OkStatus();
}
