//===- PlaceEvents.cpp - awaits for what steps depend on ------------------===//

#include "passes/analysis/VectorClocks.h"
#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_PLACEEVENTS
#include "passes/schedule/Passes.h.inc"

namespace {

/// A step that touches a slice, and which step of the program it is.
struct Use {
  Step step;
  AccessAttr access;
  unsigned index;
};

/// The steps so far of one stream that touch a slice.
struct Uses {
  /// All, and those that write. A read is compared with writes alone, for
  /// thousands of steps may read the same slice.
  std::vector<Use> accesses, writes;
};

/// Holds those of each stream.
using History = std::array<Uses, kNumStreams>;

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
    for (auto program : getOperation().getOps<ProgramOp>()) {
      run(program);
    }
  }

private:
  void run(ProgramOp program) {
    int64_t world = worldOf(getOperation());
    Predecessors predecessors = findPredecessors(program);
    DenseMap<Value, History> history;
    VectorClocks clocks(kNumStreams);
    for (auto step : program.getOps<Step>()) {
      auto own = static_cast<unsigned>(step.getStream());
      unsigned index = clocks.add(own, isa<Collective>(step.getOperation()));
      SmallVector<Value> awaits;
      auto await = [&](const Use &earlier) {
        clocks.await(earlier.index);
        awaits.push_back(earlier.step->getResult(0));
        ++placed;
      };
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        AccessAttr access = step.access(i);
        const History &uses = history[slice];
        forOthers(own, uses, [&](const Uses &other) {
          // Stops at the first that is done when the step begins anyway: so
          // are those before it on its stream.
          for (const Use &before :
               llvm::reverse(access.writes() ? other.accesses : other.writes)) {
            if (clocks.before(before.index, index)) {
              break;
            }
            if (interfere(access, before.access) &&
                overlap(access, before.access, world)) {
              await(before);
            }
          }
        });
        if (!uses[own].accesses.empty()) {
          continue; // an earlier step of the stream took the bytes over
        }
        for (SliceOp before : predecessors[slice]) {
          auto earlier = history.find(before);
          if (earlier == history.end()) {
            continue; // not used yet: the plan is refused
          }
          forOthers(own, earlier->second, [&](const Uses &other) {
            if (!other.accesses.empty() &&
                !clocks.before(other.accesses.back().index, index)) {
              await(other.accesses.back());
            }
          });
        }
      }
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        Uses &uses = history[step.slice(i)][own];
        uses.accesses.push_back({step, step.access(i), index});
        if (step.access(i).writes()) {
          uses.writes.push_back(uses.accesses.back());
        }
      }
      step.getAwaitsMutable().assign(awaits);
    }
  }

  /// Calls visit(uses) for each stream but `own`, in which steps have an order.
  static void forOthers(unsigned own, const History &history,
                        llvm::function_ref<void(const Uses &)> visit) {
    for (unsigned stream = 0; stream < kNumStreams; ++stream) {
      if (stream != own) {
        visit(history[stream]);
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
