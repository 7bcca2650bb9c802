//===- CudaOperations.cpp - what a queue of a GPU can do ------------------===//

#include "runtime/device/cuda/CudaOperations.h"

#include "runtime/device/cuda/CudaBuffer.h"
#include "runtime/device/cuda/CudaModule.h"

#include <algorithm>

using namespace zerograph;

namespace {

CUstream streamOf(const Issue &issue) {
  return static_cast<CUstream>(issue.stream);
}

class LaunchOperation final : public Operation {
public:
  LaunchOperation(const CudaApi &api, const std::vector<CudaLaunch> &launches,
                  std::vector<CUdeviceptr> addresses)
      : api(api), launches(launches), addresses(std::move(addresses)) {
    for (CUdeviceptr &address : this->addresses) {
      parameters.push_back(&address);
    }
  }

  absl::Status issue(const Issue &issue) override {
    for (const CudaLaunch &launch : launches) {
      ZG_CUDA(api, cuLaunchKernel, launch.function, launch.grid, 1, 1,
              launch.block, 1, 1, launch.shared_bytes, streamOf(issue),
              parameters.data(), nullptr);
    }
    return absl::OkStatus();
  }
  Replay replay() const override { return Replay::Always; }

private:
  const CudaApi &api;
  std::vector<CudaLaunch> launches;
  std::vector<CUdeviceptr> addresses;
  std::vector<void *> parameters;
};

class CopyOperation final : public Operation {
public:
  CopyOperation(const CudaApi &api, CUdeviceptr from, CUdeviceptr to,
                uint64_t bytes, std::atomic<uint64_t> *moved)
      : api(api), from(from), to(to), bytes(bytes), moved(moved) {}

  absl::Status issue(const Issue &issue) override {
    ZG_CUDA(api, cuMemcpyAsync, to, from, bytes, streamOf(issue));
    return absl::OkStatus();
  }
  Replay replay() const override { return Replay::Always; }
  void enqueued() override {
    if (moved) {
      moved->fetch_add(bytes, std::memory_order_relaxed);
    }
  }

private:
  const CudaApi &api;
  CUdeviceptr from, to;
  uint64_t bytes;
  std::atomic<uint64_t> *moved;
};

class FillOperation final : public Operation {
public:
  FillOperation(const CudaApi &api, CUdeviceptr to, uint64_t bytes)
      : api(api), to(to), bytes(bytes) {}

  absl::Status issue(const Issue &issue) override {
    ZG_CUDA(api, cuMemsetD8Async, to, 0, bytes, streamOf(issue));
    return absl::OkStatus();
  }
  Replay replay() const override { return Replay::Always; }

private:
  const CudaApi &api;
  CUdeviceptr to;
  uint64_t bytes;
};

/// Copies each part of the slot that the run was given to its place.
class CopyInOperation final : public Operation {
public:
  CopyInOperation(const CudaApi &api, const std::vector<CUdeviceptr> &addresses,
                  const StepBinding &step)
      : api(api), slots{addresses[0], addresses[1]} {
    const auto &offsets = step.step->copy_in().offsets();
    for (int i = 0; i < offsets.size(); ++i) {
      size_t access = std::size(slots) + size_t(i);
      parts.push_back(
          {offsets[i], addresses[access], step.ranges[access].bytes});
    }
  }

  absl::Status issue(const Issue &issue) override {
    for (const Part &part : parts) {
      ZG_CUDA(api, cuMemcpyAsync, part.to, slots[issue.slot] + part.offset,
              part.bytes, streamOf(issue));
    }
    return absl::OkStatus();
  }
  Replay replay() const override { return Replay::Whole; }

private:
  struct Part {
    uint64_t offset;
    CUdeviceptr to;
    uint64_t bytes;
  };
  const CudaApi &api;
  CUdeviceptr slots[2];
  std::vector<Part> parts;
};

absl::StatusOr<std::unique_ptr<Operation>>
makeLaunch(const CudaApi &api, const Module *module, const StepBinding &step,
           std::vector<CUdeviceptr> addresses) {
  auto *cuda = dynamic_cast<const CudaModule *>(module);
  if (!cuda) {
    return absl::InvalidArgumentError(
        "a kernel module of another device was given to the GPU");
  }
  return std::make_unique<LaunchOperation>(
      api, cuda->launches(step.step->launch().kernel()), std::move(addresses));
}

absl::StatusOr<std::unique_ptr<Operation>> makeMatmul(const Module *module,
                                                      const StepBinding &step) {
  auto *cuda = dynamic_cast<const CudaModule *>(module);
  if (!cuda || !cuda->products()) {
    return absl::InvalidArgumentError(
        "a product is bound with a module of another plan, which has none");
  }
  return cuda->products()->bind(step);
}

absl::StatusOr<std::unique_ptr<Operation>>
makeConvolution(const Module *module, const StepBinding &step) {
  auto *cuda = dynamic_cast<const CudaModule *>(module);
  if (!cuda || !cuda->convolutions()) {
    return absl::InvalidArgumentError(
        "a convolution is bound with a module of another plan, which has none");
  }
  return cuda->convolutions()->bind(step);
}

absl::Status needAddresses(const std::vector<CUdeviceptr> &addresses,
                           size_t least) {
  if (addresses.size() >= least) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("it has ", addresses.size(), " accesses, expected ", least));
}

} // namespace

absl::StatusOr<std::unique_ptr<Operation>>
zerograph::makeCudaOperation(const CudaApi &api, const Module *module,
                             const StepBinding &step) {
  const plan::Step &what = *step.step;
  ZG_ASSIGN_OR_RETURN(std::vector<CUdeviceptr> addresses,
                      cudaAddresses(step.ranges));
  switch (what.op_case()) {
  case plan::Step::kLaunch:
    return makeLaunch(api, module, step, std::move(addresses));
  case plan::Step::kMatmul:
    return makeMatmul(module, step);
  case plan::Step::kConvolution:
    return makeConvolution(module, step);
  case plan::Step::kCopy:
    ZG_RETURN_IF_ERROR(needAddresses(addresses, 2));
    return std::make_unique<CopyOperation>(
        api, addresses[0], addresses[1],
        std::min(step.ranges[0].bytes, step.ranges[1].bytes), step.moved);
  case plan::Step::kFill:
    ZG_RETURN_IF_ERROR(needAddresses(addresses, 1));
    return std::make_unique<FillOperation>(api, addresses[0],
                                           step.ranges[0].bytes);
  case plan::Step::kCopyIn:
    ZG_RETURN_IF_ERROR(
        needAddresses(addresses, 2 + size_t(what.copy_in().offsets_size())));
    return std::make_unique<CopyInOperation>(api, addresses, step);
  default:
    return absl::UnimplementedError(absl::StrCat(
        "a GPU cannot do what the plan asks for (kind ", int(what.op_case()),
        " of step): compile it with this version"));
  }
}
