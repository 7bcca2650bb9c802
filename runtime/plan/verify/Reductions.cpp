//===- Reductions.cpp - every gradient once, every state updated ----------===//
//
// One reduce_scatter a trainable segment, in whichever program has it; each
// state of a trainable unit is written by "step" or "update" and by no other;
// frozen parameters are never written.
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

/// By slice: the unit and state it holds, gradients aside.
struct Owner {
  int unit = -1;
  const plan::State *state = nullptr;
};

void checkWrites(const plan::Plan &plan, Problems &problems) {
  std::map<uint32_t, Owner> owners;
  std::map<uint32_t, bool> written;
  for (int unit = 0; unit < plan.units_size(); ++unit) {
    for (const plan::State &state : plan.units(unit).states()) {
      if (state.role() != "grad") {
        owners[state.slice()] = {unit, &state};
      }
    }
  }
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      for (const plan::Access &access : plan.programs(p).steps(s).accesses()) {
        auto owner = owners.find(access.slice());
        if (owner == owners.end() || access.mode() == plan::READ) {
          continue;
        }
        written[access.slice()] = true;
        const plan::Unit &unit = plan.units(owner->second.unit);
        if (!unit.trainable()) {
          problems.add("frozen state: ", describeStep(plan, p, s), " writes ",
                       describeSlice(plan, access.slice()), " of unit ",
                       unit.name(), ", which is not trained");
        } else if (plan.programs(p).name() == "micro") {
          problems.add("early update: ", describeStep(plan, p, s), " writes ",
                       describeSlice(plan, access.slice()), " of unit ",
                       unit.name(), " before all micro-batches are done");
        }
      }
    }
  }
  for (const auto &[slice, owner] : owners) {
    const plan::Unit &unit = plan.units(owner.unit);
    if (unit.trainable() && !written[slice]) {
      problems.add("missing update: no step writes state \"",
                   owner.state->role(), "\" of trainable unit ", owner.unit,
                   " (", unit.name(), "), ", describeSlice(plan, slice));
    }
  }
}

} // namespace

void checkReductions(const Subject &subject, Problems &problems) {
  checkCounts(subject.plan, problems);
  checkWrites(subject.plan, problems);
}

} // namespace zerograph::verify
