//===- ShadowRun.cpp - runs a plan, checked or not ------------------------===//

#include "tests/shadow/ShadowRun.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Staging.h"
#include "runtime/io/DataSource.h"
#include "runtime/state/Initialize.h"
#include "tests/shadow/ShadowDevice.h"

#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <xxhash.h>

namespace zerograph::testing {
namespace {

/// The state that ranks share.
struct Common {
  const plan::Plan &plan;
  const Module &module;
  const DataSource &data;
  const ParameterSources &sources;
  int steps;
  std::optional<uint64_t> seed;
};

class Rank {
public:
  Rank(const Common &common, HostCommunicator &communicator)
      : common(common), plan(common.plan), communicator(communicator) {}

  absl::Status run() {
    absl::Status status = trainSteps();
    if (!status.ok()) {
      communicator.abort(status);
    }
    return status;
  }

  uint64_t hash() const {
    uint64_t hash = 0;
    auto add = [&](uint32_t slice) {
      DeviceRange range = executor->memory().slice(plan, slice);
      std::vector<std::byte> bytes(range.bytes);
      bool read = range.read(bytes.data()).ok();
      hash = read ? XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash) : 0;
    };
    add(plan.loss().slice());
    for (const plan::Unit &unit : plan.units()) {
      for (const plan::State &state : unit.states()) {
        add(state.slice());
      }
    }
    return hash;
  }

private:
  absl::Status trainSteps() {
    unsigned rank = communicator.rank();
    ZG_ASSIGN_OR_RETURN(
        executor, Executor::create(
                      plan, communicator,
                      common.seed ? makeShadowDevice(plan, rank, *common.seed)
                                  : makeHostDevice({rank}),
                      common.module));
    for (int i = 0; i < plan.programs_size(); ++i) {
      ZG_ASSIGN_OR_RETURN(Staging slots, Staging::create(plan, unsigned(i),
                                                         executor->memory()));
      staging.push_back(std::move(slots));
    }
    ZG_RETURN_IF_ERROR(common.sources.initialize(executor->memory()));
    ZG_RETURN_IF_ERROR(communicator.barrier("reading weights"));
    for (int step = 0; step < common.steps; ++step) {
      for (uint32_t slice : {plan.loss().slice(), plan.stop().slice()}) {
        ZG_RETURN_IF_ERROR(executor->memory().slice(plan, slice).fill());
      }
      uint64_t number = uint64_t(step) + 1;
      ScalarInputs scalars{/*learning_rate=*/std::nullopt, /*step=*/number,
                           /*update=*/number, /*stop=*/false, /*seed=*/7};
      for (uint64_t k = 0; k < plan.accumulate(); ++k) {
        scalars.sample_base = (k * worldOf(plan) + rank) * plan.micro_batch();
        uint64_t first = (uint64_t(step) * common.data.samplesOfStep() +
                          scalars.sample_base) %
                         (common.data.steps() * common.data.samplesOfStep());
        ZG_RETURN_IF_ERROR(runProgram(0, scalars, first));
      }
      if (plan.programs_size() > 1) {
        ZG_RETURN_IF_ERROR(runProgram(1, scalars, 0));
      }
    }
    return absl::OkStatus();
  }

  /// On the samples from `first` on.
  absl::Status runProgram(unsigned program, const ScalarInputs &scalars,
                          uint64_t first) {
    ZG_RETURN_IF_ERROR(staging[program].read(
        [&](int input, std::byte *to,
            uint64_t) -> absl::StatusOr<const std::byte *> {
          ZG_RETURN_IF_ERROR(common.data.read(input, first, to));
          return to;
        }));
    ZG_ASSIGN_OR_RETURN(unsigned slot, staging[program].write(scalars));
    return executor->run(program, slot);
  }

  const Common &common;
  const plan::Plan &plan;
  HostCommunicator &communicator;
  std::vector<Staging> staging; // by program
  std::unique_ptr<Executor> executor;
};

} // namespace

absl::StatusOr<uint64_t> runPlan(const plan::Plan &plan,
                                 const std::string &data, int steps,
                                 std::optional<uint64_t> seed) {
  ZG_ASSIGN_OR_RETURN(auto module, loadKernelModule(plan));
  ZG_ASSIGN_OR_RETURN(auto source, DataSource::open({data}, plan));
  ZG_ASSIGN_OR_RETURN(auto sources, ParameterSources::open(plan, {}));
  Common common{plan, *module, *source, *sources, steps, seed};
  LocalGroupOptions options;
  options.world = worldOf(plan);
  options.deadline = std::chrono::seconds(20);
  auto group = makeLocalGroup(options);
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<absl::Status> statuses(worldOf(plan));
  std::vector<std::thread> threads;
  for (auto &communicator : group) {
    ranks.push_back(std::make_unique<Rank>(common, *communicator));
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    threads.emplace_back([&, i] { statuses[i] = ranks[i]->run(); });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  uint64_t hash = 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    ZG_RETURN_IF_ERROR(statuses[i]);
    hash = hash * 31 + ranks[i]->hash();
  }
  return hash;
}

std::optional<int> inChild(const std::function<int()> &function,
                           unsigned seconds) {
  pid_t child = fork();
  if (child == 0) {
    alarm(seconds);
    _exit(function());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
    return std::nullopt;
  }
  return WEXITSTATUS(status);
}

} // namespace zerograph::testing
