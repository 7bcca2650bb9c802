//===- InOrderDevice.cpp - a device that issues from one thread -----------===//

#include "InOrderDevice.h"

#include "runtime/device/host/HostArena.h"
#include "runtime/device/host/HostOperations.h"
#include "runtime/device/host/KernelModule.h"

namespace zerograph::testing {
namespace {

class InOrderProgram final : public BoundProgram {
public:
  InOrderProgram(ProgramBinding binding, const FailureCallback &failed)
      : binding(std::move(binding)), on_failure(failed) {}

  void prepare() override {}
  void start(unsigned slot) override {
    std::vector<bool> recorded(binding.steps.size());
    status = absl::OkStatus();
    for (size_t i = 0; i < binding.steps.size() && status.ok(); ++i) {
      const StepBinding &step = binding.steps[i];
      number = step.number;
      for (uint32_t earlier : step.waits) {
        if (!recorded[earlier]) {
          status = absl::InternalError("awaits an event that is not recorded");
        }
      }
      if (status.ok()) {
        status = step.operation->issue({nullptr, slot});
      }
      if (status.ok() && after) {
        status = after(uint32_t(i));
      }
      recorded[i] = true;
    }
    if (!status.ok()) {
      on_failure(status, number);
    }
  }
  absl::Status finish(uint32_t &failed) override {
    failed = number;
    return status;
  }
  void cancel() override {}
  void recordTimes() override {}
  std::vector<StepTime> times() const override { return {}; }
  void afterSteps(StepCallback callback) override {
    after = std::move(callback);
  }

private:
  ProgramBinding binding;
  const FailureCallback &on_failure;
  absl::Status status;
  uint32_t number = 0;
  StepCallback after;
};

class InOrderDevice final : public Device {
public:
  absl::StatusOr<std::unique_ptr<Buffer>>
  allocate(plan::Space, uint64_t bytes, uint64_t alignment) override {
    return makeHostArena(bytes, alignment);
  }

  absl::StatusOr<std::unique_ptr<BoundProgram>>
  bind(ProgramBinding program) override {
    for (StepBinding &step : program.steps) {
      if (!step.operation) {
        ZG_ASSIGN_OR_RETURN(step.operation,
                            makeOperation(workers, program.module, step));
      }
    }
    return std::make_unique<InOrderProgram>(std::move(program), on_failure);
  }

  void onFailure(FailureCallback callback) override {
    on_failure = std::move(callback);
  }

private:
  WorkerPool workers{1};
  FailureCallback on_failure;
};

class InOrderDriver final : public Driver {
public:
  absl::StatusOr<std::unique_ptr<Module>>
  load(const plan::Plan &plan, const LoadOptions &options) override {
    return loadKernelModule(plan);
  }
  absl::StatusOr<std::unique_ptr<Device>>
  createDevice(const DeviceOptions &) override {
    return std::make_unique<InOrderDevice>();
  }
  absl::Status checkMemory(const MemoryNeed &) const override {
    return absl::OkStatus();
  }
};

} // namespace

std::unique_ptr<Driver> makeInOrderDriver() {
  return std::make_unique<InOrderDriver>();
}

} // namespace zerograph::testing
