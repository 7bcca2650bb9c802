//===- Totals.cpp - ranks agree on the loss and on stopping ---------------===//
//
// Checks that what totalsOf lists is summed over ranks: each by exactly one
// all_reduce in the program of a micro-batch that trains or is evaluated, the
// sum of stop flags from the flag that the runtime sets on this rank. Were one
// rank's own value left, ranks would stop after different steps and wait for
// each other. A rank that is alone agrees with itself: any one step may add its
// value.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Totals.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

#include <algorithm>

namespace zerograph::verify {
namespace {

class Totals {
public:
  Totals(const VerifierContext &context, Problems &problems)
      : plan(context.plan), mesh(context.mesh), problems(problems),
        arrivals(context.arrivals) {}

  void check(const KnownTotal &known) {
    const plan::Total &total = *known.total;
    bool stop = known.total == &plan.stop(), evaluated = known.evaluated;
    const char *what = known.what;
    bool alone = mesh.world() == 1;
    if (uint32_t ranks = mesh.groupSize(total.axes()); ranks != mesh.world()) {
      problems.add(finding::kNoAgreement, what, " is summed over groups of ",
                   ranks, " ranks; expected all ", mesh.world());
    }
    for (int p = 0; p < plan.programs_size(); ++p) {
      plan::ProgramKind kind = plan.programs(p).kind();
      bool other =
          kind == plan::UPDATE || evaluated != (kind == plan::EVALUATE);
      int sums = 0;
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        const plan::Step &step = plan.programs(p).steps(s);
        for (int i = 0; i < step.accesses_size(); ++i) {
          if (step.accesses(i).slice() != total.slice() ||
              !effectOf(step, i).writes) {
            continue;
          }
          ++sums;
          if (other || (!alone && !step.has_all_reduce())) {
            --sums;
            problems.add(
                finding::kNoAgreement, describeStep(plan, p, s), " writes ",
                describeSlice(plan, total.slice()), ", ", what,
                "; expected only the all_reduce of a micro-batch that is ",
                evaluated ? "evaluated" : "trained on", " to");
          } else if (step.has_all_reduce()) {
            checkSum(p, s, i, total, what, stop);
          } else if (stop && !readsStopFlag(step)) {
            problems.add(finding::kNoAgreement, describeStep(plan, p, s),
                         " makes ", what,
                         " and does not read the scalar "
                         "\"stop\"");
          }
        }
      }
      if (!other && sums != 1) {
        problems.add(finding::kNoAgreement, sums,
                     alone ? " steps of \"" : " all_reduces of \"",
                     plan.programs(p).name(), "\" make ",
                     describeSlice(plan, total.slice()), ", ", what,
                     "; expected exactly one");
      }
    }
  }

private:
  /// The access before `index` has the rank's own values.
  void checkSum(int p, int s, int index, const plan::Total &total,
                const char *what, bool stop) {
    const plan::Step &step = plan.programs(p).steps(s);
    if (!std::equal(step.axes().begin(), step.axes().end(),
                    total.axes().begin(), total.axes().end())) {
      problems.add(finding::kNoAgreement, describeStep(plan, p, s), " sums ",
                   what, " over other ranks than those of the plan");
    }
    uint32_t from = step.accesses(index - 1).slice();
    if (stop ? !arrivals[from].isStopFlag() : bool(arrivals[from])) {
      problems.add(finding::kNoAgreement, describeStep(plan, p, s), " makes ",
                   what, " of ", describeSlice(plan, from), "; expected ",
                   stop ? "the scalar \"stop\" of this rank"
                        : "the loss of this rank, which the runtime does not "
                          "set");
    }
  }

  bool readsStopFlag(const plan::Step &step) const {
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).reads &&
          arrivals[step.accesses(i).slice()].isStopFlag()) {
        return true;
      }
    }
    return false;
  }

  const plan::Plan &plan;
  const Mesh &mesh;
  Problems &problems;
  const std::vector<StagedInput> &arrivals; // by slice
};

} // namespace

/// By the norm ranks decide whether to skip an update, and what the loss is
/// scaled by.
static void checkNorm(const VerifierContext &context, Problems &problems) {
  const plan::Plan &plan = context.plan;
  if (!plan.has_gradient_norm()) {
    return;
  }
  for (int p = 0; p < plan.programs_size(); ++p) {
    const plan::Program &program = plan.programs(p);
    int expected =
        program.kind() == plan::UPDATE || program.kind() == plan::STEP;
    int writes = 0;
    for (const plan::Step &step : program.steps()) {
      for (int i = 0; i < step.accesses_size(); ++i) {
        writes += step.accesses(i).slice() == plan.gradient_norm() &&
                  effectOf(step, i).writes;
      }
    }
    if (writes != expected) {
      problems.add(finding::kNoAgreement, writes, " steps of \"",
                   program.name(), "\" make ",
                   describeSlice(plan, plan.gradient_norm()),
                   ", the norm of gradients; expected ",
                   expected ? "exactly one" : "none");
    }
  }
}

void checkTotals(const VerifierContext &context, Findings &findings) {
  if (isForward(context.plan)) {
    return; // one rank, which no other waits for
  }
  Totals totals(context, findings.problems);
  for (const KnownTotal &known : totalsOf(context.plan)) {
    totals.check(known);
  }
  checkNorm(context, findings.problems);
}

} // namespace zerograph::verify
