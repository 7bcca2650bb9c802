//===- Accumulators.cpp - sums of gradients begin at zero every step ------===//
//
// Gradients that are carried from one micro-batch to the next are written by
// reductions alone (by any step where there is one rank, which adds them up
// itself, or where they are whole and the rank's own, to be reduced last), or
// come back from a buffer in which they were added to. Each micro-batch adds to
// all of them; Reductions.cpp counts the reductions of each segment. Then, when
// all micro-batches are done, they are zeroed exactly once, after everything
// that reads the sum. Steps are taken in issue order; the race check sees to it
// that order holds.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"
#include "runtime/plan/verify/CopiedSums.h"
#include "runtime/plan/verify/ZeroBytes.h"

#include <map>
#include <set>

namespace zerograph::verify {
namespace {

class Accumulators {
public:
  Accumulators(const VerifierContext &context, Problems &problems)
      : plan(context.plan), problems(problems), parts(context.parts),
        zeroed(context.mesh) {
    // Gradients that are dumped are carried too. A fused step writes them anew,
    // unless a reduction reads what it writes. (Where there is one rank, the
    // same is a kernel, which may read its own result for other reasons.)
    bool split = false; // into micro-batches, which add to all of them
    for (const plan::Program &program : plan.programs()) {
      split |= program.kind() == plan::MICRO;
    }
    std::set<uint32_t> added;
    forEachStep(plan, [&](int, int, const plan::Step &step) {
      std::set<uint32_t> read;
      for (int i = 0; i < step.accesses_size(); ++i) {
        uint32_t slice = step.accesses(i).slice();
        if (effectOf(step, i).reads) {
          read.insert(slice);
        }
        if (effectOf(step, i).writes && step.has_reduce_scatter() &&
            read.count(slice) != 0) {
          added.insert(slice); // reads come before writes
        }
      }
    });
    for (int unit = 0; unit < plan.units_size(); ++unit) {
      for (const plan::State &state : plan.units(unit).states()) {
        if (state.role() == "grad" &&
            (split || added.count(state.slice()) != 0)) {
          units.emplace(state.slice(), unit);
          if (context.mesh.groupSize(state.axes()) == 1) {
            own.insert(state.slice());
          }
        }
      }
    }
  }

  void run() {
    for (int p = 0; p < plan.programs_size(); ++p) {
      zeroed.clear();
      plan::ProgramKind kind = plan.programs(p).kind();
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        visit(p, s);
      }
      if (kind == plan::MICRO) {
        checkAdded(p);
      }
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

  /// Checks that what a micro-batch adds to, it leaves in the sums.
  void checkAdded(int p) {
    const plan::Program &program = plan.programs(p);
    CopiedSums copies(units, own);
    std::set<uint32_t> reached;
    std::map<int, ByteMap<bool>> added; // elements of units, to own sums
    for (int s = 0; s < program.steps_size(); ++s) {
      const plan::Step &step = program.steps(s);
      for (int i = 0; i < step.accesses_size(); ++i) {
        const plan::Access &access = step.accesses(i);
        if (effectOf(step, i).writes && units.count(access.slice()) != 0) {
          reached.insert(access.slice());
          if (auto part = parts.of(access); part &&
                                            own.count(access.slice()) != 0 &&
                                            access.strides().empty()) {
            added[part->unit].assign(part->begin, part->begin + part->elements,
                                     true);
          }
          writeInMicro(p, s, i, copies.goesBack(step, i));
        }
      }
      if (!copies.follow(step, s)) {
        problems.add("lost gradients: ", describeStep(plan, p, s),
                     " runs for every micro-batch and its sum in ",
                     describeSlice(plan, step.accesses(1).slice()),
                     " is not carried");
      }
    }
    copies.visitAway([&](uint32_t sum, int step) {
      problems.add("lost gradients: ", describeStep(plan, p, step),
                   " adds to a copy of ", describe(sum),
                   ", and the copy does not go back");
    });
    for (const auto &[sum, unit] : units) {
      if (reached.count(sum) == 0) {
        problems.add("lost gradients: no step of \"", program.name(),
                     "\" adds to ", describe(sum));
      }
    }
    for (const auto &[unit, elements] : added) {
      checkAddedToAll(program, unit, elements);
    }
  }

  /// A rank adds to its own sums wherever parameters lie; what lies between
  /// them is nobody's.
  void checkAddedToAll(const plan::Program &program, int unit,
                       const ByteMap<bool> &added) {
    for (const plan::Parameter &parameter : plan.units(unit).parameters()) {
      uint64_t begin = parameter.offset();
      if (auto gap = added.firstGap(begin, begin + parameter.elements())) {
        problems.add("lost gradients: no step of \"", program.name(),
                     "\" adds to the sum of gradients [", gap->first, ", ",
                     gap->second, ") of unit ", unit, " (",
                     plan.units(unit).name(), "), where ", parameter.name(),
                     " lies");
      }
    }
  }

  void writeInMicro(int p, int s, int index, bool adds) {
    const plan::Step &step = plan.programs(p).steps(s);
    uint32_t sum = step.accesses(index).slice();
    if (step.has_reduce_scatter() || adds) {
      return;
    }
    if (own.count(sum) != 0 && !step.has_fill()) {
      problems.add("overwritten gradients: ", describeStep(plan, p, s),
                   " writes ", describe(sum),
                   " without reading it; expected a step that adds to what "
                   "earlier micro-batches left");
    } else {
      problems.add("wrong gradients: ", describeStep(plan, p, s), " writes ",
                   describe(sum), "; expected only reductions to");
    }
  }

  void write(int p, int s, int index, bool zeros) {
    const plan::Step &step = plan.programs(p).steps(s);
    const plan::Access &access = step.accesses(index);
    if (units.count(access.slice()) == 0) {
      zeroed.set(access, zeros); // a buffer that zeros may be copied from
      return;
    }
    if (step.has_reduce_scatter() || plan.programs(p).kind() == plan::MICRO) {
      return;
    }
    if (!zeros) {
      problems.add("wrong gradients: ", describeStep(plan, p, s), " writes ",
                   describe(access.slice()),
                   "; expected only reductions to, and one step that zeroes "
                   "it");
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
  const UnitParts &parts;
  ZeroBytes zeroed;
};

} // namespace

void checkAccumulators(const VerifierContext &context, Findings &findings) {
  Accumulators(context, findings.problems).run();
}

} // namespace zerograph::verify
