//===- Accumulators.cpp - sums of gradients begin at zero every step ------===//
//
// Gradients that are carried from one micro-batch to the next are written by
// reductions alone (by any step where there is one rank, which adds them up
// itself, or where they are whole and the rank's own, to be reduced last), or
// copied from a buffer that they were copied to before and that was added to:
// the host or a file may keep them. Then, when all micro-batches are done, they
// are zeroed exactly once, after everything that reads the sum. Steps are taken
// in issue order; the race check sees to it that order holds.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/SumOrigins.h"
#include "runtime/plan/verify/ZeroBytes.h"

#include <map>
#include <set>

namespace zerograph::verify {
namespace {

class Accumulators {
public:
  Accumulators(const Subject &subject, Problems &problems)
      : plan(subject.plan), problems(problems), zeroed(subject.mesh) {
    // Gradients that are dumped are carried too, and so is all that the program
    // of one micro-batch of several writes. A fused step writes them anew,
    // unless a reduction reads what it writes. (Where there is one rank, the
    // same is a kernel, which may read its own result for other reasons.)
    std::set<uint32_t> added;
    forEachStep(plan, [&](int p, int, const plan::Step &step) {
      std::set<uint32_t> read;
      for (int i = 0; i < step.accesses_size(); ++i) {
        uint32_t slice = step.accesses(i).slice();
        if (effectOf(step, i).reads) {
          read.insert(slice);
        }
        if (effectOf(step, i).writes &&
            (plan.programs(p).kind() == plan::MICRO ||
             (step.has_reduce_scatter() && read.count(slice) != 0))) {
          added.insert(slice); // reads come before writes
        }
      }
    });
    for (int unit = 0; unit < plan.units_size(); ++unit) {
      for (const plan::State &state : plan.units(unit).states()) {
        if (state.role() == "grad" && added.count(state.slice()) != 0) {
          units.emplace(state.slice(), unit);
          if (subject.mesh.groupSize(state.axes()) == 1) {
            own.insert(state.slice());
          }
        }
      }
    }
  }

  void run() {
    for (int p = 0; p < plan.programs_size(); ++p) {
      zeroed.clear();
      origins.clear();
      away.clear();
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        visit(p, s);
        followSums(p, s);
      }
      for (const auto &[part, step] : away) {
        lost(p, step);
      }
      plan::ProgramKind kind = plan.programs(p).kind();
      if (kind != plan::MICRO && kind != plan::EVALUATE) {
        checkZeroed(p);
      }
    }
  }

private:
  std::string describe(uint32_t slice) const {
    int unit = units.at(slice);
    return absl::StrCat(describeSlice(plan, slice),
                        ", the sum of gradients of unit ", unit, " (",
                        plan.units(unit).name(), ")");
  }

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    bool zeros = zeroed.madeBy(step);
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      if (effectOf(step, i).reads && !zeros &&
          units.count(access.slice()) != 0 && zeroed.touches(access)) {
        problems.add("lost gradients: ", describeStep(plan, p, s), " reads ",
                     describe(access.slice()),
                     ", which has been zeroed before; expected to read first");
      }
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).writes) {
        write(p, s, i, zeros);
      }
    }
  }

  /// Of which sum an access touches bytes: itself, or one that it is a copy of.
  std::optional<SumPart> partOf(const plan::Access &access) const {
    return units.count(access.slice()) != 0
               ? SumPart{access.slice(), access.offset()}
               : origins.of(access);
  }

  /// Calls visit(part) for each sum that the step makes its access `index` of:
  /// the one that it copies, or those that one rank adds to.
  template <typename Visit>
  void visitSources(const plan::Step &step, int index, Visit visit) const {
    int from = kindOf(step).copied(index);
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (from >= 0 ? i != from : !effectOf(step, i).reads) {
        continue;
      }
      std::optional<SumPart> part = partOf(step.accesses(i));
      if (part && from < 0) {
        part->added = true;
      }
      if (part && (from >= 0 || own.count(part->sum) != 0)) {
        visit(*part);
      }
    }
  }

  /// True if the step writes the bytes of a sum anew, from the same bytes and
  /// more.
  bool addsTo(const plan::Step &step, int index) const {
    const plan::Access &access = step.accesses(index);
    bool adds = false;
    visitSources(step, index, [&](const SumPart &part) {
      adds |= part.added && part.sum == access.slice() &&
              part.offset == access.offset();
    });
    return adds;
  }

  /// Notes what a step leaves of sums in other buffers.
  void followSums(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    if (step.has_reduce_scatter()) {
      return reduce(p, s);
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (!effectOf(step, i).writes ||
          units.count(step.accesses(i).slice()) != 0) {
        continue;
      }
      std::optional<SumPart> made;
      visitSources(step, i, [&](const SumPart &part) { made = part; });
      origins.set(step.accesses(i), made);
    }
  }

  /// A reduction of each micro-batch adds to a sum, or to a copy of it that
  /// goes back.
  void reduce(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    const plan::Access &shard = step.accesses(1);
    if (runsPerStep(plan, plan.programs(p)) <= 1 ||
        !step.reduce_scatter().accumulate() ||
        units.count(shard.slice()) != 0) {
      return;
    }
    std::optional<SumPart> part = origins.of(shard);
    if (!part) {
      return lost(p, s);
    }
    part->added = true;
    origins.set(shard, part);
    away[{part->sum, part->offset}] = s;
  }

  void lost(int p, int s) {
    problems.add(
        "lost gradients: ", describeStep(plan, p, s),
        " runs for every micro-batch and its sum in ",
        describeSlice(plan, plan.programs(p).steps(s).accesses(1).slice()),
        " is not carried");
  }

  void write(int p, int s, int index, bool zeros) {
    const plan::Step &step = plan.programs(p).steps(s);
    const plan::Access &access = step.accesses(index);
    bool micro = plan.programs(p).kind() == plan::MICRO;
    if (units.count(access.slice()) == 0) {
      zeroed.set(access, zeros); // a buffer that zeros may be copied from
      return;
    }
    if (step.has_reduce_scatter()) {
      return;
    }
    if (micro && !zeros && addsTo(step, index)) {
      away.erase({access.slice(), access.offset()});
      return;
    }
    if (micro && own.count(access.slice()) != 0 && !zeros) {
      problems.add("overwritten gradients: ", describeStep(plan, p, s),
                   " writes ", describe(access.slice()),
                   " without reading it; expected a step that adds to what "
                   "earlier micro-batches left");
      return;
    }
    if (!zeros || micro) {
      problems.add("wrong gradients: ", describeStep(plan, p, s), " writes ",
                   describe(access.slice()), "; expected only reductions to",
                   micro ? "" : ", and one step that zeroes it");
      return;
    }
    if (zeroed.touches(access)) {
      problems.add("doubled zeroing: ", describeStep(plan, p, s), " zeroes ",
                   describe(access.slice()),
                   " a second time; expected it once a step");
    }
    zeroed.set(access, true);
  }

  void checkZeroed(int p) {
    for (const auto &[slice, unit] : units) {
      if (auto gap =
              zeroed.firstOther(slice, plan.slices(int(slice)).bytes())) {
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
  std::set<uint32_t> own;        // of them, those of one rank alone
  ZeroBytes zeroed;
  SumOrigins origins;
  /// By sum and offset: the reduction to a copy that has not gone back yet.
  std::map<std::pair<uint32_t, uint64_t>, int> away;
};

} // namespace

void checkAccumulators(const Subject &subject, Findings &findings) {
  Accumulators(subject, findings.problems).run();
}

} // namespace zerograph::verify
