//===- PlaceEvents.cpp - awaits for what steps depend on ------------------===//

#include "passes/schedule/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_PLACEEVENTS
#include "passes/schedule/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --sched-place-events
//===----------------------------------------------------------------------===//

struct PlaceEvents : impl::PlaceEventsBase<PlaceEvents> {
  void runOnOperation() override {
    int64_t world = worldOf(getOperation());
    for (auto program : getOperation().getOps<ProgramOp>()) {
      // Every access of a slice so far.
      DenseMap<Value, SmallVector<std::pair<Step, AccessAttr>>> history;
      for (auto step : program.getOps<Step>()) {
        llvm::SetVector<Value> awaits(step.getAwaits().begin(),
                                      step.getAwaits().end());
        for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
          AccessAttr access = step.access(i);
          for (auto [earlier, other] : history[step.getSlices()[i]]) {
            if (earlier.getStream() != step.getStream() &&
                interfere(access, other) && overlap(access, other, world)) {
              placed += awaits.insert(earlier->getResult(0));
            }
          }
        }
        for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
          history[step.getSlices()[i]].push_back({step, step.access(i)});
        }
        step.getAwaitsMutable().assign(awaits.getArrayRef());
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
