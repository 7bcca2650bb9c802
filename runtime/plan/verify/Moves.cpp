//===- Moves.cpp - collectives move what they say -------------------------===//
//
// A gather reads each rank's part of a segment of its unit, and writes that
// segment of that unit; a reduction sums the gradients of its segment into the
// rank's part of them. Nothing else makes gathered values or reduced parts.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/Places.h"

namespace zerograph::verify {
namespace {

class Moves {
public:
  Moves(const plan::Plan &plan, Problems &problems)
      : plan(plan), problems(problems), places(plan) {}

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    if (step.has_all_gather()) {
      gather(p, s, step);
    } else if (step.has_reduce_scatter()) {
      const plan::ReduceScatter &op = step.reduce_scatter();
      expect(p, s, 0, "reads",
             places.segment(op.unit(), op.segment(), Role::Gradient, false));
      expect(p, s, 1, "writes",
             places.segment(op.unit(), op.segment(), Role::Gradient, true));
      expectNone(p, s, 2, "exchanges through");
    } else if (step.has_all_reduce()) {
      for (int i = 1; i < step.accesses_size(); i += 2) {
        expectNone(p, s, i, "sums scalars into");
      }
    } else {
      compute(p, s, step);
    }
  }

private:
  void gather(int p, int s, const plan::Step &step) {
    int unit = step.all_gather().unit();
    // Stage 0 gathers what it reduced: everyone has all parameters.
    Role role = plan.zero_stage() == 0 ? Role::Gradient : Role::Param;
    for (int i = 0; i < step.accesses_size() / 2; ++i) {
      expect(p, s, 2 * i, "reads", places.segment(unit, i, role, true));
      expect(p, s, 2 * i + 1, "writes", places.segment(unit, i, role, false));
    }
  }

  void expect(int p, int s, int index, const char *verb, const Place &place) {
    const plan::Access &access = plan.programs(p).steps(s).accesses(index);
    std::optional<Place> found = places.of(access);
    if (!found || !(*found == place)) {
      problems.add("wrong unit: ", describeStep(plan, p, s), " ", verb, " ",
                   describeSlice(plan, access.slice()), ", which holds ",
                   found ? describePlace(plan, *found) : "nothing of a unit",
                   "; expected ", describePlace(plan, place));
    }
  }

  void expectNone(int p, int s, int index, const char *verb) {
    const plan::Access &access = plan.programs(p).steps(s).accesses(index);
    if (std::optional<Place> found = places.of(access)) {
      problems.add("wrong unit: ", describeStep(plan, p, s), " ", verb, " ",
                   describeSlice(plan, access.slice()), ", which holds ",
                   describePlace(plan, *found), "; expected a buffer of none");
    }
  }

  void compute(int p, int s, const plan::Step &step) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      plan::SliceClass made = plan.slices(access.slice()).slice_class();
      if (effectOf(step, i).writes && places.of(access) &&
          !plan.slices(access.slice()).carried() &&
          (made == plan::GATHERED || made == plan::GRAD_SHARD)) {
        problems.add("no collective: ", describeStep(plan, p, s), " writes ",
                     describeSlice(plan, access.slice()), ", the ",
                     nameOf(made), " values of unit ",
                     plan.slices(access.slice()).unit(),
                     "; expected them from a collective only");
      }
    }
  }

  const plan::Plan &plan;
  Problems &problems;
  Places places;
};

} // namespace

void checkMoves(const Subject &subject, Problems &problems) {
  const plan::Plan &plan = subject.plan;
  Moves moves(plan, problems);
  for (int p = 0; p < plan.programs_size(); ++p) {
    for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
      moves.visit(p, s);
    }
  }
}

} // namespace zerograph::verify
