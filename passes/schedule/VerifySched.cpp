//===- VerifySched.cpp - no races, no clashes -----------------------------===//

#include "passes/analysis/HappensBefore.h"
#include "passes/schedule/Definitions.h"
#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <limits>

namespace mlir::zg::sched {

#define GEN_PASS_DEF_VERIFYSCHED
#include "passes/schedule/Passes.h.inc"

namespace {

/// One access in a program; bytes of the arenas, or of the slice alone where
/// slices have no offsets.
struct Touch {
  unsigned step;
  SliceOp slice;
  AccessAttr access;
  int64_t begin, end;
};

/// Touches that others, which begin no earlier, may still overlap.
class OpenTouches {
public:
  /// Those that end behind `begin`, which must ascend.
  ArrayRef<const Touch *> at(int64_t begin) {
    if (firstEnd <= begin) {
      llvm::erase_if(open,
                     [&](const Touch *touch) { return touch->end <= begin; });
      firstEnd = kNoEnd;
      for (const Touch *touch : open) {
        firstEnd = std::min(firstEnd, touch->end);
      }
    }
    return open;
  }
  void add(const Touch &touch) {
    open.push_back(&touch);
    firstEnd = std::min(firstEnd, touch.end);
  }

private:
  static constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();
  SmallVector<const Touch *> open;
  int64_t firstEnd = kNoEnd;
};

/// Checks one program; collects nothing, reports the first problem.
class ProgramVerifier {
public:
  ProgramVerifier(ProgramOp program, bool packed)
      : program(program), world(worldOf(program)), packed(packed),
        order(program) {}

  LogicalResult verifySequence() {
    uint64_t next = 0;
    for (Step step : order.steps()) {
      auto collective = dyn_cast<Collective>(step.getOperation());
      if (collective && collective.getSequence() != next++) {
        return step->emitOpError("has sequence ")
               << collective.getSequence() << ", but is collective " << next - 1
               << " of @" << program.getName();
      }
    }
    return success();
  }

  LogicalResult verifyDefinitions() {
    return sched::verifyDefinitions(order.steps(), world);
  }

  LogicalResult verifyRaces() {
    collectTouches();
    // Sweep by begin. Reads don't interfere with each other, and thousands may
    // be of the same bytes: they are compared with writes alone.
    OpenTouches all, writes;
    for (const Touch &touch : touches) {
      bool isWrite = touch.access.writes();
      for (const Touch *other : (isWrite ? all : writes).at(touch.begin)) {
        if (failed(verifyPair(*other, touch))) {
          return failure();
        }
      }
      all.add(touch);
      if (isWrite) {
        writes.add(touch);
      }
    }
    return verifyReuse();
  }

private:
  void collectTouches() {
    // Where there are no offsets, slices lie one behind the other.
    DenseMap<Value, int64_t> bases;
    int64_t next = 0;
    for (unsigned index = 0; index < order.steps().size(); ++index) {
      Step step = order.steps()[index];
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        AccessAttr access = step.access(i);
        auto [it, isNew] = bases.try_emplace(slice, next);
        if (packed) {
          it->second = addressOf(slice);
        } else if (isNew) {
          next += slice.getBytes();
        }
        touches.push_back({index, slice, access,
                           it->second + access.getOffset(),
                           it->second + access.end(world)});
      }
    }
    llvm::stable_sort(touches, [](const Touch &a, const Touch &b) {
      return a.begin < b.begin;
    });
  }

  /// Verifies two touches of which one writes.
  LogicalResult verifyPair(Touch a, Touch b) {
    if (a.step == b.step || order.before(a.step, b.step) ||
        order.before(b.step, a.step)) {
      return success();
    }
    auto [first, second] = a.step < b.step ? std::pair(a, b) : std::pair(b, a);
    Step earlier = order.steps()[first.step],
         later = order.steps()[second.step];
    auto diagnostic = later->emitOpError("'")
                      << later.getLabel() << "' may run beside '"
                      << earlier.getLabel() << "' and "
                      << (second.access.writes() ? "writes" : "reads")
                      << " bytes of '" << second.slice.getLabel() << "' that ";
    diagnostic << (first.access.writes() ? "the other writes"
                                         : "the other reads");
    if (first.slice != second.slice) {
      diagnostic << " as '" << first.slice.getLabel() << "'";
    }
    diagnostic.attachNote(earlier->getLoc()) << "the other step is here";
    return diagnostic;
  }

