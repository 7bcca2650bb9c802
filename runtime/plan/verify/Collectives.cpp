//===- Collectives.cpp - one order of collectives, of their units ---------===//
//
// All ranks run the same plan, so one order of issue that the communicator
// keeps is enough: no two ranks can wait for each other. What a collective says
// that it moves is what its accesses are of.
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
      findings.problems.add("order of collectives: ", describeStep(plan, p, s),
                            " has sequence number ", step.sequence(),
                            " and is collective ", next[p],
                            " of its program: ranks could wait for each other");
    }
    ++next[p];
  });
}

void checkOperandsOfCollectives(const VerifierContext &context,
                                Findings &findings) {
  const plan::Plan &plan = context.plan;
  const UnitParts &parts = context.parts;
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      Expected expected = kindOf(step).expected(parts, step, i);
      std::optional<UnitPart> found = parts.of(step.accesses(i));
      uint32_t slice = step.accesses(i).slice();
      if (effectOf(step, i).writes && !step.has_all_gather() &&
          plan.slices(int(slice)).slice_class() == plan::GATHERED) {
        findings.problems.add("wrong gather: ", describeStep(plan, p, s),
                              " writes ", describeSlice(plan, slice),
                              ", which is gathered; expected gathers alone to");
      }
      if (expected.any || found == expected.part) {
        continue;
      }
      findings.problems.add(
          "wrong unit: ", describeStep(plan, p, s),
          effectOf(step, i).writes ? " writes " : " reads ",
          describeSlice(plan, slice), ", which holds ",
          found ? describe(plan, *found) : "nothing of a unit", "; expected ",
          expected.part ? describe(plan, *expected.part) : "a buffer of none");
    }
  });
}

} // namespace zerograph::verify
