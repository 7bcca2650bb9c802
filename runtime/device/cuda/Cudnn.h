//===- Cudnn.h - a plan's convolutions by cuDNN ---------------------------===//

#ifndef ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNN_H
#define ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNN_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/Algorithms.h"
#include "runtime/device/cuda/CudnnConvolution.h"

#include <map>

namespace zerograph {

struct LibraryStep;

/// The library opened on one GPU, and every convolution that a plan's steps ask
/// for, each with its engine. Shared by the ranks of a process; thread-safe
/// once it is made.
class Cudnn {
public:
  /// Null where the plan has no such step. Takes its engines from the file or,
  /// where that does not decide, adds them. An error names the step, and says
  /// what is missing or what the file was written for. An environment that
  /// would change how convolutions are computed is refused.
  static absl::StatusOr<std::unique_ptr<Cudnn>>
  open(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
       Algorithms &algorithms);
  ~Cudnn();
  Cudnn(const Cudnn &) = delete;
  Cudnn &operator=(const Cudnn &) = delete;

  /// Version, GPU and a digest of the engines: where two of these are equal,
  /// convolutions have the same bits.
  const std::string &choices() const { return chosen; }

  /// Binds one of the plan's convolutions. This and the buffers outlive it.
  absl::StatusOr<std::unique_ptr<Operation>>
  bind(const StepBinding &step) const;

  /// Enqueues it, while no other thread records a graph. The ranks of a process
  /// that share a GPU have one handle: one for each would cost memory that no
  /// plan states.
  absl::Status execute(const CudnnConvolution &convolution,
                       const CudnnDescriptor &pack, CUstream stream) const;

private:
  Cudnn(std::shared_ptr<CudaContext> context, const CudnnApi &api)
      : context(std::move(context)), api(api) {}

  ConvolutionKind kindOf(const plan::Step &step) const;
  absl::Status addConvolutions(const std::vector<LibraryStep> &steps);
  absl::Status choose(Algorithms &algorithms);
  absl::Status loadKernels() const;

  /// A kind that the plan asks for, and the first step that does.
  struct Entry {
    ConvolutionKind kind;
    std::unique_ptr<CudnnConvolution> convolution;
    std::string asked_by;
    uint64_t bytes[3] = {}; ///< the sizes of input, weights and output
  };

  std::shared_ptr<CudaContext> context;
  const CudnnApi &api;
  cudnnHandle_t handle = nullptr;
  bool allow_tf32 = false;
  std::map<std::string, Entry> convolutions; // by the text of the kind
  std::string chosen;
};

/// Returns the accesses of a step of this kind that are input, weights and
/// output.
std::array<int, 3> accessesOf(plan::ConvolutionKind kind);

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_DEVICE_CUDA_CUDNN_H
