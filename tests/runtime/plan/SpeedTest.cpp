//===- SpeedTest.cpp - how long verifying takes ---------------------------===//

#include "LargePlan.h"

#include "runtime/plan/Verify.h"

#include "gtest/gtest.h"

#include <chrono>
#include <cstdio>

namespace zerograph {
namespace {

double secondsToVerify(int layers) {
  plan::Plan plan = testing::largePlan(layers);
  auto start = std::chrono::steady_clock::now();
  absl::Status status = verifyPlan(plan);
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  EXPECT_TRUE(status.ok()) << status;
  std::printf("verified %d steps on 7 streams, %d slices: %.3f s\n",
              plan.programs(0).steps_size(), plan.slices_size(), taken.count());
  return taken.count();
}

// About a second for 10,000 steps is the promise; the bound leaves room for
// machines that are slow or do something else. Four times the steps: far below
// sixteen times the time.
TEST(Speed, TenThousandSteps) {
  EXPECT_GE(testing::largePlan(400).programs(0).steps_size(), 10000);
  double small = secondsToVerify(400);
  EXPECT_LT(small, 5.0);
  EXPECT_LT(secondsToVerify(1600), 10 * small + 1);
}

} // namespace
} // namespace zerograph
