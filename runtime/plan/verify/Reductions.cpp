//===- Reductions.cpp - every gradient is reduced once --------------------===//
//
// One reduce_scatter a trainable segment, in whichever program has it.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/verify/Checks.h"

#include <map>

namespace zerograph::verify {
namespace {

/// "segment 1 of unit 3 (h.0)".
std::string describeSegment(const plan::Plan &plan, int unit, int segment) {
  return absl::StrCat("segment ", segment, " of unit ", unit, " (",
                      plan.units(unit).name(), ")");
}

void checkReduction(const plan::Plan &plan, int p, int s, Findings &findings) {
  const plan::Step &step = plan.programs(p).steps(s);
  const plan::ReduceScatter &op = step.reduce_scatter();
  if (!plan.units(op.unit()).trainable()) {
    findings.waste.add("needless reduction: ", describeStep(plan, p, s),
                       " reduces gradients of unit ", op.unit(), " (",
                       plan.units(op.unit()).name(), "), which is frozen");
  }
  // A later micro-batch would overwrite what this one leaves. That what it adds
  // to is carried, Accumulators sees to.
  if (runsPerStep(plan, plan.programs(p)) > 1 && !op.accumulate()) {
    findings.problems.add("lost gradients: ", describeStep(plan, p, s),
                          " runs for every micro-batch and does not add to ",
                          describeSlice(plan, step.accesses(1).slice()),
                          ": only the last one's would remain");
  }
}

} // namespace

void checkReductions(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  // By unit and segment: the steps that reduce it.
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> found;
  forEachStep(plan, [&](int p, int s, const plan::Step &step) {
    if (step.has_reduce_scatter()) {
      found[{step.reduce_scatter().unit(), step.reduce_scatter().segment()}]
          .emplace_back(p, s);
      checkReduction(plan, p, s, findings);
    }
  });
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (int i = 0; i < plan.units(unit).segments_size(); ++i) {
      const auto &steps = found[{unit, i}];
      // A single rank has nothing to sum.
      if (steps.empty() && plan.units(unit).trainable() &&
          context.mesh.world() > 1) {
        findings.problems.add(
            "missing reduction: no step reduces the gradients of ",
            describeSegment(plan, unit, i));
      }
      if (steps.size() > 1) {
        findings.problems.add(
            "doubled reduction: ",
            describeStep(plan, steps[0].first, steps[0].second), " and ",
            describeStep(plan, steps[1].first, steps[1].second),
            " both reduce the gradients of ", describeSegment(plan, unit, i));
      }
    }
  }
}

} // namespace zerograph::verify
