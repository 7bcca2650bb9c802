//===- Accumulators.cpp - sums of gradients begin at zero every step ------===//
//
// A slice that reductions add to is written by them alone; then, in the program
// that updates, it is zeroed exactly once, after everything that reads the sum.
// Zeros are what a step writes that reads nothing, or copies from such bytes.
// Steps are taken in issue order; the race check sees to it that order holds.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/Places.h"

#include <map>

namespace zerograph::verify {
namespace {

bool touch(const Spans &a, const Spans &b) {
  for (const auto &[first, second] : a) {
    for (const auto &[begin, end] : b) {
      if (first < end && begin < second) {
        return true;
      }
    }
  }
  return false;
}

class Accumulators {
public:
  Accumulators(const plan::Plan &plan, Problems &problems)
      : plan(plan), problems(problems) {
    for (const plan::Program &program : plan.programs()) {
      for (const plan::Step &step : program.steps()) {
        if (step.has_reduce_scatter() && step.reduce_scatter().accumulate() &&
            plan.slices(step.accesses(1).slice()).carried()) {
          units.emplace(step.accesses(1).slice(), step.reduce_scatter().unit());
        }
      }
    }
  }

  void run() {
    if (units.empty()) {
      return;
    }
    for (int p = 0; p < plan.programs_size(); ++p) {
      zeroed.clear();
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        visit(p, s);
      }
      if (plan.programs(p).name() != "micro") {
        checkZeroed(p);
      }
    }
  }

private:
  Spans spansOf(const plan::Access &access) const {
    Spans spans;
    addSpans(spans, access.offset(), access.bytes(), access.rank_stride(),
             plan.world());
    return spans;
  }

  std::string describe(uint32_t slice) const {
    int unit = units.at(slice);
    return absl::StrCat(describeSlice(plan, slice),
                        ", the sum of gradients of unit ", unit, " (",
                        plan.units(unit).name(), ")");
  }

  bool isZero(const plan::Access &access) const {
    auto it = zeroed.find(access.slice());
    if (it == zeroed.end() || access.rank_stride() != 0) {
      return false;
    }
    uint64_t end = access.offset() + access.bytes();
    Spans spans = it->second;
    spans.emplace_back(0, access.offset());
    return !firstGap(spans, end);
  }

  /// True if all that the step writes is zero.
  bool writesZeros(const plan::Step &step) const {
    if (step.has_copy()) {
      return isZero(step.accesses(0));
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).reads) {
        return false;
      }
    }
    return step.has_fill() || step.has_launch();
  }

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    bool zeros = writesZeros(step);
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      auto it = zeroed.find(access.slice());
      if (effectOf(step, i).reads && !zeros && it != zeroed.end() &&
          units.count(access.slice()) != 0 &&
          touch(it->second, spansOf(access))) {
        problems.add("lost gradients: ", describeStep(plan, p, s), " reads ",
                     describe(access.slice()),
                     ", which has been zeroed before; expected to read first");
      }
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).writes && step.accesses(i).bytes() != 0) {
        write(p, s, i, zeros);
      }
    }
  }

  void write(int p, int s, int index, bool zeros) {
    const plan::Step &step = plan.programs(p).steps(s);
    const plan::Access &access = step.accesses(index);
    if (units.count(access.slice()) == 0) {
      // A buffer that zeros are copied from.
      if (zeros) {
        addSpans(zeroed[access.slice()], access.offset(), access.bytes(),
                 access.rank_stride(), plan.world());
      } else {
        zeroed.erase(access.slice());
      }
      return;
    }
    if (step.has_reduce_scatter()) {
      return;
    }
    if (!zeros || plan.programs(p).name() == "micro") {
      problems.add("wrong gradients: ", describeStep(plan, p, s), " writes ",
                   describe(access.slice()), "; expected only reductions to",
                   plan.programs(p).name() == "micro"
                       ? ""
                       : ", and one step that zeroes it");
      return;
    }
    Spans spans = spansOf(access);
    Spans &before = zeroed[access.slice()];
    if (touch(before, spans)) {
      problems.add("doubled zeroing: ", describeStep(plan, p, s), " zeroes ",
                   describe(access.slice()),
                   " a second time; expected it once a step");
    }
    before.insert(before.end(), spans.begin(), spans.end());
  }

  void checkZeroed(int p) {
    for (const auto &[slice, unit] : units) {
      auto gap = firstGap(zeroed[slice], plan.slices(slice).bytes());
      if (gap) {
        problems.add("gradients not zeroed: no step of \"",
                     plan.programs(p).name(), "\" zeroes bytes [", gap->first,
                     ", ", gap->second, ") of ", describe(slice),
                     ": the next step would add to them");
      }
    }
  }

  const plan::Plan &plan;
  Problems &problems;
  std::map<uint32_t, int> units; // by slice that is added to
  std::map<uint32_t, Spans> zeroed;
};

} // namespace

void checkAccumulators(const Subject &subject, Problems &problems) {
  Accumulators(subject.plan, problems).run();
}

} // namespace zerograph::verify
