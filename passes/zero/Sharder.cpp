//===- Sharder.cpp - makes the programs of a ZeRO stage -------------------===//

#include "passes/zero/Sharder.h"

#include "passes/differentiate/Passes.h"
#include "passes/zero/Passes.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

/// A gradient may be another parameter: that of w1 in sum(w1 * w2) is w2. Gives
/// it an op that reads it, so that it is gathered and viewed like any other
/// use.
static void useReturnedParameters(func::FuncOp micro) {
  Operation *terminator = micro.front().getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &result : terminator->getOpOperands()) {
    if (isa<BlockArgument>(result.get())) {
      result.set(builder.create<nn::ReshapeOp>(
          result.get().getLoc(), result.get().getType(), result.get()));
    }
  }
}

Sharder::Sharder(ModuleOp module, func::FuncOp micro,
                 const UnitOptions &unitOptions,
                 const nn::OptimizerOptions &optimizer, int64_t accumulate,
                 bool dumpGradients)
    : module(module), micro(micro), context(module.getContext()),
      options(unitOptions), optimizer(optimizer), accumulate(accumulate),
      dumpGradients(dumpGradients) {
  useReturnedParameters(micro);
  DenseMap<Operation *, int64_t> position;
  for (auto [index, op] : llvm::enumerate(micro.front())) {
    position[&op] = index;
  }
  Operation *terminator = micro.front().getTerminator();
  auto positionOf = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op ? position.lookup(op) : 0;
  };
  lossPosition = positionOf(terminator->getOperand(0));

  for (auto [index, unit] : llvm::enumerate(groupIntoUnits(micro, options))) {
    bool persistent = unit.attribute.getPersistent();
    units.push_back({unit, static_cast<int64_t>(index),
                     options.stage == 3 && !persistent, options.stage >= 1});
    for (auto [member, argument] : llvm::enumerate(unit.arguments)) {
      places[argument] = {index, member};
    }
  }
  gathers = planGathers(
      micro,
      llvm::to_vector(
          llvm::map_range(units, [](UnitState &state) { return state.unit; })),
      [&](int64_t unit) { return units[unit].shardedParameters; },
      lossPosition);

  for (unsigned i = 1; i < micro.getNumResults(); ++i) {
    Value value = terminator->getOperand(i);
    if (auto of = micro.getResultAttrOfType<StringAttr>(i, nn::kGradientAttr)) {
      gradients[of.getValue()] = value;
    } else if (auto of = micro.getResultAttrOfType<StringAttr>(
                   i, nn::kNextValueAttr)) {
      nextValues[of.getValue()] = value;
    }
  }
  for (UnitState &unit : units) {
    if (!unit.trainable()) {
      continue;
    }
    int64_t last = 0;
    for (PlacementAttr place : unit.attribute().getPlacements()) {
      last = std::max(last, positionOf(gradients.lookup(
                                place.getParameter().getName().getValue())));
    }
    complete[unit.index] = last;
  }
}

void Sharder::run() {
  setModuleAttributes();
  bool split = accumulate > 1;
  // `micro` must keep its name until the new program has taken everything
  // from it.
  micro.setName("");
  ProgramBuilder program(module, split ? kMicroProgram : kStepProgram,
                         micro.getLoc());
  cloneMicro(program);
  reduceLoss(program);
  updateLocal(program);
  if (split) {
    program.finish();
    ProgramBuilder update(module, kUpdateProgram, micro.getLoc());
    updateAll(update);
    update.finish();
  } else {
    updateAll(program);
    program.finish();
  }
  micro.erase();
}

SmallVector<Value> Sharder::parameterShards(ProgramBuilder &program,
                                            const UnitState &unit) {
  SmallVector<Value> shards;
  for (int64_t segment = 0; segment < unit.segments(); ++segment) {
    RankedTensorType type = unit.shardType(segment, options.world);
    if (unit.shardedParameters) {
      shards.push_back(
          program.state(key(unit, segment, kParamRole, true), type));
    } else {
      shards.push_back(program.builder().create<ShardOp>(
          program.location(), type, wholeParameters(program, unit), unit.index,
          segment));
    }
  }
  return shards;
}

void Sharder::setModuleAttributes() {
  Builder builder(context);
  SmallVector<Attribute> attributes;
  for (UnitState &unit : units) {
    attributes.push_back(unit.attribute());
  }
  module->setAttr(kWorldAttr, builder.getI64IntegerAttr(options.world));
  module->setAttr(kStageAttr, builder.getI64IntegerAttr(options.stage));
  module->setAttr(kAccumulateAttr, builder.getI64IntegerAttr(accumulate));
  module->setAttr(kUnitsAttr, builder.getArrayAttr(attributes));
}
