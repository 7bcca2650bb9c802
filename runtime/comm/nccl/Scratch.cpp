//===- Scratch.cpp - a stream and memory for a while ----------------------===//

#include "runtime/comm/nccl/Scratch.h"

#include <thread>

using namespace zerograph;

absl::StatusOr<Scratch> Scratch::make(std::shared_ptr<CudaContext> gpu,
                                      uint64_t bytes) {
  Scratch made;
  State &state = made.state;
  state.gpu = std::move(gpu);
  const CudaApi &api = state.gpu->api;
  ZG_RETURN_IF_ERROR(state.gpu->enter());
  ZG_CUDA(api, cuStreamCreateWithPriority, &state.stream,
          CU_STREAM_NON_BLOCKING, 0);
  ZG_CUDA(api, cuEventCreate, &state.done, CU_EVENT_DISABLE_TIMING);
  ZG_ASSIGN_OR_RETURN(state.memory, makeGpuMemory(state.gpu, bytes));
  ZG_CUDA(api, cuMemsetD8Async, made.memory(), 0, bytes, state.stream);
  return made;
}

Scratch::~Scratch() {
  if (!state.gpu || !state.gpu->enter().ok()) {
    return;
  }
  const CudaApi &api = state.gpu->api;
  if (state.done) {
    api.cuEventDestroy(state.done);
  }
  if (state.stream) {
    api.cuStreamDestroy(state.stream);
  }
}

absl::Status Scratch::await(std::chrono::steady_clock::duration deadline,
                            absl::FunctionRef<absl::Status()> check) {
  using Clock = std::chrono::steady_clock;
  const CudaApi &api = state.gpu->api;
  ZG_CUDA(api, cuEventRecord, state.done, state.stream);
  for (Clock::time_point end = Clock::now() + deadline;;) {
    CUresult result = api.cuEventQuery(state.done);
    if (result != CUDA_ERROR_NOT_READY) {
      return cudaStatus(api, result, "cuEventQuery");
    }
    ZG_RETURN_IF_ERROR(check());
    if (Clock::now() > end) {
      return absl::DeadlineExceededError(
          absl::StrCat("the GPU finished nothing for ",
                       std::chrono::duration<double>(deadline).count(), " s"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}
