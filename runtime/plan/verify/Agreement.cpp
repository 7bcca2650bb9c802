//===- Agreement.cpp - ranks agree on the loss and on stopping ------------===//
//
// The loss and the stop count of a step are sums over the ranks: each is made
// by exactly one all_reduce in the program of a micro-batch, the stop count
// from the flag that the runtime sets on this rank. Were one rank's own value
// left, ranks would stop after different steps and wait for each other. A rank
// that is alone agrees with itself: any one step may add its value.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/External.h"

namespace zerograph::verify {
namespace {

class Agreement {
public:
  Agreement(const plan::Plan &plan, Problems &problems)
      : plan(plan), problems(problems) {}

  void check(uint32_t slice, const char *what, bool stop) {
    for (int p = 0; p < plan.programs_size(); ++p) {
      std::vector<bool> set = setByRuntime(plan, p);
      int sums = 0;
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        const plan::Step &step = plan.programs(p).steps(s);
        for (int i = 0; i < step.accesses_size(); ++i) {
          const plan::Access &access = step.accesses(i);
          if (access.slice() != slice || access.mode() == plan::READ) {
            continue;
          }
          if (!(step.has_all_reduce() || plan.world() == 1) ||
              plan.programs(p).name() == "update") {
            problems.add("no agreement: ", describeStep(plan, p, s), " writes ",
                         describeSlice(plan, slice), ", the ", what,
                         "; expected only the all_reduce of a micro-batch to");
            continue;
          }
          ++sums;
          if (step.has_all_reduce()) {
            checkSum(p, s, i, set, what, stop);
          } else if (stop && !readsStopFlag(step)) {
            problems.add("no agreement: ", describeStep(plan, p, s),
                         " makes the stop count and does not read the scalar "
                         "\"stop\"");
          }
        }
      }
      if (plan.programs(p).name() != "update" && sums != 1) {
        problems.add("no agreement: ", sums,
                     plan.world() == 1 ? " steps" : " all_reduces", " of \"",
                     plan.programs(p).name(), "\" make ",
                     describeSlice(plan, slice), ", the ", what,
                     "; expected exactly one");
      }
    }
  }

private:
  /// The access before `index` has the rank's own values.
  void checkSum(int p, int s, int index, const std::vector<bool> &set,
                const char *what, bool stop) {
    const plan::Step &step = plan.programs(p).steps(s);
    plan::ElementType expected =
        stop ? plan::F32 : floatType(plan, plan.loss_slice());
    if (step.all_reduce().type() != expected) {
      problems.add("no agreement: ", describeStep(plan, p, s), " sums the ",
                   what, " as ", nameOf(step.all_reduce().type()),
                   "; expected ", nameOf(expected));
    }
    uint32_t from = step.accesses(index - 1).slice();
    if (stop ? !isStopFlag(from) : set[from]) {
      problems.add("no agreement: ", describeStep(plan, p, s), " makes the ",
                   what, " of ", describeSlice(plan, from), "; expected ",
                   stop ? "the scalar \"stop\" of this rank"
                        : "the loss of this rank, which the runtime does not "
                          "set");
    }
  }

  bool readsStopFlag(const plan::Step &step) const {
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).reads && isStopFlag(step.accesses(i).slice())) {
        return true;
      }
    }
    return false;
  }

  bool isStopFlag(uint32_t slice) const {
    for (const plan::Scalar &scalar : plan.scalars()) {
      if (scalar.name() == kStopScalar && scalar.slice() == slice) {
        return true;
      }
    }
    return false;
  }

  const plan::Plan &plan;
  Problems &problems;
};

} // namespace

void checkAgreement(const Subject &subject, Problems &problems) {
  if (isForward(subject.plan)) {
    return; // one rank, which no other waits for
  }
  Agreement agreement(subject.plan, problems);
  agreement.check(subject.plan.loss_slice(), "loss", false);
  agreement.check(subject.plan.stop_slice(), "stop count", true);
}

} // namespace zerograph::verify
