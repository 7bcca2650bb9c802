//===- CudnnLoad.cpp - what is decided when a plan is loaded --------------===//

#include "runtime/device/cuda/Cudnn.h"

#include "runtime/device/cuda/LibraryLoad.h"
#include "runtime/device/cuda/LibraryWorkspace.h"

#include <algorithm>

using namespace zerograph;

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

/// As the file says or, where there is none, as the library does.
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
