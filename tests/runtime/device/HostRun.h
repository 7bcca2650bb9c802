//===- HostRun.h - a few steps on the host device -------------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_DEVICE_HOSTRUN_H
#define ZEROGRAPH_TESTS_RUNTIME_DEVICE_HOSTRUN_H

#include "runtime/device/host/HostBuffer.h"
#include "runtime/device/host/HostDevice.h"

#include <deque>

namespace zerograph::testing {

/// A program that is put together step by step, and what its steps refer to.
class HostRun {
public:
  /// `streams` of them, all of which compute.
  explicit HostRun(unsigned streams, unsigned threads = 1)
      : device(makeHostDevice({0, threads})) {
    program.streams.resize(streams, {"stream", /*computes=*/true});
  }

  /// Memory of the test as a range.
  DeviceRange range(void *data, uint64_t bytes) {
    buffers.emplace_back(data, bytes);
    return {&buffers.back(), 0, bytes};
  }

  /// Adds a step that does what `step` says, until `operation` is set.
  StepBinding &add(unsigned stream, std::vector<uint32_t> waits = {},
                   const plan::Step &step = {}) {
    StepBinding binding;
    binding.step = &steps.emplace_back(step);
    binding.number = uint32_t(program.steps.size());
    binding.stream = stream;
    binding.waits = std::move(waits);
    program.steps.push_back(std::move(binding));
    return program.steps.back();
  }
  /// A step that calls `function`.
  StepBinding &call(unsigned stream, std::function<absl::Status()> function,
                    std::vector<uint32_t> waits = {}) {
    class Call final : public Operation {
    public:
      explicit Call(std::function<absl::Status()> function)
          : function(std::move(function)) {}
      absl::Status issue(const Issue &) override { return function(); }

    private:
      std::function<absl::Status()> function;
    };
    StepBinding &step = add(stream, std::move(waits));
    step.operation = std::make_unique<Call>(std::move(function));
    return step;
  }

  /// Binds what has been added, once.
  absl::Status bind() {
    ZG_ASSIGN_OR_RETURN(bound, device->bind(std::move(program)));
    return absl::OkStatus();
  }
  absl::Status run() {
    bound->prepare();
    bound->start(0);
    return bound->finish(failed);
  }

  std::unique_ptr<Device> device;
  ProgramBinding program;
  std::unique_ptr<BoundProgram> bound;
  uint32_t failed = 0; // of the last run, with an error

private:
  std::deque<HostBuffer> buffers;
  std::deque<plan::Step> steps;
};

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_DEVICE_HOSTRUN_H
