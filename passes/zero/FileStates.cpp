//===- FileStates.cpp - what of the rank's file is read and written -------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"
#include "passes/zero/Passes.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_FILESTATES
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-file-states
//===----------------------------------------------------------------------===//

struct FileStates : impl::FileStatesBase<FileStates> {
  void runOnOperation() override {
    FailureOr<UnitStates> found = UnitStates::of(getOperation());
    if (failed(found)) {
      return signalPassFailure();
    }
    states = &*found;
    for (auto program : getOperation().getOps<nn::ProgramOp>()) {
      for (BlockArgument argument : program.getArguments()) {
        auto state = program.getArgAttrOfType<StateAttr>(
            argument.getArgNumber(), kStateAttr);
        if (liesInFile(state) && !argument.use_empty()) {
          readBeforeUses(argument, state);
        }
      }
      for (OpOperand &result :
           program.front().getTerminator()->getOpOperands()) {
        auto state = program.getResultAttrOfType<StateAttr>(
            result.getOperandNumber(), kUpdatesAttr);
        if (liesInFile(state) && !isa<BlockArgument>(result.get())) {
          OpBuilder builder(result.getOwner());
          result.set(transfer<WriteOp>(
              builder, result.get(), state,
              result.get().getDefiningOp<nn::ConstantOp>() ? zerosOf(state)
                                                           : updateOf(state)));
          ++writes;
        }
      }
    }
  }

private:
  bool liesInFile(StateAttr state) {
    return state && spaceOf(state, unitsOf(getOperation())) == Space::nvme;
  }

  /// Reads the state anew for each use on the device and for a norm, on which
  /// all updates wait, so that memory has it no longer than that takes; and
  /// once for the update.
  void readBeforeUses(BlockArgument argument, StateAttr state) {
    Operation *update = nullptr; // its first op
    for (OpOperand &use : llvm::make_early_inc_range(argument.getUses())) {
      Operation *user = use.getOwner();
      if (isa<AllGatherOp, FetchOp>(user)) {
        use.set(read(user, argument, state,
                     user->getAttrOfType<StringAttr>("reason")));
      } else if (isa<nn::SumSquaresOp>(user)) {
        use.set(read(user, argument, state, normOf(state)));
      } else if (!update || user->isBeforeInBlock(update)) {
        update = user;
      }
    }
    if (update) {
      Value value = read(update, argument, state, updateOf(state));
      argument.replaceUsesWithIf(
          value, [](OpOperand &use) { return !isa<ReadOp>(use.getOwner()); });
    }
  }

  Value read(Operation *user, BlockArgument argument, StateAttr state,
             StringAttr reason) {
    OpBuilder builder(user);
    ++reads;
    return transfer<ReadOp>(builder, argument, state, reason);
  }

  StringAttr updateOf(StateAttr state) {
    StringRef what =
        state.getRole() == kGradRole ? "sum of gradients of " : "update of ";
    return StringAttr::get(&getContext(), what + states->name(state.getUnit()));
  }

  StringAttr normOf(StateAttr state) {
    return StringAttr::get(&getContext(), "norm of gradients of " +
                                              states->name(state.getUnit()));
  }

  StringAttr zerosOf(StateAttr state) {
    return StringAttr::get(&getContext(), "zeros for the next sum of " +
                                              states->name(state.getUnit()));
  }

  template <typename Op>
  Value transfer(OpBuilder &builder, Value value, StateAttr state,
                 StringAttr reason) {
    int64_t unit = state.getUnit();
    return builder.create<Op>(
        states->location(unit, value.getLoc()), value.getType(), value,
        builder.getI64IntegerAttr(unit),
        state.getSegment() < 0 ? IntegerAttr()
                               : builder.getI64IntegerAttr(state.getSegment()),
        builder.getI64IntegerAttr(nn::tensorBytes(value.getType())), reason);
  }

  const UnitStates *states = nullptr;
};

} // namespace
} // namespace mlir::zg::zero
