//===- ShadowDevice.cpp - a device that shows what is wrong with a plan ---===//

#include "tests/shadow/ShadowDevice.h"

#include "runtime/device/host/HostBuffer.h"
#include "runtime/device/host/HostDevice.h"
#include "tests/shadow/ShadowMemory.h"

#include <chrono>
#include <map>
#include <random>
#include <thread>

namespace zerograph::testing {
namespace {

/// The pauses of one stream: mostly none, of some streams many.
class Pauses {
public:
  explicit Pauses(uint64_t seed)
      : random(seed), one_in(random() % 3 == 0 ? 3 : 16) {}

  void maybe() {
    if (random() % one_in == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1200));
    }
  }

private:
  std::mt19937_64 random;
  uint64_t one_in;
};

/// Which step of which program a step of the plan is.
using StepPositions = std::map<const plan::Step *, std::pair<int, int>>;

StepPositions positionsOf(const plan::Plan &plan) {
  StepPositions positions;
  for (int p = 0; p < plan.programs_size(); ++p) {
    const plan::Program &program = plan.programs(p);
    for (int s = 0; s < program.steps_size(); ++s) {
      positions[&program.steps(s)] = {p, s};
    }
  }
  return positions;
}

class ShadowDevice final : public Device {
public:
  ShadowDevice(const plan::Plan &plan, uint32_t rank, uint64_t seed)
      : memory(plan, rank), positions(positionsOf(plan)) {
    for (int i = 0; i < plan.streams_size(); ++i) {
      pauses.emplace_back(seed * 65536 + rank * 16 + i);
    }
    StepHooks hooks;
    hooks.before = [this](const plan::Step &step) { return before(step); };
    hooks.after = [this](const plan::Step &step) { return after(step); };
    inner = makeHostDevice({rank}, std::move(hooks));
  }

  absl::StatusOr<std::unique_ptr<Buffer>>
  allocate(plan::Space space, uint64_t bytes, uint64_t alignment) override {
    ZG_ASSIGN_OR_RETURN(std::unique_ptr<Buffer> arena,
                        inner->allocate(space, bytes, alignment));
    ZG_ASSIGN_OR_RETURN(std::byte * data, hostAddress({arena.get(), 0, bytes}));
    memory.addArena(data, bytes);
    return arena;
  }
  absl::StatusOr<std::unique_ptr<BoundProgram>>
  bind(ProgramBinding program) override {
    return inner->bind(std::move(program));
  }
  void onFailure(FailureCallback callback) override {
    inner->onFailure(
        [this, callback](const absl::Status &status, uint32_t step) {
          memory.fail();
          callback(status, step);
        });
  }

private:
  absl::Status before(const plan::Step &step) {
    auto [program, number] = positions.at(&step);
    Pauses &pause = pauses[step.stream()];
    pause.maybe();
    ZG_RETURN_IF_ERROR(memory.begin(program, number));
    pause.maybe();
    return absl::OkStatus();
  }
  absl::Status after(const plan::Step &step) {
    auto [program, number] = positions.at(&step);
    return memory.end(program, number);
  }

  ShadowMemory memory;
  StepPositions positions;
  std::vector<Pauses> pauses;    // by stream, each of its thread
  std::unique_ptr<Device> inner; // its threads use the rest
};

} // namespace

std::unique_ptr<Device> makeShadowDevice(const plan::Plan &plan, uint32_t rank,
                                         uint64_t seed) {
  return std::make_unique<ShadowDevice>(plan, rank, seed);
}

} // namespace zerograph::testing
