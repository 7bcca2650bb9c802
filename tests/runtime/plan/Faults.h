//===- Faults.h - plans with one thing wrong ------------------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_PLAN_FAULTS_H
#define ZEROGRAPH_TESTS_RUNTIME_PLAN_FAULTS_H

#include "PlanBuilder.h"

#include "runtime/plan/Verify.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zerograph {

inline plan::Step *step(plan::Plan &plan, int index, int program = 0) {
  return plan.mutable_programs(program)->mutable_steps(index);
}

inline plan::Slice *slice(plan::Plan &plan, const std::string &name) {
  return plan.mutable_slices(testing::sliceNamed(plan, name));
}

inline void expectFault(plan::Plan plan, const char *cause, const char *where) {
  testing::signKernels(plan); // another kernel, where a launch was changed
  absl::Status status = verifyPlan(plan);
  EXPECT_FALSE(status.ok()) << cause;
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(cause));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(where));
}

} // namespace zerograph

#endif // ZEROGRAPH_TESTS_RUNTIME_PLAN_FAULTS_H
