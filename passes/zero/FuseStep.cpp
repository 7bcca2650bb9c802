//===- FuseStep.cpp - one program for a step of one micro-batch -----------===//

#include "mlir/IR/IRMapping.h"
#include "passes/ir/nn/Queries.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_FUSESTEP
#include "passes/zero/Passes.h.inc"

namespace {

/// Returns, by state, the value that the program's end leaves in it.
DenseMap<Attribute, Value> updatesOf(nn::ProgramOp program) {
  DenseMap<Attribute, Value> updates;
  for (auto [index, value] :
       llvm::enumerate(program.front().getTerminator()->getOperands())) {
    if (Attribute state = program.getResultAttr(index, kUpdatesAttr)) {
      updates[state] = value;
    }
  }
  return updates;
}

//===----------------------------------------------------------------------===//
// --zero-fuse-step
//===----------------------------------------------------------------------===//

struct FuseStep : impl::FuseStepBase<FuseStep> {
  using FuseStepBase::FuseStepBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto accumulate = module->getAttrOfType<IntegerAttr>(kAccumulateAttr);
    auto micro = module.lookupSymbol<nn::ProgramOp>(kMicroProgram);
    auto update = module.lookupSymbol<nn::ProgramOp>(kUpdateProgram);
    if (!accumulate || !micro || !update) {
      module.emitError("has no programs @micro and @update, or no '")
          << kAccumulateAttr << "'; run zero-updates";
      return signalPassFailure();
    }
    if (accumulate.getInt() != 1) {
      return;
    }
    findSums(micro, update);
    Program step(micro);
    append(step, update);
    update.erase();
    if (failed(beginAtZero(step))) {
      return signalPassFailure();
    }
    micro.setName(kStepProgram);
  }

  /// Finds the states that a micro-batch adds to and the update leaves zero.
  void findSums(nn::ProgramOp micro, nn::ProgramOp update) {
    DenseMap<Attribute, Value> carried = updatesOf(micro);
    for (auto [state, value] : updatesOf(update)) {
      if (carried.contains(state) && nn::isZeroBytes(value)) {
        sums.insert(state);
      }
    }
  }

  /// Puts the update's ops after those of the micro-batch, whose new states it
  /// reads.
  void append(Program &step, nn::ProgramOp update) {
    IRMapping mapping;
    DenseMap<Attribute, Value> carried = updatesOf(step.function());
    for (BlockArgument argument : update.getArguments()) {
      NamedAttribute meaning =
          *update.getArgAttrDict(argument.getArgNumber()).begin();
      Value value = carried.lookup(meaning.getValue());
      mapping.map(argument, value ? value
                                  : step.argument(argument.getType(),
                                                  meaning.getName().getValue(),
                                                  meaning.getValue()));
    }
    OpBuilder builder(step.terminator());
    for (Operation &op : update.front().without_terminator()) {
      builder.clone(op, mapping);
    }
    // The value that the update leaves in a state counts, but nobody needs
    // zeros.
    DenseMap<Attribute, Value> last = updatesOf(update);
    step.eraseResults([&](unsigned i) {
      Attribute state = step.function().getResultAttr(i, kUpdatesAttr);
      return sums.contains(state) ? !dump_gradients : last.contains(state);
    });
    for (auto [index, value] :
         llvm::enumerate(update.front().getTerminator()->getOperands())) {
      auto state = update.getResultAttrOfType<StateAttr>(index, kUpdatesAttr);
      if (sums.contains(state)) {
        Operation *zero = mapping.lookup(value).getDefiningOp();
        if (zero->use_empty()) {
          zero->erase();
        }
      } else {
        step.update(mapping.lookup(value), state);
      }
    }
  }

  /// Drops the accumulators: a sum of one micro-batch has nothing to add to.
  LogicalResult beginAtZero(Program &step) {
    nn::ProgramOp function = step.function();
    auto isSum = [&](BlockArgument argument) {
      return sums.contains(
          function.getArgAttr(argument.getArgNumber(), kStateAttr));
    };
    for (BlockArgument argument : function.getArguments()) {
      if (!isSum(argument)) {
        continue;
      }
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        auto reduce = dyn_cast<ReduceScatterOp>(user);
        if (!reduce || reduce.getAccumulator() != argument) {
          return user->emitOpError(
              "reads a sum of gradients before it is made");
        }
        reduce.getAccumulatorMutable().clear();
      }
    }
    step.eraseArguments(isSum);
    return success();
  }

  DenseSet<Attribute> sums;
};

} // namespace
} // namespace mlir::zg::zero
