//===- Digests.cpp - steps do what is stated of them ----------------------===//

#include "runtime/plan/Digests.h"

#include "runtime/plan/Describe.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkDigests(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  for (int p = 0; p < plan.programs_size(); ++p) {
    Digests digests(plan, p);
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      if (digests.of(step) != step.digest()) {
        problems.add("not as stated: ", describeStep(plan, p, s),
                     " does something else, or to other data, than what its "
                     "digest says");
      }
      digests.pass(step);
    }
  }
}

} // namespace zerograph::verify
