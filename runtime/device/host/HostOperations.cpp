//===- HostOperations.cpp - what a host stream can do ---------------------===//

#include "runtime/device/host/HostOperations.h"

#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/MatmulLibrary.h"

#include <cstring>
#include <mutex>

using namespace zerograph;

namespace {

/// Bytes that are worth a second thread.
constexpr uint64_t kCopyGrain = 256 << 10;

class LaunchOperation final : public Operation {
public:
  LaunchOperation(WorkerPool &pool, KernelFunction function,
                  const plan::Kernel &kernel, absl::Span<void *const> buffers)
      : pool(pool), function(function), extent(kernel.extent()),
        grain(kernel.grain()), buffers(buffers.begin(), buffers.end()) {}

  absl::Status issue() override {
    if (extent <= grain) {
      function(buffers.data(), 0, int64_t(extent));
      return absl::OkStatus();
    }
    pool.run([this](unsigned worker) {
      WorkRange share = shareOf(extent, grain, worker, pool.size());
      if (!share.empty()) {
        function(buffers.data(), int64_t(share.begin), int64_t(share.end));
      }
    });
    return absl::OkStatus();
  }

private:
  WorkerPool &pool;
  KernelFunction function;
  uint64_t extent;
  uint64_t grain;
  std::vector<void *> buffers;
};

class LibraryOperation final : public Operation {
public:
  LibraryOperation(WorkerPool &pool, std::unique_ptr<LibraryCall> call)
      : pool(pool), call(std::move(call)) {}

  absl::Status issue() override {
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

/// `bind(a, b, c, scratch)` gives the call of `what`.
template <typename Bind>
absl::StatusOr<std::unique_ptr<Operation>>
makeLibraryCall(WorkerPool &pool, const char *what,
                absl::Span<void *const> buffers, const Bind &bind) {
  if (buffers.size() != 3 && buffers.size() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", what, " has ", buffers.size(),
                     " accesses, expected two operands, result and scratch"));
  }
  void *scratch = buffers.size() == 4 ? buffers[3] : nullptr;
  ZG_ASSIGN_OR_RETURN(auto call,
                      bind(buffers[0], buffers[1], buffers[2], scratch));
  return std::make_unique<LibraryOperation>(pool, std::move(call));
}

class CopyOperation final : public Operation {
public:
  CopyOperation(WorkerPool &pool, const void *source, void *destination,
                uint64_t bytes)
      : pool(pool), source(static_cast<const std::byte *>(source)),
        destination(static_cast<std::byte *>(destination)), bytes(bytes) {}

  absl::Status issue() override {
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
  FillOperation(WorkerPool &pool, void *destination, uint64_t bytes)
      : pool(pool), destination(static_cast<std::byte *>(destination)),
        bytes(bytes) {}

  absl::Status issue() override {
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

class CallOperation final : public Operation {
public:
  explicit CallOperation(std::function<absl::Status()> function)
      : function(std::move(function)) {}
  absl::Status issue() override { return function(); }

private:
  std::function<absl::Status()> function;
};

} // namespace

absl::StatusOr<std::unique_ptr<Operation>>
zerograph::makeLaunch(WorkerPool &pool, const KernelModule &module,
                      const plan::Kernel &kernel, unsigned index,
                      absl::Span<void *const> buffers) {
  auto *host = dynamic_cast<const HostKernelModule *>(&module);
  if (!host) {
    return absl::InvalidArgumentError(
        "a kernel module of another device was given to the host");
  }
  return std::make_unique<LaunchOperation>(pool, host->function(index), kernel,
                                           buffers);
}

absl::StatusOr<std::unique_ptr<Operation>>
zerograph::makeMatmul(WorkerPool &pool, const plan::Matmul &matmul,
                      absl::Span<void *const> buffers, uint64_t scratch_bytes) {
  return makeLibraryCall(
      pool, "product", buffers, [&](void *a, void *b, void *c, void *scratch) {
        return bindMatmul(matmul, a, b, c, scratch, scratch_bytes);
      });
}

absl::StatusOr<std::unique_ptr<Operation>> zerograph::makeConvolution(
    WorkerPool &pool, const plan::Convolution &convolution,
    absl::Span<void *const> buffers, uint64_t scratch_bytes) {
  return makeLibraryCall(pool, "convolution", buffers,
                         [&](void *a, void *b, void *c, void *scratch) {
                           return bindConvolution(convolution, a, b, c, scratch,
                                                  scratch_bytes);
                         });
}

absl::StatusOr<std::unique_ptr<Operation>>
zerograph::makeCopy(WorkerPool &pool, const void *source, void *destination,
                    uint64_t bytes) {
  return std::make_unique<CopyOperation>(pool, source, destination, bytes);
}

absl::StatusOr<std::unique_ptr<Operation>>
zerograph::makeFill(WorkerPool &pool, void *destination, uint64_t bytes) {
  return std::make_unique<FillOperation>(pool, destination, bytes);
}

std::unique_ptr<Operation>
zerograph::makeCall(std::function<absl::Status()> function) {
  return std::make_unique<CallOperation>(std::move(function));
}
