//===- Cudnn.cpp - a plan's convolutions by cuDNN -------------------------===//

#include "runtime/device/cuda/Cudnn.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/LibraryWorkspace.h"

using namespace zerograph;

namespace {

class ConvolutionOperation final : public Operation {
public:
  ConvolutionOperation(const Cudnn &library,
                       const CudnnConvolution &convolution,
                       CudnnDescriptor pack)
      : library(library), convolution(convolution), pack(std::move(pack)) {}

  absl::Status issue(const Issue &issue) override {
    return library.execute(convolution, pack,
                           static_cast<CUstream>(issue.stream));
  }
  Replay replay() const override { return Replay::Always; }

private:
  const Cudnn &library;
  const CudnnConvolution &convolution;
  CudnnDescriptor pack;
};

/// Until the process ends.
template <typename T>
void keep(T left) {
  static std::mutex mutex;
  static auto &all = *new std::vector<T>();
  std::lock_guard<std::mutex> lock(mutex);
  all.push_back(std::move(left));
}

} // namespace

std::array<int, 3> zerograph::accessesOf(plan::ConvolutionKind kind) {
  switch (kind) {
  case plan::CONVOLVE:
    return {0, 1, 2};
  case plan::INPUT_GRADIENT: // of the output, and the weights
    return {2, 1, 0};
  default: // the input, and of the output
    return {0, 2, 1};
  }
}

Cudnn::~Cudnn() {
  if (!context->enter().ok()) {
    keep(std::move(convolutions)); // to destroy them may wait for the GPU
    return;
  }
  convolutions.clear();
  if (handle) {
    api.cudnnDestroy(handle);
  }
}

ConvolutionKind Cudnn::kindOf(const plan::Step &step) const {
  ConvolutionKind kind;
  kind.shape = step.convolution();
  kind.allow_tf32 = allow_tf32 && kind.shape.element_type() == plan::F32;
  kind.workspace =
      step.accesses_size() > 3 ? usableWorkspace(step.accesses(3).bytes()) : 0;
  return kind;
}

absl::StatusOr<std::unique_ptr<Operation>>
Cudnn::bind(const StepBinding &step) const {
  const plan::Step &what = *step.step;
  if (what.accesses_size() < 3 ||
      step.ranges.size() != size_t(what.accesses_size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a convolution has ", step.ranges.size(),
                     " accesses, expected 3 or 4"));
  }
  ConvolutionKind kind = kindOf(what);
  auto found = convolutions.find(kind.text());
  if (found == convolutions.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its convolution (", kind.text(),
                     ") is none of the plan's that was loaded"));
  }
  ZG_ASSIGN_OR_RETURN(std::vector<CUdeviceptr> addresses,
                      cudaAddresses(step.ranges));
  CUdeviceptr tensors[3];
  std::array<int, 3> accesses = accessesOf(kind.shape.kind());
  for (int i = 0; i < 3; ++i) {
    tensors[i] = addresses[size_t(accesses[i])];
    if (tensors[i] % CudnnConvolution::kAlignment != 0) {
      return absl::InternalError(absl::StrCat(
          "access ", accesses[i], " begins at address ", tensors[i],
          ", expected a multiple of ", CudnnConvolution::kAlignment));
    }
  }
  CUdeviceptr workspace =
      addresses.size() > 3
          ? workspaceBegin(addresses[3], what.accesses(3).bytes())
          : 0;
  const CudnnConvolution &convolution = *found->second.convolution;
  ZG_ASSIGN_OR_RETURN(CudnnDescriptor pack,
                      convolution.pack(tensors, workspace));
  return std::make_unique<ConvolutionOperation>(*this, convolution,
                                                std::move(pack));
}

absl::Status Cudnn::execute(const CudnnConvolution &convolution,
                            const CudnnDescriptor &pack,
                            CUstream stream) const {
  std::lock_guard<std::recursive_mutex> lock(context->recording);
  ZG_CUDNN(api, cudnnSetStream, handle, stream);
  return convolution.execute(pack);
}
