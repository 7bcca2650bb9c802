//===- Collectives.cpp - one order of collectives -------------------------===//
//
// All ranks run the same plan, so one order of issue that the communicator
// keeps is enough: no two ranks can wait for each other.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkCollectiveOrder(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  std::vector<uint32_t> next(plan.programs_size());
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    if (!isCollective(step)) {
      return;
    }
    if (step.sequence() != next[p]) {
      findings.problems.add(finding::kOrderOfCollectives,
                            describeStep(plan, p, s), " has sequence number ",
                            step.sequence(), " and is collective ", next[p],
                            " of its program: ranks could wait for each other");
    }
    ++next[p];
  });
}

} // namespace zerograph::verify
