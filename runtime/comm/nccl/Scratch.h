//===- Scratch.h - a stream and memory for a while ------------------------===//

#ifndef ZEROGRAPH_RUNTIME_COMM_NCCL_SCRATCH_H
#define ZEROGRAPH_RUNTIME_COMM_NCCL_SCRATCH_H

#include "runtime/device/cuda/CudaMemory.h"

#include "absl/functional/function_ref.h"

#include <chrono>

namespace zerograph {

/// A stream of a GPU, and zeroed memory, which go with this. One thread uses
/// it.
class Scratch {
public:
  static absl::StatusOr<Scratch> make(std::shared_ptr<CudaContext> gpu,
                                      uint64_t bytes);
  ~Scratch();
  Scratch(Scratch &&from) noexcept { std::swap(state, from.state); }
  Scratch &operator=(Scratch &&) = delete;

  CUdeviceptr memory() const { return state.memory->address(); }
  CUstream stream() const { return state.stream; }

  /// Waits until what is on the stream is done; an error of `check`, which is
  /// asked meanwhile, or past the deadline.
  absl::Status await(std::chrono::steady_clock::duration deadline,
                     absl::FunctionRef<absl::Status()> check);

private:
  Scratch() = default;
  struct State {
    std::shared_ptr<CudaContext> gpu;
    std::unique_ptr<CudaMemory> memory;
    CUstream stream = nullptr;
    CUevent done = nullptr;
  } state;
};

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_COMM_NCCL_SCRATCH_H
