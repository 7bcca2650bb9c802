//===- LimitMemory.cpp - refuses what needs more than there is ------------===//

#include "options/Sizes.h"
#include "passes/memory/Passes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using zerograph::options::sizeText;

namespace mlir::zg::sched {

#define GEN_PASS_DEF_LIMITMEMORY
#include "passes/memory/Passes.h.inc"

namespace {

/// The step where most of what is not carried is live, and how much that is.
struct Peak {
  Step step;
  int64_t bytes = 0;
  std::map<SliceClass, int64_t> classes;
};

SmallVector<std::pair<SliceClass, int64_t>> live(const Peak &peak) {
  SmallVector<std::pair<SliceClass, int64_t>> classes;
  for (auto [sliceClass, bytes] : peak.classes) {
    if (bytes > 0) {
      classes.push_back({sliceClass, bytes});
    }
  }
  return classes;
}

/// The slices in some spaces that live within a program, with the first step
/// and the last that touch them.
using Lives = llvm::MapVector<SliceOp, std::pair<unsigned, unsigned>>;

Lives livesOf(MutableArrayRef<Step> steps, ArrayRef<Space> spaces) {
  Lives lives;
  for (auto [index, step] : llvm::enumerate(steps)) {
    for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
      SliceOp slice = step.slice(i);
      if (!slice.getCarried() && llvm::is_contained(spaces, slice.getSpace())) {
        lives.try_emplace(slice, index, index).first->second.second = index;
      }
    }
  }
  return lives;
}

/// The peak of a program, or the one before where that is higher.
void raise(Peak &peak, ProgramOp program, ArrayRef<Space> spaces) {
  SmallVector<Step> steps(program.getOps<Step>());
  std::vector<SmallVector<SliceOp>> begin(steps.size()), end(steps.size());
  for (auto &[slice, life] : livesOf(steps, spaces)) {
    begin[life.first].push_back(slice);
    end[life.second].push_back(slice);
  }
  Peak now;
  auto add = [&](SliceOp slice, int64_t bytes) {
    now.bytes += bytes;
    now.classes[slice.getSliceClass()] += bytes;
  };
  for (unsigned index = 0; index < steps.size(); ++index) {
    for (SliceOp slice : begin[index]) {
      add(slice, slice.getBytes());
    }
    if (now.bytes > peak.bytes) {
      now.step = steps[index];
      peak = now;
    }
    for (SliceOp slice : end[index]) {
      add(slice, -int64_t(slice.getBytes()));
    }
  }
}

//===----------------------------------------------------------------------===//
// --sched-limit-memory
//===----------------------------------------------------------------------===//

struct LimitMemory : impl::LimitMemoryBase<LimitMemory> {
  using LimitMemoryBase::LimitMemoryBase;

  void runOnOperation() override {
    LogicalResult fits[] = {check("device", device, {Space::device}),
                            check("host", host, {Space::pinned, Space::host})};
    if (llvm::any_of(fits, failed)) {
      signalPassFailure();
    }
  }

private:
  LogicalResult check(StringRef where, int64_t limit, ArrayRef<Space> spaces) {
    if (!getOperation()->hasAttr(kArenasAttr)) {
      return emitError(UnknownLoc::get(&getContext()), "run sched-pack before");
    }
    int64_t needed = arenaBytes(getOperation(), spaces), carried = 0;
    if (limit <= 0 || needed <= limit) {
      return success();
    }
    for (auto slice : getOperation().getOps<SliceOp>()) {
      if (slice.getCarried() && llvm::is_contained(spaces, slice.getSpace())) {
        carried += llvm::alignTo(slice.getBytes(), kSliceAlignment);
      }
    }
    // Names no op, which would print all of it, and no place, which is a file's
    // graph.
    auto diagnostic = emitError(UnknownLoc::get(&getContext()), "a rank needs ")
                      << needed << " bytes of " << where << " memory ("
                      << sizeText(uint64_t(needed)) << "), but the limit is "
                      << limit << " (" << sizeText(uint64_t(limit)) << "); "
                      << sizeText(uint64_t(carried))
                      << " of them live across programs";
    Peak peak;
    for (auto program : getOperation().getOps<ProgramOp>()) {
      raise(peak, program, spaces);
    }
    if (peak.step) {
      auto &note = diagnostic.attachNote(peak.step->getLoc());
      note << "most is live at '" << peak.step.getLabel() << "': ";
      llvm::interleaveComma(live(peak), note, [&](const auto &entry) {
        note << sizeText(uint64_t(entry.second)) << " of "
             << stringifySliceClass(entry.first);
      });
    }
    return failure();
  }
};

} // namespace

int64_t arenaBytes(ModuleOp module, ArrayRef<Space> spaces) {
  int64_t bytes = 0;
  auto arenas = module->getAttrOfType<ArrayAttr>(kArenasAttr);
  for (auto arena : arenas.getAsRange<ArenaAttr>()) {
    bytes +=
        llvm::is_contained(spaces, arena.getSpace()) ? arena.getBytes() : 0;
  }
  return bytes;
}

} // namespace mlir::zg::sched
