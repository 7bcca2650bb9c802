//===- OneRank.cpp - no collectives where there is one rank ---------------===//

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_ONERANK
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-one-rank
//===----------------------------------------------------------------------===//

struct OneRank : impl::OneRankBase<OneRank> {
  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states)) {
      return signalPassFailure();
    }
    if (states->ranks() != 1) {
      return;
    }
    for (int64_t unit = 0; unit < states->size(); ++unit) {
      if (states->segments(unit) != 1) {
        getOperation().emitError("unit ")
            << (*states)[unit].getName() << " has " << states->segments(unit)
            << " segments; expected one where there is one rank";
        return signalPassFailure();
      }
    }
    states->declareWhole();
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      for (Operation &op : llvm::make_early_inc_range(program.front())) {
        remove(&op);
      }
      nameWhole(program);
    }
  }

  /// Replaces a collective: a rank's shard is everything, and the sum over
  /// ranks its own.
  void remove(Operation *op) {
    Value same;
    if (auto reduce = dyn_cast<ReduceScatterOp>(op)) {
      same = add(op, reduce.getAccumulator(), reduce.getFlat());
    } else if (auto reduce = dyn_cast<AllReduceOp>(op)) {
      same = add(op, reduce.getAccumulator(), reduce.getOperand());
    } else if (auto gather = dyn_cast<AllGatherOp>(op)) {
      same = gathered(gather);
    } else if (auto shard = dyn_cast<ShardOp>(op)) {
      same = shard.getFlat();
    } else if (!isa<ReleaseOp>(op)) {
      return;
    }
    if (same) {
      op->getResult(0).replaceAllUsesWith(same);
    }
    op->erase();
  }

  /// Returns what the rank has: parameters are brought to the device where the
  /// host or the file keeps them. Gradients stay: whoever updates takes them
  /// from where they are.
  Value gathered(AllGatherOp gather) {
    Value shard = gather.getShards().front();
    auto argument = dyn_cast<BlockArgument>(shard);
    auto state = argument ? gather->getParentOfType<nn::ProgramOp>()
                                .getArgAttrOfType<StateAttr>(
                                    argument.getArgNumber(), kStateAttr)
                          : StateAttr();
    if (!state || state.getRole() == kGradRole ||
        spaceOf(state, unitsOf(gather)) == Space::device) {
      return shard;
    }
    OpBuilder builder(gather);
    return builder.create<FetchOp>(
        gather.getLoc(), shard.getType(), shard, gather.getUnitAttr(),
        /*segment=*/IntegerAttr(),
        builder.getI64IntegerAttr(nn::tensorBytes(shard.getType())),
        gather.getReasonAttr());
  }

  /// Folds as one rank does: from +0.0 where there is nothing to add to, so
  /// that a gradient of -0.0 is +0.0 for any number of ranks.
  Value add(Operation *op, Value accumulator, Value value) {
    OpBuilder builder(op);
    nn::NNBuilder b(builder, op->getLoc());
    auto sum = cast<RankedTensorType>(op->getResult(0).getType());
    value = b.convert(value, sum.getElementType()); // as it has travelled
    return b.add(accumulator ? accumulator : b.splat(value, 0), value);
  }

  /// Gives each state one name: two of the same state would be two states.
  void nameWhole(nn::ProgramOp program) {
    auto whole = [&](Attribute attribute) -> StateAttr {
      auto state = dyn_cast_or_null<StateAttr>(attribute);
      return state && state.getSharded()
                 ? StateAttr::get(&getContext(), state.getUnit(), -1,
                                  state.getRole(), /*sharded=*/false)
                 : StateAttr();
    };
    for (unsigned i = 0; i < program.getNumArguments(); ++i) {
      if (StateAttr state = whole(program.getArgAttr(i, kStateAttr))) {
        program.setArgAttr(i, kStateAttr, state);
      }
    }
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      if (StateAttr state = whole(program.getResultAttr(i, kUpdatesAttr))) {
        program.setResultAttr(i, kUpdatesAttr, state);
      }
    }
  }
};

} // namespace
} // namespace mlir::zg::zero
