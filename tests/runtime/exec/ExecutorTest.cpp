//===- ExecutorTest.cpp - one rank's bound plan, by itself ----------------===//

#include "LinearPlan.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Staging.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

namespace {
std::atomic<uint64_t> allocations{0};
}

// Counts every allocation of the program and its libraries by `new`.
void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes ? bytes : 1)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

using namespace zerograph;
using namespace zerograph::testing;

namespace {

struct Bound {
  explicit Bound(const LoadedPlan &loaded, unsigned threads = 2)
      : module(loadKernelModule(loaded.plan)),
        group(makeLocalGroup(LocalGroupOptions())) {
    EXPECT_TRUE(module.ok()) << module.status();
    auto made = Executor::create(loaded.plan, *group[0],
                                 makeHostDevice({0, threads}), **module);
    EXPECT_TRUE(made.ok()) << made.status();
    executor = *std::move(made);
    for (int i = 0; i < loaded.plan.slices_size(); ++i) {
      EXPECT_TRUE(executor->memory().slice(loaded.plan, i).fill().ok());
    }
  }

  absl::StatusOr<std::unique_ptr<HostKernelModule>> module;
  std::vector<std::unique_ptr<HostCommunicator>> group;
  std::unique_ptr<Executor> executor;
};

/// A run makes no object of ours. oneDNN makes up to 8 a call, and the plan
/// has two calls.
TEST(ExecutorTest, RunningAProgramAllocatesNothing) {
  LoadedPlan loaded = linearPlan({1, 3, 1, false});
  Bound bound(loaded);
  ASSERT_TRUE(bound.executor->run(0, 0).ok());
  uint64_t before = allocations;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(bound.executor->run(0, 0).ok());
  }
  EXPECT_LE(allocations - before, 50u * 2 * 8);

  // Without its products, a program of one thread allocates nothing at all;
  // several look now and then at what other processes use.
  LoadedPlan plain = linearPlan({1, 3, 1, false});
  for (plan::Step &step : *plain.plan.mutable_programs(0)->mutable_steps()) {
    if (step.has_matmul()) {
      plan::Access fill = step.accesses(2);
      step.clear_accesses();
      *step.add_accesses() = fill;
      step.mutable_fill();
    }
  }
  Bound without(plain, /*threads=*/1);
  ASSERT_TRUE(without.executor->run(0, 0).ok());
  before = allocations;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(without.executor->run(0, 0).ok());
  }
  EXPECT_EQ(allocations - before, 0u);
}

TEST(ExecutorTest, WhatTheDeviceCannotDoIsSaid) {
  LoadedPlan loaded = linearPlan({1, 3, 1, false});
  plan::Step *product = nullptr;
  for (plan::Step &step : *loaded.plan.mutable_programs(0)->mutable_steps()) {
    product = step.has_matmul() ? &step : product;
  }
  ASSERT_TRUE(product);
  auto module = loadKernelModule(loaded.plan).value();
  auto group = makeLocalGroup(LocalGroupOptions());
  product->mutable_matmul()->set_element_type(plan::F64);
  auto made =
      Executor::create(loaded.plan, *group[0], makeHostDevice({}), *module);
  expectSays(made.status(), "program \"step\": step 2 'product'");
  loaded.plan.mutable_arenas(0)->set_space(plan::NVME);
  made = Executor::create(loaded.plan, *group[0], makeHostDevice({}), *module);
  expectSays(made.status(), "give --nvme-path");
}

TEST(ScalarsTest, ScalarsAreTheOptimizersFormulas) {
  plan::Plan plan;
  plan.add_mesh()->set_size(3);
  plan.set_accumulate(2);
  plan::OptimizerGroup &group = *plan.add_groups();
  group.set_beta1(0.9);
  group.set_beta2(0.999);
  group.set_weight_decay(0.1);
  ScalarInputs inputs{1e-3, /*step=*/9, /*update=*/4, /*stop=*/true};
  auto value = [&](plan::Scalar::Kind kind) {
    return *scalarValue(plan, kind, inputs);
  };
  EXPECT_DOUBLE_EQ(value(plan::Scalar::LEARNING_RATE), 1e-3);
  EXPECT_DOUBLE_EQ(value(plan::Scalar::GRADIENT_SCALE), 1.0 / 6);
  EXPECT_DOUBLE_EQ(value(plan::Scalar::STEP_SIZE),
                   1e-3 / (1 - std::pow(0.9, 4)));
  EXPECT_DOUBLE_EQ(value(plan::Scalar::BIAS_CORRECTION2_SQRT),
                   std::sqrt(1 - std::pow(0.999, 4)));
  EXPECT_DOUBLE_EQ(value(plan::Scalar::DECAY), 1 - 1e-4);
  EXPECT_DOUBLE_EQ(value(plan::Scalar::STOP), 1);
  EXPECT_FALSE(scalarValue(plan, plan::Scalar::INVALID, inputs).ok());
}

// The schedule goes by updates, and by the group's rate or what stands in for
// it.
TEST(ScalarsTest, RatesFollowTheSchedule) {
  plan::Plan plan;
  plan.add_groups()->set_learning_rate(8);
  plan.mutable_groups(0)->set_weight_decay(0.25);
  plan.mutable_schedule()->set_kind("linear");
  plan.mutable_schedule()->set_total_steps(4);
  ScalarInputs inputs{std::nullopt, /*step=*/9, /*update=*/2};
  EXPECT_EQ(learningRate(plan, inputs), 6);
  EXPECT_EQ(*scalarValue(plan, plan::Scalar::LEARNING_RATE, inputs), 6);
  EXPECT_EQ(*scalarValue(plan, plan::Scalar::DECAY, inputs), 1 - 6 * 0.25);
  inputs.learning_rate = 4;
  EXPECT_EQ(learningRate(plan, inputs), 3);
}