  /// Slices that share bytes: all uses of one before all of the other.
  LogicalResult verifyReuse() {
    if (!packed) {
      return success();
    }
    llvm::MapVector<Value, SmallVector<unsigned>> uses;
    for (Touch &touch : touches) {
      uses[touch.slice].push_back(touch.step);
    }
    SmallVector<SliceOp> open;
    SmallVector<SliceOp> slices;
    for (auto &[slice, steps] : uses) {
      slices.push_back(slice.getDefiningOp<SliceOp>());
    }
    llvm::stable_sort(slices, [](SliceOp a, SliceOp b) {
      return addressOf(a) < addressOf(b);
    });
    for (SliceOp slice : slices) {
      llvm::erase_if(open, [&](SliceOp other) {
        return addressOf(other) + static_cast<int64_t>(other.getBytes()) <=
               addressOf(slice);
      });
      for (SliceOp other : open) {
        if (!allBefore(uses[slice], uses[other]) &&
            !allBefore(uses[other], uses[slice])) {
          return (slice.emitOpError("'")
                  << slice.getLabel() << "' shares bytes with '"
                  << other.getLabel() << "' while both are in use in @"
                  << program.getName())
                     .attachNote(other.getLoc())
                 << "the other slice is here";
        }
      }
      open.push_back(slice);
    }
    return success();
  }

  bool allBefore(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
    return llvm::all_of(a, [&](unsigned x) {
      return llvm::all_of(b, [&](unsigned y) { return order.before(x, y); });
    });
  }

  ProgramOp program;
  int64_t world;
  bool packed;
  HappensBefore order;
  std::vector<Touch> touches;
};

//===----------------------------------------------------------------------===//
// --sched-verify
//===----------------------------------------------------------------------===//

struct VerifySched : impl::VerifySchedBase<VerifySched> {
  using VerifySchedBase::VerifySchedBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<SliceOp> slices(module.getOps<SliceOp>());
    bool packed = llvm::any_of(
        slices, [](SliceOp slice) { return slice.getOffset().has_value(); });
    if (packed && failed(verifyOffsets(slices))) {
      return signalPassFailure();
    }
    for (auto program : module.getOps<ProgramOp>()) {
      ProgramVerifier verifier(program, packed);
      if (failed(verifier.verifySequence()) ||
          failed(verifier.verifyDefinitions()) ||
          (ordered && failed(verifier.verifyRaces()))) {
        return signalPassFailure();
      }
    }
  }

  LogicalResult verifyOffsets(ArrayRef<SliceOp> slices) {
    for (SliceOp slice : slices) {
      if (!slice.getOffset()) {
        return slice.emitOpError("'")
               << slice.getLabel() << "' has no offset, but others have";
      }
      ArenaAttr arena = arenaOf(getOperation(), slice.getSpace());
      if (!arena) {
        return slice.emitOpError("'")
               << slice.getLabel() << "' is in "
               << stringifySpace(slice.getSpace())
               << ", which has no arena in '" << kArenasAttr << "'";
      }
      int64_t offset = *slice.getOffset();
      if (offset % arena.getAlignment() != 0) {
        return slice.emitOpError("'")
               << slice.getLabel() << "' lies at " << offset
               << ", not at a multiple of " << arena.getAlignment();
      }
      int64_t end = offset + slice.getBytes();
      if (end > arena.getBytes()) {
        return slice.emitOpError("'")
               << slice.getLabel() << "' ends at " << end
               << ", beyond the arena's " << arena.getBytes() << " bytes";
      }
    }
    SmallVector<SliceOp> sorted(slices);
    // Sorted, a carried slice may overlap its neighbours only.
    llvm::stable_sort(sorted, [](SliceOp a, SliceOp b) {
      return addressOf(a) < addressOf(b);
    });
    int64_t end = 0, carriedEnd = 0;
    SliceOp last, lastCarried;
    for (SliceOp slice : sorted) {
      int64_t begin = addressOf(slice);
      SliceOp other = slice.getCarried() && end > begin ? last
                      : carriedEnd > begin              ? lastCarried
                                                        : SliceOp();
      if (other) {
        return slice.emitOpError("'")
               << slice.getLabel() << "' overlaps '" << other.getLabel()
               << "', and a carried slice shares no bytes";
      }
      int64_t own = begin + slice.getBytes();
      if (own > end) {
        end = own;
        last = slice;
      }
      if (slice.getCarried() && own > carriedEnd) {
        carriedEnd = own;
        lastCarried = slice;
      }
    }
    return success();
  }
};

} // namespace
} // namespace mlir::zg::sched
