//===- CostTest.cpp - what the steps of a plan cost -----------------------===//

#include "PlanBuilder.h"

#include "runtime/plan/Cost.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/InspectParts.h"
#include "gtest/gtest.h"

namespace zerograph {
namespace {

MovedBytes deviceBytes(const Cost &cost) { return cost.memory[plan::DEVICE]; }

// Two ranks, segments of 2,048 bytes, shards of 1,024.
TEST(Cost, OfCollectives) {
  plan::Plan plan = testing::stageThreePlan();
  const plan::Program &program = plan.programs(0);
  MovedBytes gather = deviceBytes(costOf(plan, program.steps(1)));
  EXPECT_TRUE(gather.read.is(1024));
  EXPECT_TRUE(gather.written.is(2048));
  // Staging takes what the other rank sends.
  Cost reduce = costOf(plan, program.steps(7));
  EXPECT_TRUE(deviceBytes(reduce).read.is(2048 + 1024));
  EXPECT_TRUE(deviceBytes(reduce).written.is(1024 + 1024));
  EXPECT_TRUE(reduce.launches.is(0));
}

TEST(Cost, OfAProduct) {
  plan::Plan plan = testing::stageThreePlan();
  const plan::Step &step = plan.programs(0).steps(4);
  ASSERT_TRUE(step.has_matmul());
  const plan::Matmul &matmul = step.matmul();
  Cost cost = costOf(plan, step);
  EXPECT_TRUE(cost.launches.is(1));
  EXPECT_TRUE(cost.operations.at(plan::F32).multiplyAdds.is(
      matmul.batch() * matmul.m() * matmul.n() * matmul.k()));
  EXPECT_TRUE(deviceBytes(cost).read.is(step.accesses(0).bytes() +
                                        step.accesses(1).bytes()));
  EXPECT_TRUE(deviceBytes(cost).written.is(step.accesses(2).bytes()));
}

TEST(Cost, WhatStaysInACacheIsReadOnce) {
  constexpr uint64_t kMiB = 1 << 20, kLarge = 64 * kMiB;
  auto read = [](uint64_t batch, uint64_t a, uint64_t b, uint64_t c) {
    auto [ofA, ofB] = readInProduct(batch, a, b, c);
    return std::pair(ofA.saturated(), ofB.saturated());
  };
  // Any of the three may stay there.
  EXPECT_EQ(read(1, kLarge, 16 * kMiB, kLarge), std::pair(kLarge, 16 * kMiB));
  EXPECT_EQ(read(1, 16 * kMiB, kLarge, kLarge), std::pair(16 * kMiB, kLarge));
  EXPECT_EQ(read(1, kLarge, kLarge, 16 * kMiB), std::pair(kLarge, kLarge));
  // B in two parts costs less than C in four.
  EXPECT_EQ(read(1, kLarge, 32 * kMiB, kLarge),
            std::pair(2 * kLarge, 32 * kMiB));
  EXPECT_EQ(read(1, 40 * kMiB, 32 * kMiB, kLarge),
            std::pair(2 * 40 * kMiB, 32 * kMiB));
  // C in two costs less than B in four; the smaller one is read again.
  EXPECT_EQ(read(1, 2 * kLarge, kLarge, 32 * kMiB),
            std::pair(2 * kLarge, 2 * kLarge));
  // The matrices of a batch are multiplied apart.
  EXPECT_EQ(read(8, 2 * kLarge, kLarge, 2 * kLarge),
            std::pair(2 * kLarge, kLarge));
}

/// "forward a" of a plan whose kernel moves so much of its last access, and
/// part of that only where it lies apart.
Cost launchCost(bool inPlace, uint64_t scratch) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step &step = *plan.mutable_programs(0)->mutable_steps(3);
  plan::Kernel &kernel = *plan.mutable_kernels(int(step.launch().kernel()));
  int last = kernel.operands_size() - 1;
  for (plan::Operand &operand : *kernel.mutable_operands()) {
    operand.set_moved(0);
  }
  kernel.mutable_operands(0)->set_moved(500);
  kernel.mutable_operands(last)->set_moved(300);
  kernel.mutable_operands(last)->set_moved_apart(200);
  plan::Operations &operations = *kernel.add_operations();
  operations.set_type(plan::F32);
  operations.set_simple(7);
  operations.set_special(3);
  if (inPlace) {
    plan::Access &written = *step.mutable_accesses(last);
    written.set_slice(step.accesses(0).slice());
    written.set_offset(step.accesses(0).offset());
    written.set_bytes(step.accesses(0).bytes());
    *written.mutable_strides() = step.accesses(0).strides();
  }
  if (scratch) {
    kernel.set_scratch_bytes(scratch);
    *step.add_accesses() = step.accesses(last);
    step.mutable_accesses(last + 1)->set_bytes(scratch);
  }
  return costOf(plan, step);
}

TEST(Cost, OfALaunch) {
  Cost apart = launchCost(/*inPlace=*/false, 0);
  EXPECT_TRUE(apart.launches.is(1));
  EXPECT_TRUE(deviceBytes(apart).read.is(500));
  EXPECT_TRUE(deviceBytes(apart).written.is(300));
  EXPECT_TRUE(apart.computed().all().is(10));
  EXPECT_TRUE(
      deviceBytes(launchCost(/*inPlace=*/true, 0)).written.is(300 - 200));
  // One launch writes scratch and the next reads it.
  Cost folded = launchCost(/*inPlace=*/false, 40);
  EXPECT_TRUE(deviceBytes(folded).read.is(540));
  EXPECT_TRUE(deviceBytes(folded).written.is(340));
}

TEST(Cost, OfAStepIsThatOfAllMicroBatches) {
  plan::Plan plan = testing::accumulatingPlan();
  Cost sum;
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      sum.add(costOf(plan, step), program.kind() == plan::MICRO ? 2 : 1);
    }
  }
  Cost all = costOf(plan);
  EXPECT_EQ(all.moved().all().saturated(), sum.moved().all().saturated());
  EXPECT_TRUE(all.launches.is(2 * 2 + 1));
}

