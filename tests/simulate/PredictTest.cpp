//===- PredictTest.cpp - how long a step of a plan takes ------------------===//

#include "simulate/Predict.h"
#include "tests/runtime/plan/PlanBuilder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <algorithm>

namespace zerograph::simulate {
namespace {

/// Two ranks of stage 3, whose kernels move each operand once.
plan::Plan planOfTwo() {
  plan::Plan plan = zerograph::testing::stageThreePlan();
  for (plan::Kernel &kernel : *plan.mutable_kernels()) {
    kernel.set_elements(1);
    for (plan::Operand &operand : *kernel.mutable_operands()) {
      operand.set_moved(operand.bytes());
    }
  }
  return plan;
}

TEST(Predict, PartsAreTheStep) {
  plan::Plan plan = planOfTwo();
  Machine machine = findMachine("x86-server").value();
  auto prediction = predict(plan, machine, {1, 2});
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_GT(prediction->seconds, 0);
  double parts = 0;
  for (const Part &part : kParts) {
    parts += prediction->parts.*part.seconds;
  }
  EXPECT_NEAR(parts, prediction->seconds, 1e-9 * prediction->seconds);
  double waits = 0;
  for (const Exposed &one : prediction->exposed) {
    waits += one.seconds;
  }
  EXPECT_NEAR(waits, prediction->parts.waits, 1e-12);
  ASSERT_FALSE(prediction->exposed.empty());
  auto first = std::find_if(
      prediction->exposed.begin(), prediction->exposed.end(),
      [](const Exposed &one) { return one.before == "forward a"; });
  ASSERT_NE(first, prediction->exposed.end());
  EXPECT_EQ(first->op, "all_gather");
}

// Only what waits for links gains by faster ones.
TEST(Predict, AFasterLinkShortensWaits) {
  plan::Plan plan = planOfTwo();
  Machine machine = findMachine("x86-server").value();
  Prediction slow = predict(plan, machine, {1, 2}).value();
  ASSERT_TRUE(change(machine, "link_latency=0.5x,link_bandwidth=2x").ok());
  Prediction fast = predict(plan, machine, {1, 2}).value();
  EXPECT_LT(fast.parts.waits, slow.parts.waits);
  EXPECT_NEAR(fast.parts.memory, slow.parts.memory, 1e-12);
}

TEST(Predict, RefusesWhatItCannotTell) {
  plan::Plan plan = planOfTwo();
  Machine machine = findMachine("x86-server").value();
  expectSays(predict(plan, machine, {1, 3}).status(),
             "the 2 ranks of the plan are not 1 nodes of 3");
  expectSays(predict(plan, findMachine("a100-80").value(), {1, 2}).status(),
             "the plan is for host, and NVIDIA A100 SXM, 80 GB is a machine of "
             "cuda",
             "--target cuda:sm_90");
  plan.mutable_kernels(0)->clear_elements();
  expectSays(predict(plan, machine, {1, 2}).status(), "compile it again");
}

} // namespace
} // namespace zerograph::simulate
