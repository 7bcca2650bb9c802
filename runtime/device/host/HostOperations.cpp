//===- HostOperations.cpp - what a host stream can do ---------------------===//

#include "runtime/device/host/HostOperations.h"

#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/MatmulLibrary.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace zerograph;

namespace {

/// Bytes that are worth a second thread.
constexpr uint64_t kCopyGrain = 256 << 10;

class LaunchOperation final : public Operation {
public:
  LaunchOperation(WorkerPool &pool, const HostKernelModule::Kernel &kernel,
                  const std::vector<std::byte *> &addresses)
      : pool(pool), kernel(kernel),
        buffers(addresses.begin(), addresses.end()) {}

  absl::Status issue(const Issue &) override {
    if (kernel.extent <= kernel.grain) {
      kernel.function(buffers.data(), 0, int64_t(kernel.extent));
      return absl::OkStatus();
    }
    pool.run([this](unsigned worker) {
      WorkRange share =
          shareOf(kernel.extent, kernel.grain, worker, pool.size());
      if (!share.empty()) {
        kernel.function(buffers.data(), int64_t(share.begin),
                        int64_t(share.end));
      }
    });
    return absl::OkStatus();
  }

private:
  WorkerPool &pool;
  HostKernelModule::Kernel kernel;
  std::vector<void *> buffers;
};

class LibraryOperation final : public Operation {
public:
  LibraryOperation(WorkerPool &pool, std::unique_ptr<LibraryCall> call)
      : pool(pool), call(std::move(call)) {}

  absl::Status issue(const Issue &) override {
    if (call->parts() == 1) {
      return call->run(0);
    }
    next.store(0, std::memory_order_relaxed);
    pool.run([this](unsigned) { takeParts(); });
    return std::exchange(failure, absl::OkStatus());
  }

private:
  void takeParts() {
    for (unsigned part; (part = next.fetch_add(1)) < call->parts();) {
      absl::Status status = call->run(part);
      if (!status.ok()) {
        std::lock_guard<std::mutex> lock(mutex);
        failure.Update(status);
      }
    }
  }

  WorkerPool &pool;
  std::unique_ptr<LibraryCall> call;
  std::atomic<unsigned> next{0};
  std::mutex mutex;
  absl::Status failure;
};

class CopyOperation final : public Operation {
public:
  CopyOperation(WorkerPool &pool, const std::byte *source,
                std::byte *destination, uint64_t bytes)
      : pool(pool), source(source), destination(destination), bytes(bytes) {}

  absl::Status issue(const Issue &) override {
    if (bytes <= kCopyGrain) {
      std::memcpy(destination, source, bytes);
      return absl::OkStatus();
    }
    pool.run([this](unsigned worker) {
      WorkRange share = shareOf(bytes, kCopyGrain, worker, pool.size());
      if (!share.empty()) {
        std::memcpy(destination + share.begin, source + share.begin,
                    share.end - share.begin);
      }
    });
    return absl::OkStatus();
  }

private:
  WorkerPool &pool;
  const std::byte *source;
  std::byte *destination;
  uint64_t bytes;
};

class FillOperation final : public Operation {
public:
  FillOperation(WorkerPool &pool, std::byte *destination, uint64_t bytes)
      : pool(pool), destination(destination), bytes(bytes) {}

  absl::Status issue(const Issue &) override {
    if (bytes <= kCopyGrain) {
      std::memset(destination, 0, bytes);
      return absl::OkStatus();
    }
    pool.run([this](unsigned worker) {
      WorkRange share = shareOf(bytes, kCopyGrain, worker, pool.size());
      if (!share.empty()) {
        std::memset(destination + share.begin, 0, share.end - share.begin);
      }
    });
    return absl::OkStatus();
  }

private:
  WorkerPool &pool;
  std::byte *destination;
  uint64_t bytes;
};

/// Of the slot that the run was given, each part to its place.
class CopyInOperation final : public Operation {
public:
  CopyInOperation(const std::vector<std::byte *> &addresses,
                  const StepBinding &step)
      : slots{addresses[0], addresses[1]} {
    const auto &offsets = step.step->copy_in().offsets();
    for (int i = 0; i < offsets.size(); ++i) {
      size_t access = std::size(slots) + size_t(i);
      parts.push_back(
          {offsets[i], addresses[access], step.ranges[access].bytes});
    }
  }

