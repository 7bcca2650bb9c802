//===- ReduceInPlace.cpp - sums of gradients in the place of gradients ----===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_REDUCEINPLACE
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-reduce-in-place
//===----------------------------------------------------------------------===//

struct ReduceInPlace : impl::ReduceInPlaceBase<ReduceInPlace> {
  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states)) {
      return signalPassFailure();
    }
    getOperation().walk([&](PackOp pack) {
      if (!states->shardsGradients(pack.getUnit()) && isOnlyReduced(pack)) {
        reduceInPlace(pack);
      }
    });
  }

  /// Whether nothing but reductions into buffers of their own reads the
  /// gradients.
  bool isOnlyReduced(PackOp pack) {
    return llvm::all_of(pack->getUsers(), [](Operation *user) {
      auto reduce = dyn_cast<ReduceScatterOp>(user);
      return reduce && !reduce.getAccumulator() &&
             llvm::none_of(reduce->getUsers(), [](Operation *reader) {
               return isa<func::ReturnOp>(reader);
             });
    });
  }

  void reduceInPlace(PackOp pack) {
    SmallVector<ReduceScatterOp> sums;
    for (Operation *user : pack->getUsers()) {
      sums.push_back(cast<ReduceScatterOp>(user));
    }
    for (ReduceScatterOp sum : sums) {
      sum.setInPlace(true);
    }
    if (sums.empty() || !sums.front()->hasOneUse()) {
      return;
    }
    // The other parts fill the same buffer, beside the rest of backward.
    auto gather = dyn_cast<AllGatherOp>(*sums.front()->user_begin());
    if (gather && llvm::all_of(gather.getShards(), [&](Value shard) {
          return llvm::is_contained(sums,
                                    shard.getDefiningOp<ReduceScatterOp>());
        })) {
      gather.setInPlace(true);
      gather->moveAfter(
          gather.getShards().back().getDefiningOp<ReduceScatterOp>());
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
