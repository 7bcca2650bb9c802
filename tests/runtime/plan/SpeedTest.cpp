//===- SpeedTest.cpp - how long verifying takes ---------------------------===//

#include "LargePlan.h"

#include "runtime/plan/Verify.h"

#include "gtest/gtest.h"

#include <cstdio>
#include <ctime>

namespace zerograph {
namespace {

/// Returns the seconds of this thread: what else the machine does is no matter.
double processorSeconds() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double secondsToVerify(int layers) {
  plan::Plan plan = testing::largePlan(layers);
  double start = processorSeconds();
  absl::Status status = verifyPlan(plan);
  double taken = processorSeconds() - start;
  EXPECT_TRUE(status.ok()) << status;
  std::printf("verified %d steps on 7 streams, %d slices: %.3f s\n",
              plan.programs(0).steps_size(), plan.slices_size(), taken);
  return taken;
}

// About a second for 10,000 steps is the promise; the bound leaves room for
// slow machines. Four times the steps: far below sixteen times the time.
TEST(Speed, TenThousandSteps) {
  EXPECT_GE(testing::largePlan(400).programs(0).steps_size(), 10000);
  double small = secondsToVerify(400);
  EXPECT_LT(small, 5.0);
  EXPECT_LT(secondsToVerify(1600), 10 * small + 1);
}

} // namespace
} // namespace zerograph
