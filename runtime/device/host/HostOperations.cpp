//===- HostOperations.cpp - what a host stream can do ---------------------===//

#include "runtime/device/host/HostOperations.h"

#include "runtime/device/file/FileArena.h"
#include "runtime/device/host/ConvolutionLibrary.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/MatmulLibrary.h"
#include "runtime/device/host/SharedOperation.h"
#include "runtime/plan/Matrices.h"

#include <algorithm>
#include <cstring>
#include <mutex>

using namespace zerograph;

namespace {

/// A part is worth a thread of its own from this many bytes.
constexpr uint64_t kBytesOfPart = 16 << 10;
/// More parts than threads, so that others take over from one that is held up;
/// not many, as a kernel over columns works best on wide parts.
constexpr uint32_t kPartsOfThread = 2;
/// The grain of copies and fills: a line of the cache.
constexpr uint64_t kLine = 64;

uint32_t partsOf(const WorkerPool &pool, uint64_t grains, uint64_t bytes) {
  if (pool.size() == 1) {
    return 1;
  }
  uint64_t most = uint64_t(pool.size()) * kPartsOfThread;
  return uint32_t(
      std::max<uint64_t>(1, std::min({grains, bytes / kBytesOfPart, most})));
}

class LaunchOperation final : public SharedOperation {
public:
  /// `bytes`: that the kernel reads and writes.
  LaunchOperation(WorkerPool &pool, const HostKernelModule::Kernel &kernel,
                  const std::vector<std::byte *> &addresses, uint64_t bytes)
      : SharedOperation(
            pool,
            partsOf(pool, kernel.extent / std::max<uint64_t>(1, kernel.grain),
                    bytes)),
        kernel(kernel), buffers(addresses.begin(), addresses.end()) {}

  void runPart(uint32_t part) noexcept override {
    WorkRange range = partOf(kernel.extent, kernel.grain, part, parts());
    kernel.function(buffers.data(), int64_t(range.begin), int64_t(range.end));
  }

private:
  HostKernelModule::Kernel kernel;
  std::vector<void *> buffers;
};

class LibraryOperation final : public SharedOperation {
public:
  LibraryOperation(WorkerPool &pool, std::unique_ptr<LibraryCall> call)
      : SharedOperation(pool, call->parts()), call(std::move(call)) {}

  void runPart(uint32_t part) noexcept override {
    absl::Status status = call->run(part);
    if (!status.ok()) {
      std::lock_guard<std::mutex> lock(mutex);
      failure.Update(status);
    }
  }
  absl::Status result() override {
    return std::exchange(failure, absl::OkStatus());
  }

private:
  std::unique_ptr<LibraryCall> call;
  std::mutex mutex;
  absl::Status failure;
};

/// write(range) for parts of `bytes`, each of whole lines but the last.
template <typename Write>
class BytesOperation final : public SharedOperation {
public:
  BytesOperation(WorkerPool &pool, uint64_t bytes, Write write)
      : SharedOperation(pool, partsOf(pool, bytes / kLine, bytes)),
        bytes(bytes), write(write) {}

  void runPart(uint32_t part) noexcept override {
    write(partOf(bytes, kLine, part, parts()));
  }

private:
  uint64_t bytes;
  Write write;
};

/// Copies each part of the slot that the run was given to its place.
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
  uint64_t bytes = 0;
  for (const DeviceRange &range : step.ranges) {
    bytes += range.bytes;
  }
  return std::make_unique<LaunchOperation>(
      pool, host->kernel(step.step->launch().kernel()), addresses, bytes);
}

/// `bind(addresses, scratch, scratch_bytes)` gives the call. `operands` counts
/// the accesses before the scratch, which may be left out.
template <typename Bind>
absl::StatusOr<std::unique_ptr<Operation>>
makeLibraryCall(WorkerPool &pool, const StepBinding &step, size_t operands,
                const Bind &bind) {
  ZG_RETURN_IF_ERROR(
      expectAccesses(step, operands, "its operands, a result and scratch"));
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  bool scratch = addresses.size() > operands; // none where no part needs any
  ZG_ASSIGN_OR_RETURN(auto call,
                      bind(addresses, scratch ? addresses[operands] : nullptr,
                           scratch ? step.ranges[operands].bytes : 0));
  return std::make_unique<LibraryOperation>(pool, std::move(call));
}

/// Between a file and memory, on the stream's thread alone, which waits.
class FileCopyOperation final : public Operation {
public:
  FileCopyOperation(FileArena &file, bool writes, uint64_t offset,
                    std::byte *memory, const StepBinding &step)
      : file(file), writes(writes), offset(offset), memory(memory),
        bytes(step.ranges[0].bytes), moved(step.moved) {
    file.expect(memory, bytes);
  }

  absl::Status issue(const Issue &) override {
    ZG_RETURN_IF_ERROR(writes ? file.write(offset, memory, bytes)
                              : file.read(offset, memory, bytes));
    if (moved) {
      moved->fetch_add(bytes, std::memory_order_relaxed);
    }
    return absl::OkStatus();
  }

private:
  FileArena &file;
  bool writes;
  uint64_t offset;
  std::byte *memory;
  uint64_t bytes;
  std::atomic<uint64_t> *moved;
};

absl::StatusOr<std::unique_ptr<Operation>> makeCopy(WorkerPool &pool,
                                                    const StepBinding &step) {
  ZG_RETURN_IF_ERROR(expectAccesses(step, 2, "a source and a destination"));
  for (bool writes : {false, true}) {
    const DeviceRange &range = step.ranges[writes],
                      &other = step.ranges[!writes];
    if (auto *file = dynamic_cast<FileArena *>(range.buffer)) {
      ZG_ASSIGN_OR_RETURN(std::byte * memory, hostAddress(other));
      return std::make_unique<FileCopyOperation>(*file, writes, range.offset,
                                                 memory, step);
    }
  }
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  auto copy = [from = addresses[0], to = addresses[1],
               moved = step.moved](WorkRange range) {
    uint64_t bytes = range.end - range.begin;
    std::memcpy(to + range.begin, from + range.begin, bytes);
    if (moved) {
      moved->fetch_add(bytes, std::memory_order_relaxed);
    }
  };
  return std::make_unique<BytesOperation<decltype(copy)>>(
      pool, std::min(step.ranges[0].bytes, step.ranges[1].bytes), copy);
}

absl::StatusOr<std::unique_ptr<Operation>> makeFill(WorkerPool &pool,
                                                    const StepBinding &step) {
  ZG_RETURN_IF_ERROR(expectAccesses(step, 1, "a destination"));
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  auto fill = [to = addresses[0]](WorkRange range) {
    std::memset(to + range.begin, 0, range.end - range.begin);
  };
  return std::make_unique<BytesOperation<decltype(fill)>>(
      pool, step.ranges[0].bytes, fill);
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
    return makeLibraryCall(
        pool, step, size_t(scratchAccess(what.matmul())),
        [&](const auto &at, std::byte *scratch, uint64_t bytes) {
          void *bias = what.matmul().bias() ? at[3] : nullptr;
          return bindMatmul(what.matmul(), {at[0], at[1], at[2], bias}, scratch,
                            bytes);
        });
  case plan::Step::kConvolution:
    return makeLibraryCall(
        pool, step, 3, [&](const auto &at, std::byte *scratch, uint64_t bytes) {
          return bindConvolution(what.convolution(), at[0], at[1], at[2],
                                 scratch, bytes);
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