  absl::Status issue(const Issue &issue) override {
    for (const Part &part : parts) {
      std::memcpy(part.to, slots[issue.slot] + part.offset, part.bytes);
    }
    return absl::OkStatus();
  }

private:
  struct Part {
    uint64_t offset;
    std::byte *to;
    uint64_t bytes;
  };
  const std::byte *slots[2];
  std::vector<Part> parts;
};

absl::Status expectAccesses(const StepBinding &step, size_t least,
                            const char *what) {
  if (step.ranges.size() >= least) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("it has ", step.ranges.size(),
                                                 " accesses, expected ", what));
}

absl::StatusOr<std::unique_ptr<Operation>>
makeLaunch(WorkerPool &pool, const Module *module, const StepBinding &step) {
  auto *host = dynamic_cast<const HostKernelModule *>(module);
  if (!host) {
    return absl::InvalidArgumentError(
        "a kernel module of another device was given to the host");
  }
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  return std::make_unique<LaunchOperation>(
      pool, host->kernel(step.step->launch().kernel()), addresses);
}

/// `bind(a, b, c, scratch, scratch_bytes)` gives the call.
template <typename Bind>
absl::StatusOr<std::unique_ptr<Operation>>
makeLibraryCall(WorkerPool &pool, const StepBinding &step, const Bind &bind) {
  ZG_RETURN_IF_ERROR(
      expectAccesses(step, 3, "two operands, a result and scratch"));
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  bool scratch = addresses.size() > 3; // none where no part needs any
  ZG_ASSIGN_OR_RETURN(auto call, bind(addresses[0], addresses[1], addresses[2],
                                      scratch ? addresses[3] : nullptr,
                                      scratch ? step.ranges[3].bytes : 0));
  return std::make_unique<LibraryOperation>(pool, std::move(call));
}

absl::StatusOr<std::unique_ptr<Operation>> makeCopy(WorkerPool &pool,
                                                    const StepBinding &step) {
  ZG_RETURN_IF_ERROR(expectAccesses(step, 2, "a source and a destination"));
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  return std::make_unique<CopyOperation>(
      pool, addresses[0], addresses[1],
      std::min(step.ranges[0].bytes, step.ranges[1].bytes));
}

absl::StatusOr<std::unique_ptr<Operation>> makeFill(WorkerPool &pool,
                                                    const StepBinding &step) {
  ZG_RETURN_IF_ERROR(expectAccesses(step, 1, "a destination"));
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  return std::make_unique<FillOperation>(pool, addresses[0],
                                         step.ranges[0].bytes);
}

absl::StatusOr<std::unique_ptr<Operation>> makeCopyIn(const StepBinding &step) {
  ZG_RETURN_IF_ERROR(
      expectAccesses(step, 2 + size_t(step.step->copy_in().offsets_size()),
                     "two slots and a destination for each offset"));
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  return std::make_unique<CopyInOperation>(addresses, step);
}

} // namespace

absl::StatusOr<std::unique_ptr<Operation>>
zerograph::makeOperation(WorkerPool &pool, const Module *module,
                         const StepBinding &step) {
  const plan::Step &what = *step.step;
  switch (what.op_case()) {
  case plan::Step::kLaunch:
    return makeLaunch(pool, module, step);
  case plan::Step::kMatmul:
    return makeLibraryCall(pool, step, [&](auto... operands) {
      return bindMatmul(what.matmul(), operands...);
    });
  case plan::Step::kConvolution:
    return makeLibraryCall(pool, step, [&](auto... operands) {
      return bindConvolution(what.convolution(), operands...);
    });
  case plan::Step::kCopy:
    return makeCopy(pool, step);
  case plan::Step::kFill:
    return makeFill(pool, step);
  case plan::Step::kCopyIn:
    return makeCopyIn(step);
  default:
    return absl::UnimplementedError("the host does not know its operation");
  }
}
