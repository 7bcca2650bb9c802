//===- PlaceEvents.cpp - awaits for what steps depend on ------------------===//

#include "passes/schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_PLACEEVENTS
#include "passes/schedule/Passes.h.inc"

namespace {

/// The steps so far that touch a slice.
struct Uses {
  SmallVector<std::pair<Step, AccessAttr>> accesses;
  Step lastOn[kNumStreams] = {};
};

using Predecessors = DenseMap<Value, SmallVector<SliceOp>>;

/// Of each packed slice, those whose bytes it takes over. Sweeps over the
/// offsets; slices that are not packed or live across programs share nothing.
Predecessors findPredecessors(ModuleOp module) {
  SmallVector<SliceOp> slices;
  for (auto slice : module.getOps<SliceOp>()) {
    if (slice.getOffset() && slice.getLifetime() && slice.getBytes() > 0) {
      slices.push_back(slice);
    }
  }
  llvm::stable_sort(slices, [](SliceOp a, SliceOp b) {
    return *a.getOffset() < *b.getOffset();
  });
  Predecessors predecessors;
  SmallVector<SliceOp> open;
  for (SliceOp slice : slices) {
    llvm::erase_if(open, [&](SliceOp other) {
      return *other.getOffset() + other.getBytes() <= *slice.getOffset();
    });
    for (SliceOp other : open) {
      if (other.getLifetime()->back() < slice.getLifetime()->front()) {
        predecessors[slice].push_back(other);
      } else {
        predecessors[other].push_back(slice);
      }
    }
    open.push_back(slice);
  }
  return predecessors;
}

//===----------------------------------------------------------------------===//
// --sched-place-events
//===----------------------------------------------------------------------===//

struct PlaceEvents : impl::PlaceEventsBase<PlaceEvents> {
  void runOnOperation() override {
    int64_t world = worldOf(getOperation());
    Predecessors predecessors = findPredecessors(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      DenseMap<Value, Uses> history;
      for (auto step : program.getOps<Step>()) {
        llvm::SetVector<Value> awaits;
        unsigned stream = static_cast<unsigned>(step.getStream());
        auto await = [&](Step earlier) {
          if (earlier.getStream() != step.getStream()) {
            placed += awaits.insert(earlier->getResult(0));
          }
        };
        for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
          AccessAttr access = step.access(i);
          Uses &uses = history[step.getSlices()[i]];
          for (auto [earlier, other] : uses.accesses) {
            if (interfere(access, other) && overlap(access, other, world)) {
              await(earlier);
            }
          }
          if (uses.lastOn[stream]) {
            continue; // an earlier step of the stream took the bytes over
          }
          for (SliceOp before : predecessors.lookup(step.getSlices()[i])) {
            auto earlier = history.find(before);
            if (earlier == history.end()) {
              continue; // of another program
            }
            for (Step last : earlier->second.lastOn) {
              if (last) {
                await(last);
              }
            }
          }
        }
        for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
          Uses &uses = history[step.getSlices()[i]];
          uses.accesses.push_back({step, step.access(i)});
          uses.lastOn[stream] = step;
        }
        step.getAwaitsMutable().assign(awaits.getArrayRef());
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
