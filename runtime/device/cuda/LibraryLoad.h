//===- LibraryLoad.h - what libraries do when a plan is loaded ------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARYLOAD_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARYLOAD_H

#include "runtime/device/cuda/CudaMemory.h"
#include "runtime/plan/plan.pb.h"

#include <functional>
#include <string>
#include <vector>

namespace zerograph {

/// Steps of one kind, and how messages call each.
struct LibraryStep {
  const plan::Step *step;
  std::string name;
};

/// The plan's steps of which `is` holds, in order.
inline std::vector<LibraryStep> stepsOf(const plan::Plan &plan,
                                        bool (plan::Step::*is)() const) {
  std::vector<LibraryStep> found;
  for (const plan::Program &program : plan.programs()) {
    for (int i = 0; i < program.steps_size(); ++i) {
      const plan::Step &step = program.steps(i);
      if ((step.*is)()) {
        found.push_back(
            {&step, absl::StrCat("program \"", program.name(), "\": step ", i,
                                 " '", step.name(), "'")});
      }
    }
  }
  return found;
}

/// A library loads a kernel when it first launches it, and nothing may be
/// loaded while a graph is recorded: so each is launched once before. `launch`
/// enqueues that, in so many bytes of zeros, which the arenas get afterwards;
/// returns when it has ended.
inline absl::Status
launchOnce(const std::shared_ptr<CudaContext> &context, uint64_t bytes,
           const std::function<absl::Status(CUdeviceptr, CUstream)> &launch) {
  const CudaApi &api = context->api;
  ZG_ASSIGN_OR_RETURN(auto memory, makeGpuMemory(context, bytes));
  CUstream stream = nullptr;
  ZG_CUDA(api, cuStreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, 0);
  absl::Status status =
      cudaStatus(api, api.cuMemsetD8Async(memory->address(), 0, bytes, stream),
                 "cuMemsetD8Async");
  status.Update(launch(memory->address(), stream));
  status.Update(
      cudaStatus(api, api.cuStreamSynchronize(stream), "cuStreamSynchronize"));
  api.cuStreamDestroy(stream);
  return status;
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_LIBRARYLOAD_H
