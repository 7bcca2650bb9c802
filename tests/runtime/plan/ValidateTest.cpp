//===- ValidateTest.cpp - unsound plans are refused, none crashes ---------===//

#include "Faults.h"
#include "ValidateFaults.h"

#include "runtime/plan/Validate.h"

#include "google/protobuf/stubs/logging.h"

#include <random>

namespace zerograph {
namespace {

using ::testing::HasSubstr;

TEST(Validate, AcceptsSoundPlans) {
  for (const plan::Plan &plan :
       {testing::stageThreePlan(), testing::stageOnePlan(),
        testing::accumulatingPlan()}) {
    EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  }
}

void expectRefused(absl::Span<const testing::ValidateFault> faults) {
  for (const testing::ValidateFault &fault : faults) {
    plan::Plan plan = testing::stageThreePlan();
    fault.make(plan);
    absl::Status status = validatePlan(plan);
    EXPECT_FALSE(status.ok()) << fault.cause;
    EXPECT_THAT(std::string(status.message()), HasSubstr(fault.cause));
  }
}

TEST(Validate, EachFaultIsRefusedWithItsCause) {
  expectRefused(testing::validateFaults());
  expectRefused(testing::validateStepFaults());
}

// In-place launches: a result exactly on an operand, where its kernel allows
// it.
TEST(Validate, InPlaceLaunches) {
  plan::Plan plan = testing::stageThreePlan();
  plan::Step &launch = *step(plan, 5);
  launch.mutable_accesses(1)->set_slice(launch.accesses(0).slice());
  EXPECT_FALSE(validatePlan(plan).ok());
  plan.mutable_kernels(1)->mutable_operands(1)->add_in_place(0);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  // On a part of it only, apart from it, and on each rank elsewhere.
  plan.mutable_slices(testing::sliceNamed(plan, "y"))->set_bytes(128);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  launch.mutable_accesses(1)->set_offset(4);
  EXPECT_FALSE(validatePlan(plan).ok());
  launch.mutable_accesses(1)->set_offset(64);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
  launch.mutable_accesses(0)->add_strides(64);
  EXPECT_FALSE(validatePlan(plan).ok()); // rank 1 reads them
  launch.mutable_accesses(1)->set_offset(0);
  launch.mutable_accesses(1)->add_strides(64);
  EXPECT_TRUE(validatePlan(plan).ok()) << validatePlan(plan);
}

// Any bytes that parse are a plan that somebody may give us.
TEST(Validate, SurvivesDamagedMessages) {
  google::protobuf::LogSilencer silencer;
  std::mt19937 random(1);
  int parsed = 0;
  int sound = 0;
  for (const plan::Plan &original :
       {testing::stageThreePlan(), testing::accumulatingPlan()}) {
    std::string bytes = original.SerializeAsString();
    for (int i = 0; i < 30000; ++i) {
      std::string damaged = bytes;
      for (int flips = 1 + random() % 3; flips > 0; --flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      plan::Plan plan;
      if (plan.ParseFromString(damaged)) {
        ++parsed;
        sound += validatePlan(plan).ok();
        (void)verifyPlan(plan);
      }
    }
  }
  EXPECT_GT(parsed, 1000);
  EXPECT_GT(sound, 100);
}

} // namespace
} // namespace zerograph