TEST(Cost, FilesAreApart) {
  plan::Plan plan = testing::filePlan();
  Cost cost = costOf(plan);
  // The master and the moment are read and written once.
  uint64_t states = 0;
  for (const plan::Step &step : plan.programs(0).steps()) {
    states += plan.streams(int(step.stream())).kind() == plan::FILE_READ
                  ? step.accesses(0).bytes()
                  : 0;
  }
  EXPECT_GT(states, 0u);
  EXPECT_TRUE(cost.memory[plan::NVME].read.is(states));
  EXPECT_TRUE(cost.memory[plan::NVME].written.is(states));
  Checked others = cost.memory[plan::DEVICE].all() +
                   cost.memory[plan::PINNED].all() +
                   cost.memory[plan::HOST].all();
  EXPECT_TRUE(cost.moved().all().is(others.saturated()));
}

TEST(Cost, NamesWithoutNumbersAreEqualForWhatRepeats) {
  for (auto [name, expected] : {
           std::pair("h.3.conv2d_12_ #1", "h.*.conv2d"),
           std::pair("node_MatMul_7.gradient", "node_MatMul.gradient"),
           std::pair("node_MatMul.gradient", "node_MatMul.gradient"),
           std::pair("norm__12.gradient", "norm.gradient"),
           std::pair("layer_3_out", "layer_*_out"),
           std::pair("transformer.h.11", "transformer.h.*"),
           std::pair("17", "*"),
           std::pair("", "*"),
       }) {
    EXPECT_EQ(withoutNumbers(name), expected) << name;
  }
}

TEST(Cost, OfAnOlderPlanIsNotStated) {
  plan::Plan plan = testing::stageThreePlan();
  EXPECT_FALSE(statesCosts(plan));
  for (plan::Kernel &kernel : *plan.mutable_kernels()) {
    kernel.set_elements(1);
  }
  EXPECT_TRUE(statesCosts(plan));
}

TEST(Cost, ReportsAddUp) {
  LoadedPlan loaded;
  loaded.plan = testing::filePlan();
  auto report = inspectPlan(loaded);
  ASSERT_TRUE(report.ok()) << report.status();
  const auto &costs = (*report)["costs"];
  for (const char *key : {"read", "written", "operations", "launches"}) {
    uint64_t kinds = 0, nodes = 0, steps = 0;
    for (const auto &kind : costs["kinds"]) {
      kinds += kind[key].get<uint64_t>();
    }
    for (const auto &node : costs["nodes"]) {
      nodes += node[key].get<uint64_t>();
    }
    for (const auto &step : (*report)["steps"]) {
      steps += step["cost"][key].get<uint64_t>();
    }
    EXPECT_EQ(kinds, costs[key].get<uint64_t>()) << key;
    EXPECT_EQ(nodes, kinds) << key;
    EXPECT_EQ(steps, kinds) << key;
  }
}

} // namespace
} // namespace zerograph
