//===- TwoDevicesTest.cpp - one program on two devices --------------------===//

#include "LinearPlan.h"

#include "PlanBuilder.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Staging.h"
#include "runtime/plan/Verify.h"
#include "tests/support/Says.h"
#include "tests/support/Threads.h"

#include "gtest/gtest.h"

#include <cstring>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

constexpr unsigned kWorld = 2;
constexpr uint32_t kUpdates = 3; // a stream of theirs alone

/// The linear plan with its update on a stream of its own, of this device: it
/// awaits the reduction, and all that comes after it awaits it.
LoadedPlan planWithUpdatesApart(uint32_t accumulate, uint32_t device) {
  LoadedPlan loaded = linearPlan({kWorld, /*stage=*/1, accumulate, false});
  plan::Stream &updates = *loaded.plan.add_streams();
  updates.set_name("updates");
  updates.set_kind(plan::COMPUTE);
  updates.set_device(device);
  loaded.plan.mutable_arenas(0)->set_space(plan::PINNED);
  if (device != 0) {
    *loaded.plan.add_devices() = loaded.plan.devices(0);
    *loaded.plan.add_modules() = loaded.plan.modules(0);
    loaded.plan.mutable_modules(1)->set_device(device);
  }
  for (plan::Program &program : *loaded.plan.mutable_programs()) {
    std::optional<uint32_t> update;
    for (int i = 0; i < program.steps_size(); ++i) {
      plan::Step &step = *program.mutable_steps(i);
      if (step.name() == "linear_update") {
        step.set_stream(kUpdates);
        if (step.waits().empty()) {
          step.add_waits(0); // for its scalars
        }
        loaded.plan.mutable_kernels(int(step.launch().kernel()))
            ->set_module(device);
        update = uint32_t(i);
      } else if (update) {
        step.clear_waits();
        step.add_waits(*update);
      }
    }
  }
  return loaded;
}

/// Which devices a rank has.
using MakeDevices = std::function<RankDevices(const Module &)>;

RankDevices oneDevice(const Module &module) {
  RankDevices devices;
  devices.push_back({makeHostDevice({}), &module});
  return devices;
}

RankDevices twoDevices(const Module &module) {
  RankDevices devices = oneDevice(module);
  devices.push_back({makeHostDevice({}), &module});
  return devices;
}

struct Rank {
  std::unique_ptr<Executor> executor;
  absl::Status status;
  std::vector<float> state; // all of its memory, after the last step
};

absl::Status trainRank(const plan::Plan &plan, HostCommunicator &comm,
                       RankDevices devices, Rank &rank) {
  ZG_ASSIGN_OR_RETURN(rank.executor,
                      Executor::create(plan, comm, std::move(devices)));
  const RankMemory &memory = rank.executor->memory();
  for (int i = 0; i < plan.slices_size(); ++i) {
    ZG_RETURN_IF_ERROR(memory.slice(plan, uint32_t(i)).fill());
  }
  std::vector<Staging> staging;
  for (int i = 0; i < plan.programs_size(); ++i) {
    ZG_ASSIGN_OR_RETURN(Staging slots,
                        Staging::create(plan, unsigned(i), memory));
    staging.push_back(std::move(slots));
  }
  rank.executor->recordTimes();
  ZG_RETURN_IF_ERROR(comm.barrier("beginning"));
  for (uint64_t step = 1; step <= 20; ++step) {
    std::vector<float> x(16);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = float((step * 31 + comm.rank() * 7 + i) % 13) - 6;
    }
    for (unsigned program = 0; program < staging.size(); ++program) {
      auto find = [&](int, std::byte *, uint64_t) {
        return absl::StatusOr<const std::byte *>(
            reinterpret_cast<const std::byte *>(x.data()));
      };
      ZG_RETURN_IF_ERROR(staging[program].read(find));
      ZG_ASSIGN_OR_RETURN(unsigned slot,
                          staging[program].write({0.125, step, step}));
      ZG_RETURN_IF_ERROR(rank.executor->run(program, slot));
    }
  }
  for (const plan::Unit &unit : plan.units()) {
    for (const plan::State &state : unit.states()) {
      DeviceRange range = memory.slice(plan, state.slice());
      std::vector<float> values(range.bytes / sizeof(float));
      ZG_RETURN_IF_ERROR(range.read(values.data()));
      rank.state.insert(rank.state.end(), values.begin(), values.end());
    }
  }
  return absl::OkStatus();
}

