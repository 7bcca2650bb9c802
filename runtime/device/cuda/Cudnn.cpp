//===- Cudnn.cpp - a plan's convolutions by cuDNN -------------------------===//

#include "runtime/device/cuda/Cudnn.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/LibraryLoad.h"
#include "runtime/device/cuda/LibraryWorkspace.h"

#include <algorithm>

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

absl::StatusOr<std::unique_ptr<Cudnn>>
Cudnn::open(std::shared_ptr<CudaContext> context, const plan::Plan &plan,
            Algorithms &algorithms) {
  std::vector<LibraryStep> steps = stepsOf(plan, &plan::Step::has_convolution);
  if (steps.empty()) {
    return nullptr;
  }
  ZG_RETURN_IF_ERROR(refuseEnvironment("cuDNN", {"NVIDIA_TF32_OVERRIDE"}));
  auto api = cudnnApi();
  if (!api.ok()) {
    return annotate(api.status(),
                    "the plan convolves by cuDNN (compile it with "
                    "--convolution generated to do without)");
  }
  std::unique_ptr<Cudnn> library(new Cudnn(std::move(context), **api));
  ZG_RETURN_IF_ERROR(library->context->enter());
  ZG_ASSIGN_OR_RETURN(library->handle, createCudnn(**api));
  library->allow_tf32 = plan.devices(0).allow_tf32();
  ZG_RETURN_IF_ERROR(library->addConvolutions(steps));
  ZG_RETURN_IF_ERROR(library->choose(algorithms));
  return library;
}

absl::Status Cudnn::addConvolutions(const std::vector<LibraryStep> &steps) {
  for (const LibraryStep &asking : steps) {
    const plan::Step &step = *asking.step;
    ConvolutionKind kind = kindOf(step);
    auto [place, added] = convolutions.try_emplace(kind.text());
    if (!added) {
      continue;
    }
    Entry &entry = place->second;
    entry.kind = kind;
    entry.asked_by = asking.name;
    std::array<int, 3> accesses = accessesOf(kind.shape.kind());
    for (int tensor = 0; tensor < 3; ++tensor) {
      entry.bytes[tensor] = step.accesses(accesses[tensor]).bytes();
    }
    auto convolution = CudnnConvolution::create({api, handle, nullptr}, kind);
    if (!convolution.ok()) {
      return annotate(convolution.status(),
                      absl::StrCat(entry.asked_by, " (", kind.text(), ")"));
    }
    entry.convolution = std::move(*convolution);
  }
  return absl::OkStatus();
}

/// Chooses as the file says or, where there is none, as the library does.
absl::Status Cudnn::choose(Algorithms &algorithms) {
  LibraryAlgorithms here(cudnnVersion(api), *context);
  ZG_RETURN_IF_ERROR(algorithms.check(here));
  for (auto &[text, entry] : convolutions) {
    std::string kind = absl::StrCat("convolution ", text);
    CudnnConvolution *convolution = entry.convolution.get();
    auto choose = [&]() -> absl::Status {
      if (!algorithms.decide()) {
        return convolution->choose();
      }
      ZG_ASSIGN_OR_RETURN(std::string known, algorithms.of(here, kind));
      ZG_ASSIGN_OR_RETURN(CudnnEngine engine, CudnnEngine::parse(known));
      return convolution->take(engine);
    };
    if (absl::Status status = choose(); !status.ok()) {
      return annotate(status, absl::StrCat(entry.asked_by, " (", text, ")"));
    }
    here.kinds[kind] = convolution->engine().text();
  }
  chosen = here.choices();
  algorithms.add(std::move(here));
  return loadKernels();
}

absl::Status Cudnn::loadKernels() const {
  uint64_t most = 0;
  for (const auto &[text, entry] : convolutions) {
    most = std::max(
        most, alignWorkspace(entry.bytes[0]) + alignWorkspace(entry.bytes[1]) +
                  alignWorkspace(entry.bytes[2]) + entry.kind.workspace);
  }
  std::vector<CudnnDescriptor> packs; // until all has ended
  return launchOnce(context, most, [&](CUdeviceptr begin, CUstream stream) {
    absl::Status status;
    for (const auto &[text, entry] : convolutions) {
      CUdeviceptr tensors[3], next = begin;
      for (int i = 0; i < 3; ++i) {
        tensors[i] = next;
        next += alignWorkspace(entry.bytes[i]);
      }
      auto pack =
          entry.convolution->pack(tensors, entry.kind.workspace ? next : 0);
      absl::Status done = pack.status();
      if (pack.ok()) {
        packs.push_back(std::move(*pack));
        done = execute(*entry.convolution, packs.back(), stream);
      }
      status.Update(
          annotate(done, absl::StrCat(entry.asked_by, " (", text, ")")));
    }
    // The stream goes, and the handle is not to keep it.
    status.Update(cudnnStatus(api, api.cudnnSetStream(handle, nullptr),
                              "cudnnSetStream"));
    return status;
  });
}
