//===- ValidateFaults.h - plans that are wrong in one place ---------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_PLAN_VALIDATEFAULTS_H
#define ZEROGRAPH_TESTS_RUNTIME_PLAN_VALIDATEFAULTS_H

#include "runtime/plan/plan.pb.h"

#include "absl/types/span.h"

#include <functional>

namespace zerograph::testing {

/// A change that makes `stageThreePlan` invalid.
struct ValidateFault {
  const char *cause; // a part of the message
  std::function<void(plan::Plan &)> make;
};

/// Return the faults of what a plan declares, and of its steps.
absl::Span<const ValidateFault> validateFaults();
absl::Span<const ValidateFault> validateStepFaults();

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_PLAN_VALIDATEFAULTS_H
