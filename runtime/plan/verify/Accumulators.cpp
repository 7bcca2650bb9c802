//===- Accumulators.cpp - sums of gradients begin at zero every step ------===//
//
// Gradients that are carried from one micro-batch to the next are written by
// reductions alone (by any step where there is one rank, which adds them up
// itself, or where they are whole and the rank's own, to be reduced last);
// then, when all micro-batches are done, they are zeroed exactly once, after
// everything that reads the sum. Zeros are what a step writes that reads
// nothing, or copies from such bytes. Steps are taken in issue order; the race
// check sees to it that order holds.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/ByteMap.h"
#include "runtime/plan/Describe.h"
#include "runtime/plan/steps/Step.h"
#include "runtime/plan/verify/Checks.h"

#include <map>
#include <set>

namespace zerograph::verify {
namespace {

class Accumulators {
public:
  Accumulators(const Subject &subject, Problems &problems)
      : plan(subject.plan), mesh(subject.mesh), problems(problems) {
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
          if (mesh.groupSize(state.axes()) == 1) {
            own.insert(state.slice());
          }
        }
      }
    }
  }

  void run() {
    for (int p = 0; !units.empty() && p < plan.programs_size(); ++p) {
      zeroed.clear();
      for (int s = 0; s < plan.programs(p).steps_size(); ++s) {
        visit(p, s);
      }
      plan::ProgramKind kind = plan.programs(p).kind();
      if (kind != plan::MICRO && kind != plan::EVALUATE) {
        checkZeroed(p);
      }
    }
  }

private:
  template <typename Visit>
  void visitRanks(const plan::Access &access, Visit visit) const {
    mesh.visitRanks(access.offset(), access.bytes(), mesh.strides(access),
                    visit);
  }

  std::string describe(uint32_t slice) const {
    int unit = units.at(slice);
    return absl::StrCat(describeSlice(plan, slice),
                        ", the sum of gradients of unit ", unit, " (",
                        plan.units(unit).name(), ")");
  }

  bool isZero(const plan::Access &access) const {
    auto it = zeroed.find(access.slice());
    bool zero = it != zeroed.end();
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      zero = zero && !it->second.firstGap(begin, end);
    });
    return zero;
  }

  /// True if all that the step writes is zero.
  bool writesZeros(const plan::Step &step) const {
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (int from = kindOf(step).copied(i); from >= 0) {
        return isZero(step.accesses(from));
      }
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).reads) {
        return false;
      }
    }
    return true;
  }

  void visit(int p, int s) {
    const plan::Step &step = plan.programs(p).steps(s);
    bool zeros = writesZeros(step);
    for (int i = 0; i < step.accesses_size(); ++i) {
      const plan::Access &access = step.accesses(i);
      auto it = zeroed.find(access.slice());
      if (!effectOf(step, i).reads || zeros || it == zeroed.end() ||
          units.count(access.slice()) == 0) {
        continue;
      }
      visitRanks(access, [&](uint64_t begin, uint64_t end) {
        if (it->second.touches(begin, end)) {
          problems.add("lost gradients: ", describeStep(plan, p, s), " reads ",
                       describe(access.slice()),
                       ", which has been zeroed before; expected to read "
                       "first");
        }
      });
    }
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).writes) {
        write(p, s, i, zeros);
      }
    }
  }

  /// True if the step reads the slice that its access `index` writes.
  static bool readsBefore(const plan::Step &step, int index) {
    for (int i = 0; i < step.accesses_size(); ++i) {
      if (effectOf(step, i).reads &&
          step.accesses(i).slice() == step.accesses(index).slice()) {
        return true;
      }
    }
    return false;
  }

  void write(int p, int s, int index, bool zeros) {
    const plan::Step &step = plan.programs(p).steps(s);
    const plan::Access &access = step.accesses(index);
    bool micro = plan.programs(p).kind() == plan::MICRO;
    if (units.count(access.slice()) == 0) {
      // A buffer that zeros are copied from.
      visitRanks(access, [&](uint64_t begin, uint64_t end) {
        zeros ? zeroed[access.slice()].assign(begin, end, true)
              : zeroed[access.slice()].erase(begin, end);
      });
      return;
    }
    if (step.has_reduce_scatter()) {
      return;
    }
    if (micro && own.count(access.slice()) != 0 && !zeros) {
      if (!readsBefore(step, index)) {
        problems.add("overwritten gradients: ", describeStep(plan, p, s),
                     " writes ", describe(access.slice()),
                     " without reading it; expected a step that adds to what "
                     "earlier micro-batches left");
      }
      return;
    }
    if (!zeros || micro) {
      problems.add("wrong gradients: ", describeStep(plan, p, s), " writes ",
                   describe(access.slice()), "; expected only reductions to",
                   micro ? "" : ", and one step that zeroes it");
      return;
    }
    visitRanks(access, [&](uint64_t begin, uint64_t end) {
      if (zeroed[access.slice()].touches(begin, end)) {
        problems.add("doubled zeroing: ", describeStep(plan, p, s), " zeroes ",
                     describe(access.slice()),
                     " a second time; expected it once a step");
      }
      zeroed[access.slice()].assign(begin, end, true);
    });
  }

  void checkZeroed(int p) {
    for (const auto &[slice, unit] : units) {
      if (auto gap =
              zeroed[slice].firstGap(0, plan.slices(int(slice)).bytes())) {
        problems.add("gradients not zeroed: no step of \"",
                     plan.programs(p).name(), "\" zeroes bytes [", gap->first,
                     ", ", gap->second, ") of ", describe(slice),
                     ": the next step would add to them");
      }
    }
  }

  const plan::Plan &plan;
  const Mesh &mesh;
  Problems &problems;
  std::map<uint32_t, int> units; // by slice that is added to
  std::set<uint32_t> own;        // of them, those of one rank alone
  std::map<uint32_t, ByteMap<bool>> zeroed;
};

} // namespace

void checkAccumulators(const Subject &subject, Findings &findings) {
  Accumulators(subject, findings.problems).run();
}

} // namespace zerograph::verify
