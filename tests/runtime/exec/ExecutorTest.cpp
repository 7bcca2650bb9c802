//===- ExecutorTest.cpp - one rank's bound plan, by itself ----------------===//

#include "LinearPlan.h"

#include "runtime/comm/local/LocalGroup.h"
#include "runtime/device/host/HostBuffer.h"
#include "runtime/device/host/HostDevice.h"
#include "runtime/device/host/KernelModule.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/Scalars.h"

#include "gtest/gtest.h"

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
  explicit Bound(const LoadedPlan &loaded)
      : module(loadKernelModule(loaded.plan)),
        group(makeLocalGroup(LocalGroupOptions())) {
    EXPECT_TRUE(module.ok()) << module.status();
    auto made = Executor::create(loaded.plan, *group[0],
                                 makeHostDevice({0, /*threads=*/2}), **module);
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
  ASSERT_TRUE(bound.executor->run(0).ok());
  uint64_t before = allocations;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(bound.executor->run(0).ok());
  }
  EXPECT_LE(allocations - before, 50u * 2 * 8);

  // Without its products, a program allocates nothing at all.
  LoadedPlan plain = linearPlan({1, 3, 1, false});
  for (plan::Step &step : *plain.plan.mutable_programs(0)->mutable_steps()) {
    if (step.has_matmul()) {
      plan::Access fill = step.accesses(2);
      step.clear_accesses();
      *step.add_accesses() = fill;
      step.mutable_fill();
    }
  }
  Bound without(plain);
  ASSERT_TRUE(without.executor->run(0).ok());
  before = allocations;
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(without.executor->run(0).ok());
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
  auto module = loadKernelModule(loaded.plan);
  ASSERT_TRUE(module.ok());
  auto group = makeLocalGroup(LocalGroupOptions());
  product->mutable_matmul()->set_type(plan::F64);
  auto made =
      Executor::create(loaded.plan, *group[0], makeHostDevice({}), **module);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find("program \"step\": step 1 'product'"),
            std::string::npos)
      << made.status();
  loaded.plan.mutable_arenas(0)->set_space(plan::NVME);
  made = Executor::create(loaded.plan, *group[0], makeHostDevice({}), **module);
  EXPECT_NE(made.status().message().find("NVME"), std::string::npos);
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
  auto value = [&](const char *name) {
    return *scalarValue(plan, name, inputs);
  };
  EXPECT_DOUBLE_EQ(value("learning_rate"), 1e-3);
  EXPECT_DOUBLE_EQ(value("gradient_scale"), 1.0 / 6);
  EXPECT_DOUBLE_EQ(value("step_size"), 1e-3 / (1 - std::pow(0.9, 4)));
  EXPECT_DOUBLE_EQ(value("bias_correction2_sqrt"),
                   std::sqrt(1 - std::pow(0.999, 4)));
  EXPECT_DOUBLE_EQ(value("decay"), 1 - 1e-4);
  EXPECT_DOUBLE_EQ(value("stop"), 1);
  EXPECT_FALSE(scalarValue(plan, "momentum", inputs).ok());
}

// Once a step has updated nothing, random numbers and the optimizer's
// corrections count differently.
TEST(ScalarsTest, TheTwoCountersMayDiffer) {
  plan::Plan plan;
  plan::OptimizerGroup &group = *plan.add_groups();
  group.set_beta1(0.9);
  group.set_beta2(0.999);
  uint32_t offset = 0;
  for (auto [name, bytes] :
       {std::pair("step", 8), {"step_size", 4}, {"bias_correction2_sqrt", 4}}) {
    plan::Slice *slice = plan.add_slices();
    slice->set_offset(offset);
    slice->set_bytes(bytes);
    offset += bytes;
    plan::Scalar *scalar = plan.add_scalars();
    scalar->set_name(name);
    scalar->set_type(bytes == 8 ? plan::I64 : plan::F32);
    scalar->set_slice(plan.slices_size() - 1);
  }
  struct {
    uint64_t step;
    float step_size, correction;
  } written = {};
  ScalarInputs inputs{1e-3, /*step=*/9, /*update=*/4};
  HostBuffer buffer(&written, sizeof(written));
  ASSERT_TRUE(writeScalars(plan, inputs, RankMemory{0, {&buffer}}).ok());
  EXPECT_EQ(written.step, 9u);
  EXPECT_EQ(written.step_size, float(1e-3 / (1 - std::pow(0.9, 4))));
  EXPECT_EQ(written.correction, float(std::sqrt(1 - std::pow(0.999, 4))));
}

} // namespace
