//===- Collectives.cpp - one order of collectives -------------------------===//
//
// All ranks run the same plan, so one order of issue that the communicator
// keeps is enough: no two ranks can wait for each other.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkCollectiveOrder(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  for (int p = 0; p < plan.programs_size(); ++p) {
    uint32_t next = 0;
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      if (!isCollective(step)) {
        continue;
      }
      if (step.sequence() != next) {
        problems.add("order of collectives: ", describeStep(plan, p, s),
                     " has sequence number ", step.sequence(),
                     " and is collective ", next,
                     " of its program: ranks could wait for each other");
      }
      ++next;
    }
  }
}

} // namespace zerograph::verify
