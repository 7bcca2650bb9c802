//===- HostDevice.cpp - the CPU as a device -------------------------------===//

#include "runtime/device/host/HostDevice.h"

#include "runtime/device/file/FileArena.h"
#include "runtime/device/host/HostArena.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/device/host/HostMemory.h"
#include "runtime/device/host/HostOperations.h"
#include "runtime/device/host/HostProgram.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/device/host/SharedOperation.h"
#include "runtime/device/host/TargetCheck.h"
#include "runtime/plan/steps/Step.h"

#include <algorithm>
#include <system_error>

using namespace zerograph;

namespace {

class HookedOperation final : public Operation {
public:
  HookedOperation(const StepHooks &hooks, const plan::Step &step,
                  std::unique_ptr<Operation> inner)
      : hooks(hooks), step(step), inner(std::move(inner)) {}

  absl::Status issue(const Issue &issue) override {
    ZG_RETURN_IF_ERROR(hooks.before(step));
    ZG_RETURN_IF_ERROR(inner->issue(issue));
    return hooks.after(step);
  }

private:
  const StepHooks &hooks;
  const plan::Step &step;
  std::unique_ptr<Operation> inner;
};

/// Returns what a step touches; what the plan does not tell is taken as
/// written.
absl::StatusOr<std::vector<Touch>> touchesOf(const StepBinding &step) {
  std::vector<Touch> touches;
  ZG_ASSIGN_OR_RETURN(std::vector<std::byte *> addresses,
                      hostAddresses(step.ranges));
  for (size_t i = 0; i < addresses.size(); ++i) {
    bool known = int(i) < step.step->accesses_size();
    touches.push_back({addresses[i], addresses[i] + step.ranges[i].bytes,
                       !known || effectOf(*step.step, int(i)).writes});
  }
  return touches;
}

class HostDevice final : public Device {
public:
  HostDevice(const DeviceOptions &options, StepHooks hooks)
      : options(options), hooks(std::move(hooks)) {}

  absl::StatusOr<std::unique_ptr<Buffer>>
  allocate(plan::Space space, uint64_t bytes, uint64_t alignment) override;
  absl::StatusOr<std::unique_ptr<BoundProgram>>
  bind(ProgramBinding program) override;
  void onFailure(FailureCallback callback) override {
    timelines.failure_callback = std::move(callback);
  }

private:
  absl::StatusOr<HostStream *> streamOf(const ProgramBinding &program,
                                        unsigned index);
  absl::Status bindStep(const ProgramBinding &program, StepBinding &step,
                        HostProgram &bound);

  DeviceOptions options;
  StepHooks hooks;
  Timelines timelines;
  std::vector<std::unique_ptr<HostStream>>
      streams; // last: threads use the rest
};

absl::StatusOr<std::unique_ptr<Buffer>>
HostDevice::allocate(plan::Space space, uint64_t bytes, uint64_t alignment) {
  if (space == plan::NVME) {
    return FileArena::create(options.files, bytes, options.rank);
  }
  return makeHostArena(bytes, alignment);
}

/// One for each stream that some program uses.
absl::StatusOr<HostStream *> HostDevice::streamOf(const ProgramBinding &program,
                                                  unsigned index) {
  streams.resize(std::max<size_t>(streams.size(), index + 1));
  std::unique_ptr<HostStream> &stream = streams[index];
  if (!stream) {
    const StreamBinding &binding = program.streams[index];
    unsigned workers = binding.computes ? std::max(1u, options.threads) : 1;
    timelines.addStreams(index + 1);
    try {
      stream = std::make_unique<HostStream>(
          timelines, index, absl::StrCat(options.rank, ":", binding.name),
          RanksHere{workers, options.ranks, options.processes});
    } catch (const std::system_error &error) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the system gives no ", workers,
                       " threads for a rank's ", binding.name, " stream (",
                       error.what(), "): use fewer --threads or ranks"));
    }
  }
  return stream.get();
}

absl::Status HostDevice::bindStep(const ProgramBinding &program,
                                  StepBinding &step, HostProgram &bound) {
  ZG_ASSIGN_OR_RETURN(HostStream * stream, streamOf(program, step.stream));
  StreamEntry entry;
  StreamStep &made = entry.steps.emplace_back();
  made.number = step.number;
  made.operation = std::move(step.operation);
  std::vector<Touch> touches;
  if (!made.operation) {
    ZG_ASSIGN_OR_RETURN(made.operation,
                        makeOperation(stream->workers(), program.module, step));
    if (dynamic_cast<SharedOperation *>(made.operation.get())) {
      ZG_ASSIGN_OR_RETURN(touches, touchesOf(step));
    }
  }
  if (hooks.before) {
    made.operation = std::make_unique<HookedOperation>(
        hooks, *step.step, std::move(made.operation));
  }
  made.shared = dynamic_cast<SharedOperation *>(made.operation.get());
  auto countOf = [&](Timepoint point) -> absl::StatusOr<StreamEntry::Count> {
    ZG_ASSIGN_OR_RETURN(std::byte * counter,
                        hostAddress(program.counters.part(
                            point.counter * kCounterBytes, kCounterBytes)));
    return StreamEntry::Count{reinterpret_cast<uint32_t *>(counter),
                              point.value};
  };
  for (Timepoint point : step.awaits) {
    ZG_ASSIGN_OR_RETURN(StreamEntry::Count count, countOf(point));
    entry.awaits.push_back(count);
  }
  if (step.publishes) {
    ZG_ASSIGN_OR_RETURN(entry.publishes, countOf(*step.publishes));
  }
  bound.add(*stream, step.stream, std::move(entry), std::move(touches),
            step.waits);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<BoundProgram>>
HostDevice::bind(ProgramBinding program) {
  auto bound = std::make_unique<HostProgram>(timelines);
  for (StepBinding &step : program.steps) {
    absl::Status status = bindStep(program, step, *bound);
    if (!status.ok()) {
      return annotate(status, absl::StrCat("step ", step.number, " '",
                                           step.step->name(), "'"));
    }
  }
  return bound;
}

} // namespace

std::unique_ptr<Device> zerograph::makeHostDevice(const DeviceOptions &options,
                                                  StepHooks hooks) {
  return std::make_unique<HostDevice>(options, std::move(hooks));
}

namespace {

class HostDriver final : public Driver {
public:
  absl::StatusOr<std::unique_ptr<Module>>
  load(const plan::Plan &plan, const LoadOptions &options) override {
    if (!options.algorithms.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--algorithms ", options.algorithms,
          ": the plan is for the host, whose library chooses by shape alone; "
          "leave the option out"));
    }
    return loadKernelModule(plan);
  }

  absl::StatusOr<std::unique_ptr<Device>>
  createDevice(const DeviceOptions &options) override {
    return makeHostDevice(options);
  }

  absl::Status checkMemory(const MemoryNeed &need) const override {
    return zerograph::checkMemory(need.device + need.pinned, hostMemory());
  }
};

} // namespace

absl::StatusOr<std::unique_ptr<Driver>>
zerograph::openHostDriver(const plan::Target &target) {
  ZG_RETURN_IF_ERROR(checkTarget(target));
  return std::make_unique<HostDriver>();
}
