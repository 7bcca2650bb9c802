//===- Races.cpp - unordered steps and shared bytes -----------------------===//
//
// A sweep over the bytes of each arena: accesses enter in order of their first
// byte and are compared with those of other streams that still reach there.
// One stream's steps are in order anyway, and two reads never disturb each
// other, so neither is ever compared.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/Ranges.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace zerograph::verify {
namespace {

struct Touch {
  Range range;
  uint64_t end; // over all ranks
  uint32_t step;
  uint32_t slice;
  bool writes;
};

class Sweep {
public:
  Sweep(const VerifierContext &context, size_t program, Problems &problems)
      : plan(context.plan), mesh(context.mesh), program(program),
        order(context.orders[program]), problems(problems) {}

  void run(std::vector<Touch> touches) {
    std::sort(touches.begin(), touches.end(),
              [](const Touch &a, const Touch &b) {
                return std::tie(a.range.begin, a.step, a.end, a.slice) <
                       std::tie(b.range.begin, b.step, b.end, b.slice);
              });
    for (const Touch &touch : touches) {
      int own = order.stream(touch.step);
      for (int stream = 0; stream < kMaxStreams; ++stream) {
        if (stream == own) {
          continue;
        }
        compare(touch, writers[stream]);
        if (touch.writes) {
          compare(touch, readers[stream]);
        }
      }
      (touch.writes ? writers : readers)[own].push_back(touch);
      if (problems.enough()) {
        return;
      }
    }
  }

private:
  /// Compares with each of `active`, and drops those that end before `touch`.
  void compare(const Touch &touch, std::vector<Touch> &active) {
    for (size_t i = 0; i < active.size();) {
      if (active[i].end <= touch.range.begin) {
        active[i] = active.back();
        active.pop_back();
        continue;
      }
      if (!order.ordered(active[i].step, touch.step) &&
          overlap(mesh, active[i].range, touch.range)) {
        report(active[i], touch);
      }
      ++i;
    }
  }

  void report(const Touch &a, const Touch &b) {
    const Touch &early = a.step < b.step ? a : b;
    const Touch &late = a.step < b.step ? b : a;
    if (!reported.emplace(early.step, late.step).second) {
      return;
    }
    auto verb = [](const Touch &touch) {
      return touch.writes ? " writes " : " reads ";
    };
    problems.add(
        early.slice == late.slice ? finding::kMissingWait : finding::kRace,
        describeStep(plan, program, early.step), verb(early),
        describeSlice(plan, early.slice), " and ",
        describeStep(plan, program, late.step), verb(late),
        early.slice == late.slice
            ? std::string("it")
            : absl::StrCat(describeSlice(plan, late.slice),
                           " on the same bytes"),
        "; nothing makes step ", late.step, " wait for step ", early.step);
  }

  const plan::Plan &plan;
  const Mesh &mesh;
  size_t program;
  const HappensBefore &order;
  Problems &problems;
  std::vector<Touch> writers[kMaxStreams];
  std::vector<Touch> readers[kMaxStreams];
  std::set<std::pair<uint32_t, uint32_t>> reported;
};

} // namespace

void checkRaces(const VerifierContext &context, Findings &findings) {
  const plan::Plan &plan = context.plan;
  for (int p = 0; p < plan.programs_size(); ++p) {
    std::vector<std::vector<Touch>> arenas(plan.arenas_size());
    const plan::Program &program = plan.programs(p);
    for (int s = 0; s < program.steps_size(); ++s) {
      for (int i = 0; i < program.steps(s).accesses_size(); ++i) {
        const plan::Access &access = program.steps(s).accesses(i);
        Range range = arenaRange(plan, access);
        if (range.bytes != 0) {
          uint64_t end = range.begin + context.mesh.lastOffset(range.strides) +
                         range.bytes;
          arenas[range.arena].push_back({range, end, uint32_t(s),
                                         access.slice(),
                                         effectOf(program.steps(s), i).writes});
        }
      }
    }
    for (std::vector<Touch> &touches : arenas) {
      Sweep(context, p, findings.problems).run(std::move(touches));
    }
  }
}

} // namespace zerograph::verify