std::vector<Rank> train(const plan::Plan &plan, const MakeDevices &make) {
  LocalGroupOptions options;
  options.world = kWorld;
  options.deadline = std::chrono::seconds(20);
  auto group = makeLocalGroup(options);
  auto module = loadKernelModule(plan);
  EXPECT_TRUE(module.ok()) << module.status();
  std::vector<Rank> ranks(kWorld);
  onThreads(kWorld, [&](unsigned i) {
    ranks[i].status = trainRank(plan, *group[i], make(**module), ranks[i]);
    if (!ranks[i].status.ok()) {
      group[i]->abort(ranks[i].status);
    }
  });
  std::vector<Rank> result;
  for (Rank &rank : ranks) {
    // Before the module and the group.
    result.push_back({nullptr, rank.status, std::move(rank.state)});
  }
  return result;
}

/// Updates on a second device, which awaits the reductions of the first, which
/// awaits the new parameters: the same bits.
TEST(TwoDevices, AnUpdateOnTheSecondGivesTheSameBits) {
  for (uint32_t accumulate : {1u, 2u}) {
    LoadedPlan apart = planWithUpdatesApart(accumulate, 0);
    LoadedPlan loaded = planWithUpdatesApart(accumulate, 1);
    EXPECT_TRUE(verifyPlan(loaded.plan).ok()) << verifyPlan(loaded.plan);
    std::vector<Rank> one = train(apart.plan, oneDevice);
    std::vector<Rank> two = train(loaded.plan, twoDevices);
    for (unsigned rank = 0; rank < kWorld; ++rank) {
      EXPECT_TRUE(one[rank].status.ok()) << one[rank].status;
      EXPECT_TRUE(two[rank].status.ok()) << two[rank].status;
      EXPECT_EQ(one[rank].state, two[rank].state);
      EXPECT_NE(two[rank].state, std::vector<float>(two[rank].state.size()));
    }
  }
}

/// The parts of a program, and what they tell each other.
TEST(TwoDevices, WaitsBetweenDevicesAreCounts) {
  LoadedPlan loaded = planWithUpdatesApart(1, 1);
  const plan::Program &program = loaded.plan.programs(0);
  std::vector<unsigned> device_of(size_t(loaded.plan.streams_size()));
  std::vector<StreamBinding> streams(device_of.size());
  EXPECT_EQ(splitProgram(program, streams, device_of).size(), 1u);
  EXPECT_FALSE(needCounters(splitProgram(program, streams, device_of)));
  device_of[kUpdates] = 1;
  std::vector<ProgramPart> parts = splitProgram(program, streams, device_of);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_TRUE(needCounters(parts));
  ASSERT_EQ(parts[1].binding.steps.size(), 1u);
  const StepBinding &update = parts[1].binding.steps[0];
  ASSERT_EQ(update.awaits.size(), 1u);
  EXPECT_TRUE(update.waits.empty());
  // The reduction is the only step of its stream that is awaited.
  EXPECT_EQ(update.awaits[0].counter, unsigned(kScatter));
  EXPECT_EQ(update.awaits[0].value, 1u);
  ASSERT_TRUE(update.publishes);
  EXPECT_EQ(update.publishes->counter, unsigned(kUpdates));
  int published = 0, awaited = 0;
  for (const StepBinding &step : parts[0].binding.steps) {
    published += step.publishes.has_value();
    awaited += int(step.awaits.size());
  }
  EXPECT_EQ(published, 1);
  EXPECT_EQ(awaited, 1);
}

/// A step that fails on one device ends the other, and is the one that is
/// named.
TEST(TwoDevices, AFailureOnOneEndsBoth) {
  LoadedPlan loaded = planWithUpdatesApart(1, 1);
  for (unsigned failing : {0u, 1u}) {
    auto make = [&](const Module &module) {
      RankDevices devices = twoDevices(module);
      StepHooks hooks;
      int runs = 0;
      hooks.before = [failing, runs](const plan::Step &step) mutable {
        bool fails = step.name() == (failing ? "linear_update" : "linear_loss");
        return fails && ++runs == 3 ? absl::DataLossError("lost")
                                    : absl::OkStatus();
      };
      hooks.after = [](const plan::Step &) { return absl::OkStatus(); };
      devices[failing].device = makeHostDevice({}, hooks);
      return devices;
    };
    for (const Rank &rank : train(loaded.plan, make)) {
      std::string message(rank.status.message());
      expectSays(message, "lost");
      // Also on a rank that hears of the other's failure.
      expectSays(message, failing ? "linear_update" : "linear_loss");
    }
  }
}

} // namespace
