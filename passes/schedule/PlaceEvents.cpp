//===- PlaceEvents.cpp - awaits for what steps depend on ------------------===//

#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_PLACEEVENTS
#include "passes/schedule/Passes.h.inc"

namespace {

/// The steps so far that touch a slice.
struct Uses {
  /// All, and those that write. A read is compared with writes alone, for
  /// thousands of steps may read the same slice.
  SmallVector<std::pair<Step, AccessAttr>> accesses, writes;
  Step lastOn[kNumStreams] = {};
};

using Predecessors = DenseMap<Value, SmallVector<SliceOp>>;

/// A slice in one program: the first step that touches it, and the last.
struct Life {
  SliceOp slice;
  unsigned first, last;
};

/// The slices that a program uses and others may share bytes with, in order of
/// their first byte.
SmallVector<Life> livesOf(ProgramOp program) {
  llvm::MapVector<Value, Life> lives;
  for (auto [index, step] : llvm::enumerate(program.getOps<Step>())) {
    for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
      SliceOp slice = step.slice(i);
      if (slice.getOffset() && !slice.getCarried()) {
        unsigned at = index;
        lives.try_emplace(slice, Life{slice, at, at}).first->second.last = at;
      }
    }
  }
  SmallVector<Life> sorted;
  for (auto &[slice, life] : lives) {
    sorted.push_back(life);
  }
  llvm::stable_sort(sorted, [](Life a, Life b) {
    return addressOf(a.slice) < addressOf(b.slice);
  });
  return sorted;
}

/// Finds, of each packed slice, those whose bytes it takes over.
Predecessors findPredecessors(ProgramOp program) {
  Predecessors predecessors;
  SmallVector<Life> open;
  for (const Life &life : livesOf(program)) {
    SliceOp slice = life.slice;
    llvm::erase_if(open, [&](Life &other) {
      return addressOf(other.slice) +
                 static_cast<int64_t>(other.slice.getBytes()) <=
             addressOf(slice);
    });
    for (Life &other : open) {
      if (other.last < life.first) {
        predecessors[slice].push_back(other.slice);
      } else {
        predecessors[other.slice].push_back(slice);
      }
    }
    open.push_back(life);
  }
  return predecessors;
}

//===----------------------------------------------------------------------===//
// --sched-place-events
//===----------------------------------------------------------------------===//

struct PlaceEvents : impl::PlaceEventsBase<PlaceEvents> {
  void runOnOperation() override {
    int64_t world = worldOf(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      Predecessors predecessors = findPredecessors(program);
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
          for (auto [earlier, other] :
               access.writes() ? uses.accesses : uses.writes) {
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
              continue; // not used yet: the plan is refused
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
          if (step.access(i).writes()) {
            uses.writes.push_back(uses.accesses.back());
          }
          uses.lastOn[stream] = step;
        }
        step.getAwaitsMutable().assign(awaits.getArrayRef());
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