TEST(ScalarsTest, Beta1FollowsTheSchedule) {
  plan::Plan plan;
  plan.add_groups()->set_beta1(0.5);
  plan.mutable_schedule()->set_kind("one-cycle");
  plan.mutable_schedule()->set_cycle_up(2);
  plan.mutable_schedule()->set_cycle_down(2);
  ScalarInputs inputs{8, /*step=*/2, /*update=*/2};
  EXPECT_EQ(*scalarValue(plan, plan::Scalar::ONE_MINUS_BETA1, inputs), 0.5);
  EXPECT_EQ(*scalarValue(plan, plan::Scalar::STEP_SIZE, inputs), 4 / 0.75);
  plan.mutable_schedule()->set_cycle_min_momentum(0.5);
  plan.mutable_schedule()->set_cycle_max_momentum(0.75);
  EXPECT_EQ(*scalarValue(plan, plan::Scalar::ONE_MINUS_BETA1, inputs), 0.375);
  EXPECT_EQ(*scalarValue(plan, plan::Scalar::STEP_SIZE, inputs),
            4 / (1 - 0.390625));
}

// Once a step has updated nothing, random numbers and the optimizer's
// corrections count differently.
TEST(ScalarsTest, TheTwoCountersMayDiffer) {
  plan::Plan plan;
  plan::OptimizerGroup &group = *plan.add_groups();
  group.set_beta1(0.9);
  group.set_beta2(0.999);
  ScalarInputs inputs{1e-3, /*step=*/9, /*update=*/4};
  auto write = [&](plan::Scalar::Kind kind, plan::ElementType type, void *to) {
    plan::Scalar scalar;
    scalar.set_kind(kind);
    scalar.set_type(type);
    EXPECT_TRUE(writeScalar(plan, scalar, inputs, to).ok());
  };
  uint64_t step = 0;
  float step_size = 0;
  double correction = 0;
  write(plan::Scalar::STEP, plan::I64, &step);
  write(plan::Scalar::STEP_SIZE, plan::F32, &step_size);
  write(plan::Scalar::BIAS_CORRECTION2_SQRT, plan::F64, &correction);
  EXPECT_EQ(step, 9u);
  EXPECT_EQ(step_size, float(1e-3 / (1 - std::pow(0.9, 4))));
  EXPECT_EQ(correction, std::sqrt(1 - std::pow(0.999, 4)));
}

/// One write a run, into the two slots in turn, of just what the program copies
/// in.
TEST(StagingTest, SlotsAreWrittenInTurn) {
  LoadedPlan loaded = linearPlan({1, 1, 2, false});
  Bound bound(loaded);
  const plan::Program &micro = loaded.plan.programs(0);
  auto staging = Staging::create(loaded.plan, 0, bound.executor->memory());
  auto update = Staging::create(loaded.plan, 1, bound.executor->memory());
  ASSERT_TRUE(staging.ok() && update.ok());
  auto valueOf = [&](uint32_t slot, uint64_t offset) {
    float value = 0;
    DeviceRange range = bound.executor->memory().slice(loaded.plan, slot);
    EXPECT_TRUE(range.part(offset, sizeof(value)).read(&value).ok());
    return value;
  };
  int reads = 0;
  for (unsigned run = 0; run < 4; ++run) {
    auto fill = [&](int input, std::byte *to,
                    uint64_t bytes) -> absl::StatusOr<const std::byte *> {
      EXPECT_EQ(input, 0);
      EXPECT_EQ(bytes, 64u);
      std::fill_n(reinterpret_cast<float *>(to), bytes / sizeof(float),
                  float(run));
      ++reads;
      return to;
    };
    ASSERT_TRUE(staging->read(fill).ok());
    auto slot = staging->write({0.5, 1, 1, /*stop=*/run == 3}).value();
    EXPECT_EQ(slot, run % 2);
    // The other one is as the run before left it.
    EXPECT_EQ(valueOf(micro.slots(int(run % 2)), 0), float(run));
    EXPECT_EQ(valueOf(micro.slots(int(1 - run % 2)), 0),
              run == 0 ? 0 : float(run - 1));
    EXPECT_EQ(valueOf(micro.slots(int(run % 2)), 64), run == 3 ? 1 : 0);
    ASSERT_TRUE(bound.executor->run(0, slot).ok());
    EXPECT_EQ(valueOf(loaded.plan.inputs(0).slice(), 0), float(run));
  }
  EXPECT_EQ(reads, 4);
  auto none = [](int, std::byte *,
                 uint64_t) -> absl::StatusOr<const std::byte *> {
    return absl::InternalError("no input was asked for");
  };
  EXPECT_TRUE(update->read(none).ok());
  auto slot = update->write({0.5});
  ASSERT_TRUE(slot.ok()) << slot.status();
  EXPECT_EQ(valueOf(loaded.plan.programs(1).slots(0), 0), 0.5f);
  absl::Status failed = staging->read(
      [](int, std::byte *, uint64_t) -> absl::StatusOr<const std::byte *> {
        return absl::DataLossError("lost");
      });
  EXPECT_EQ(failed.message(), "lost");
}

} // namespace
