//===- Faults.h - plans with one thing wrong ------------------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_PLAN_FAULTS_H
#define ZEROGRAPH_TESTS_RUNTIME_PLAN_FAULTS_H

#include "PlanBuilder.h"

#include "runtime/plan/Findings.h"
#include "runtime/plan/Validate.h"
#include "runtime/plan/Verify.h"
#include "tests/support/Says.h"

#include "absl/types/span.h"
#include "gtest/gtest.h"

#include <functional>

namespace zerograph {

inline plan::Step *step(plan::Plan &plan, int index, int program = 0) {
  return plan.mutable_programs(program)->mutable_steps(index);
}

inline plan::Slice *slice(plan::Plan &plan, const std::string &name) {
  return plan.mutable_slices(testing::sliceNamed(plan, name));
}

using namespace finding;

/// Expects a finding of this id, and the parts of its text: where it is.
template <typename... Parts>
void expectFault(plan::Plan plan, absl::string_view id, const Parts &...parts) {
  testing::signKernels(plan); // another kernel, where a launch was changed
  expectSays(verifyPlan(plan), absl::StrCat(id, ": "), parts...);
}

/// A change that makes a plan invalid, and a part of what is said of it.
struct Fault {
  const char *text;
  std::function<void(plan::Plan &)> make;
};

inline void expectInvalid(const plan::Plan &sound,
                          absl::Span<const Fault> faults) {
  for (const Fault &fault : faults) {
    plan::Plan plan = sound;
    fault.make(plan);
    expectSays(validatePlan(plan), fault.text);
  }
}

} // namespace zerograph

#endif // ZEROGRAPH_TESTS_RUNTIME_PLAN_FAULTS_H
