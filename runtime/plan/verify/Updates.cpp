//===- Updates.cpp - each state is updated once, from its own gradients ---===//
//
// Every byte of a parameter or optimizer state of a trainable unit is written
// once a step, by "step" or "update", from gradients and states of the same
// elements; frozen parameters are never written, but those that are each
// rank's own (running statistics) are by every micro-batch, once. Gathers write
// parameters too, but nothing new: Moves.cpp sees to that.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/Places.h"

#include <map>

namespace zerograph::verify {
namespace {

/// The bytes of one state that steps have written, and which step each.
struct Written {
  Spans spans;
  std::map<std::pair<uint64_t, uint64_t>, std::pair<int, int>> steps;
};

class Updates {
public:
  Updates(const plan::Plan &plan, Problems &problems)
      : plan(plan), problems(problems), places(plan),
        gradients(plan.units_size()) {}

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    std::optional<Place> updated;
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      std::optional<Place> place = places.of(access);
      if (place && isCollective(step) && plan.units(place->unit).local()) {
        problems.add("shared statistics: ", describeStep(plan, p, s),
                     effectOf(step, i).writes ? " writes " : " reads ",
                     describeSlice(plan, access.slice()), " of unit ",
                     plan.units(place->unit).name(),
                     ", which is each rank's own");
        continue;
      }
      if (!place || place->role == Role::Gradient ||
          !plan.slices(access.slice()).carried() || !effectOf(step, i).writes ||
          access.bytes() == 0 ||
          !mayWrite(p, s, access, plan.units(place->unit))) {
        continue;
      }
      if (isCollective(step)) {
        continue;
      }
      write(p, s, access);
      // A local value may be made of anything that the rank has.
      if (!updated && !plan.units(place->unit).local()) {
        updated = place;
      }
    }
    if (updated) {
      checkSources(p, s, step, *updated);
    }
  }

  void checkCoverage() {
    for (int unit = 0; unit < plan.units_size(); ++unit) {
      const plan::Unit &of = plan.units(unit);
      if (of.local()) {
        checkLocal(unit, of);
      }
      if (!of.trainable()) {
        continue;
      }
      bool all = true;
      for (const plan::State &state : of.states()) {
        all &= state.role() == "grad" || covered(unit, state);
      }
      auto gap = firstGap(gradients[unit], of.elements());
      if (all && gap) {
        problems.add("unused gradients: unit ", unit, " (", of.name(),
                     ") is updated and no step that does so reads its "
                     "gradients [",
                     gap->first, ", ", gap->second, ")");
      }
    }
  }

private:
  /// All parameters are made anew; what lies between them is nobody's.
  void checkLocal(int index, const plan::Unit &unit) {
    uint64_t bytes = elementSize(unit.type());
    const Written &done = written[unit.states(0).slice()];
    for (const plan::Parameter &parameter : unit.parameters()) {
      uint64_t begin = parameter.offset() * bytes;
      Spans spans = done.spans;
      spans.emplace_back(0, begin);
      if (auto gap = firstGap(spans, begin + parameter.elements() * bytes)) {
        problems.add("missing update: no step writes bytes [", gap->first, ", ",
                     gap->second, ") of ",
                     describeSlice(plan, unit.states(0).slice()), ", where ",
                     parameter.name(), " of unit ", index, " (", unit.name(),
                     ") lies; expected each micro-batch to");
      }
    }
  }

  bool mayWrite(int p, int s, const plan::Access &access,
                const plan::Unit &unit) {
    bool update = plan.programs(p).name() == "update";
    if (unit.local()) {
      if (update) {
        problems.add("late update: ", describeStep(plan, p, s), " writes ",
                     describeSlice(plan, access.slice()), " of unit ",
                     unit.name(), ", which micro-batches alone change");
      }
      return !update;
    }
    if (!unit.trainable()) {
      problems.add("frozen state: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()), " of unit ",
                   unit.name(), ", which is not trained");
      return false;
    }
    if (plan.programs(p).name() == "micro") {
      problems.add("early update: ", describeStep(plan, p, s), " writes ",
                   describeSlice(plan, access.slice()), " of unit ",
                   unit.name(), " before all micro-batches are done");
      return false;
    }
    return true;
  }

  void write(int p, int s, const plan::Access &access) {
    Spans spans;
    addSpans(spans, access.offset(), access.bytes(), access.rank_stride(),
             plan.world());
    Written &state = written[access.slice()];
    for (const auto &span : spans) {
      // Ranges written so far are apart from each other, so the only one that
      // may reach into this one from the left is the last that begins there.
      auto it = state.steps.lower_bound({span.second, 0});
      if (it != state.steps.begin() &&
          std::prev(it)->first.second > span.first) {
        const auto &[first, step] = *std::prev(it);
        problems.add(
            "doubled update: ", describeStep(plan, step.first, step.second),
            " and ", describeStep(plan, p, s), " both write ",
            describeSlice(plan, access.slice()), " at byte ",
            std::max(first.first, span.first), "; expected one write a step");
        return;
      }
      state.steps.emplace(span, std::pair(p, s));
      state.spans.push_back(span);
    }
  }

  /// Of states and gradients, a step reads and writes the same elements.
  void checkSources(int p, int s, const plan::Step &step,
                    const Place &updated) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      std::optional<Place> place = places.of(access);
      if (!place || access.bytes() == 0) {
        continue;
      }
      if (!place->sameElements(updated)) {
        problems.add("wrong unit: ", describeStep(plan, p, s), " updates ",
                     describePlace(plan, updated), " and ",
                     effectOf(step, i).reads ? "reads " : "writes ",
                     describeSlice(plan, access.slice()), ", which holds ",
                     describePlace(plan, *place),
                     "; expected the same elements");
      } else if (place->role == Role::Gradient && effectOf(step, i).reads) {
        addSpans(gradients[place->unit], place->begin, place->elements,
                 place->stride, plan.world());
      }
    }
  }

  bool covered(int unit, const plan::State &state) {
    const Spans &spans = written[state.slice()].spans;
    const std::string &name = plan.units(unit).name();
    if (spans.empty()) {
      problems.add("missing update: no step writes state \"", state.role(),
                   "\" of trainable unit ", unit, " (", name, "), ",
                   describeSlice(plan, state.slice()));
      return false;
    }
    auto gap = firstGap(spans, plan.slices(state.slice()).bytes());
    if (gap) {
      problems.add("missing update: no step writes bytes [", gap->first, ", ",
                   gap->second, ") of state \"", state.role(),
                   "\" of trainable unit ", unit, " (", name, "), ",
                   describeSlice(plan, state.slice()));
    }
    return !gap;
  }

  const plan::Plan &plan;
  Problems &problems;
  Places places;
  std::map<uint32_t, Written> written; // by slice
  std::vector<Spans> gradients;        // elements that updates read, by unit
};

} // namespace

void checkUpdates(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  Updates updates(plan, problems);
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      updates.visit(p, s);
    }
  }
  updates.checkCoverage();
}

} // namespace zerograph::verify
