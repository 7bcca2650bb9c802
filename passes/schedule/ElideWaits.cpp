//===- ElideWaits.cpp - drops awaits that follow from others --------------===//

#include "passes/analysis/HappensBefore.h"
#include "passes/schedule/Passes.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_ELIDEWAITS
#include "passes/schedule/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --sched-elide-waits
//===----------------------------------------------------------------------===//

struct ElideWaits : impl::ElideWaitsBase<ElideWaits> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<ProgramOp>()) {
      VectorClocks clocks(kNumStreams);
      DenseMap<Operation *, unsigned> indices;
      for (auto step : program.getOps<Step>()) {
        unsigned index = clocks.add(static_cast<unsigned>(step.getStream()),
                                    isa<Collective>(step.getOperation()));
        indices[step] = index;
        SmallVector<Value> awaits(step.getAwaits());
        // The latest first: only it can make the others redundant.
        llvm::sort(awaits, [&](Value a, Value b) {
          return indices[a.getDefiningOp()] > indices[b.getDefiningOp()];
        });
        SmallVector<Value> needed;
        for (Value await : awaits) {
          unsigned earlier = indices[await.getDefiningOp()];
          if (clocks.before(earlier, index)) {
            ++elided;
          } else {
            clocks.await(earlier);
            needed.push_back(await);
            ++kept;
          }
        }
        std::reverse(needed.begin(), needed.end());
        step.getAwaitsMutable().assign(needed);
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
