//===- FileStates.cpp - what of the rank's file is read and written -------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroSides.h"
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
          readBeforeUse(argument, state);
        }
      }
      for (OpOperand &result :
           program.front().getTerminator()->getOpOperands()) {
        auto state = program.getResultAttrOfType<StateAttr>(
            result.getOperandNumber(), kUpdatesAttr);
        if (liesInFile(state) && !isa<BlockArgument>(result.get())) {
          OpBuilder builder(result.getOwner());
          result.set(transfer<WriteOp>(builder, result.get(), state));
          ++written;
        }
      }
    }
  }

private:
  bool liesInFile(StateAttr state) {
    return state && spaceOf(state, unitsOf(getOperation())) == Space::nvme;
  }

  void readBeforeUse(BlockArgument argument, StateAttr state) {
    Operation *first = nullptr;
    for (Operation *user : argument.getUsers()) {
      first = !first || user->isBeforeInBlock(first) ? user : first;
    }
    OpBuilder builder(first);
    Value value = transfer<ReadOp>(builder, argument, state);
    argument.replaceAllUsesExcept(value, value.getDefiningOp());
    ++read;
  }

  template <typename Op>
  Value transfer(OpBuilder &builder, Value value, StateAttr state) {
    int64_t unit = state.getUnit();
    return builder.create<Op>(
        states->location(unit, value.getLoc()), value.getType(), value,
        builder.getI64IntegerAttr(unit),
        state.getSegment() < 0 ? IntegerAttr()
                               : builder.getI64IntegerAttr(state.getSegment()),
        builder.getI64IntegerAttr(nn::tensorBytes(value.getType())),
        builder.getStringAttr("update of " + states->name(unit).str()));
  }

  const UnitStates *states = nullptr;
};

} // namespace
} // namespace mlir::zg::zero
