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

void checkReduction(const plan::Plan &plan, int p, int s, Problems &problems) {
  const plan::Step &step = plan.programs(p).steps(s);
  const plan::ReduceScatter &op = step.reduce_scatter();
  if (!plan.units(op.unit()).trainable()) {
    problems.add("needless reduction: ", describeStep(plan, p, s),
                 " reduces gradients of unit ", op.unit(), " (",
                 plan.units(op.unit()).name(), "), which is frozen");
  }
  // A later micro-batch would overwrite what this one leaves.
  bool repeated = runsPerStep(plan, plan.programs(p)) > 1;
  uint32_t shard = step.accesses(1).slice();
  if (repeated && (!op.accumulate() || !plan.slices(shard).carried())) {
    problems.add("lost gradients: ", describeStep(plan, p, s),
                 " runs for every micro-batch and ",
                 op.accumulate() ? "its sum in " : "does not add to ",
                 describeSlice(plan, shard),
                 op.accumulate() ? " is not carried"
                                 : ": only the last one's would remain");
  }
}

void checkCounts(const plan::Plan &plan, Problems &problems) {
  // By unit and segment: the steps that reduce it.
  std::map<std::pair<int, int>, std::vector<std::pair<int, int>>> found;
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      const plan::Step &step = plan.programs(p).steps(s);
      if (step.has_reduce_scatter()) {
        found[{step.reduce_scatter().unit(), step.reduce_scatter().segment()}]
            .emplace_back(p, s);
        checkReduction(plan, p, s, problems);
      }
    }
  }
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    if (!plan.units(unit).trainable()) {
      continue;
    }
    for (int i = 0; i < plan.units(unit).segments_size(); ++i) {
      const auto &steps = found[{unit, i}];
      // A single rank has nothing to sum.
      if (steps.empty() && plan.world() > 1) {
        problems.add("missing reduction: no step reduces the gradients of ",
                     describeSegment(plan, unit, i));
      }
      if (steps.size() > 1) {
        problems.add(
            "doubled reduction: ",
            describeStep(plan, steps[0].first, steps[0].second), " and ",
            describeStep(plan, steps[1].first, steps[1].second),
            " both reduce the gradients of ", describeSegment(plan, unit, i));
      }
    }
  }
}

} // namespace

void checkReductions(const Subject &subject, Problems &problems) {
  checkCounts(subject.plan, problems);
}

} // namespace zerograph::verify
