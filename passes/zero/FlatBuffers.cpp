//===- FlatBuffers.cpp - parameters as views of flat buffers --------------===//

#include "passes/zero/FlatBuffers.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

void mlir::zg::zero::declareUnits(ModuleOp module, ArrayRef<Unit> units,
                                  const OptimizerGroups &groups, int64_t ranks,
                                  int64_t stage, int64_t accumulate) {
  Builder builder(module.getContext());
  SmallVector<Attribute> attributes;
  for (const Unit &unit : units) {
    attributes.push_back(unit.attribute);
  }
  module->setAttr(kMeshAttr,
                  MeshAttr::get(module.getContext(),
                                builder.getStringAttr(kDataAxis), ranks));
  module->setAttr(kStageAttr, builder.getI64IntegerAttr(stage));
  module->setAttr(kAccumulateAttr, builder.getI64IntegerAttr(accumulate));
  OpBuilder::atBlockEnd(module.getBody())
      .create<LayoutOp>(module.getLoc(), builder.getArrayAttr(attributes),
                        groups.attributes(module.getContext()));
}

/// Views a buffer that holds what the parameter's readers round it to.
static void viewRoundings(BlockArgument parameter, PlacementAttr place,
                          Value flat, Location location) {
  for (Operation *rounding : llvm::make_early_inc_range(parameter.getUsers())) {
    Value view = OpBuilder(rounding).create<ViewOp>(
        location, rounding->getResult(0).getType(), flat, place.getOffset());
    rounding->getResult(0).replaceAllUsesWith(view);
    rounding->erase();
  }
}

void mlir::zg::zero::viewParameter(Program &program, BlockArgument parameter,
                                   PlacementAttr place, Value flat) {
  auto location =
      NameLoc::get(place.getParameter().getName(), program.location());
  if (flat.getType() !=
      cast<RankedTensorType>(flat.getType())
          .clone(
              cast<RankedTensorType>(parameter.getType()).getElementType())) {
    viewRoundings(parameter, place, flat, location);
    return;
  }
  DenseMap<Operation *, Value> views; // by the op that reads it
  for (OpOperand &use : llvm::make_early_inc_range(parameter.getUses())) {
    Value &view = views[use.getOwner()];
    if (!view) {
      view = OpBuilder(use.getOwner())
                 .create<ViewOp>(location, parameter.getType(), flat,
                                 place.getOffset());
    }
    use.set(view);
  }
}

void mlir::zg::zero::viewParameters(Program &program, ArrayRef<Unit> units,
                                    const UnitStates &states) {
  for (auto [index, unit] : llvm::enumerate(units)) {
    Value flat = program.state(states.whole(index, kParamRole),
                               states.wholeType(index, kParamRole));
    for (auto [place, argument] :
         llvm::zip_equal(unit.attribute.getPlacements(), unit.arguments)) {
      viewParameter(program, argument, place, flat);
    }
  }
  program.eraseArguments([&](BlockArgument argument) {
    return program.function().getArgAttr(argument.getArgNumber(),
                                         nn::kParameterAttr) != nullptr;
  });
}
