//===- StagedInputs.cpp - inputs and scalars come through slots -----------===//
//
// The runtime writes a slot while the program's run before may still read the
// other. So no step writes a slot, and none but the one copy_in of its program
// reads it; and what has arrived stays as it is.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

namespace zerograph::verify {

void checkStagedInputs(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  std::vector<int> owners(plan.slices_size(), -1); // of slots: their programs
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (uint32_t slot : plan.programs(p).slots()) {
      owners[slot] = p;
    }
  }
  std::vector<int> copies(plan.programs_size());
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    bool copies_in = step.has_copy_in();
    if (copies_in && ++copies[p] == 2) {
      findings.problems.add(finding::kCopiedInTwice, describeStep(plan, p, s),
                            " is the second copy_in of its program; a run "
                            "copies its slot once");
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      uint32_t slice = step.accesses(i).slice();
      bool writes = effectOf(step, i).writes;
      int owner = owners[slice];
      if (owner >= 0 && (writes || !copies_in || owner != p)) {
        findings.problems.add(
            finding::kWrongSlot, describeStep(plan, p, s),
            writes ? " writes " : " reads ", describeSlice(plan, slice),
            "; expected the copy_in of \"", plan.programs(owner).name(),
            "\" to read it, and the runtime to write it");
      }
      const StagedInput &arrival = context.arrivals[slice];
      if (writes && arrival && !copies_in) {
        findings.problems.add(finding::kOverwritten, describeStep(plan, p, s),
                              " writes ", describeSlice(plan, slice),
                              ", what the runtime gave the program; expected "
                              "copy_in alone to");
      }
      if (writes && arrival.input && plan.programs(p).kind() == plan::UPDATE) {
        findings.problems.add(finding::kLateInput, describeStep(plan, p, s),
                              " writes ", describeSlice(plan, slice),
                              ", which micro-batches have, and no update");
      }
    }
  });
}

} // namespace zerograph::verify
