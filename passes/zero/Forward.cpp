//===- Forward.cpp - running forward, on one rank -------------------------===//

#include "passes/differentiate/Passes.h"
#include "passes/zero/Passes.h"
#include "passes/zero/ProgramBuilder.h"
#include "passes/zero/Units.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_FORWARD
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-forward
//===----------------------------------------------------------------------===//

struct Forward : impl::ForwardBase<Forward> {
  void runOnOperation() override {
    auto source =
        getOperation().lookupSymbol<func::FuncOp>(nn::kForwardFunction);
    if (!source || source.isExternal()) {
      getOperation().emitError("has no function @forward to run");
      return signalPassFailure();
    }
    std::vector<Unit> units = groupIntoUnits(source, {});
    for (const Unit &unit : units) {
      if (unit.attribute.getTrainable()) {
        source.emitError("trains unit ")
            << unit.attribute.getName() << ", and is to be run forward only";
        return signalPassFailure();
      }
    }
    setModuleAttributes(units);
    source.setName("");
    if (failed(build(source, units))) {
      return signalPassFailure();
    }
    source.erase();
  }

private:
  LogicalResult build(func::FuncOp source, ArrayRef<Unit> units) {
    ProgramBuilder program(getOperation(), kForwardProgram, source.getLoc());
    IRMapping mapping;
    for (BlockArgument argument : source.getArguments()) {
      auto input = source.getArgAttrOfType<nn::InputAttr>(
          argument.getArgNumber(), nn::kInputAttr);
      if (input) {
        mapping.map(argument, program.input(argument.getType(), input,
                                            argument.getLoc()));
      }
    }
    for (auto [index, unit] : llvm::enumerate(units)) {
      viewParameters(program, unit, index, mapping);
    }
    for (Operation &op : source.front().without_terminator()) {
      if (auto scalar = dyn_cast<nn::ScalarOp>(op)) {
        mapping.map(scalar, program.scalar(scalar.getName(), scalar.getType()));
      } else {
        program.builder().clone(op, mapping);
      }
    }
    Operation *terminator = source.front().getTerminator();
    for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
      auto name =
          source.getResultAttrOfType<StringAttr>(index, nn::kOutputAttr);
      if (!name) {
        return source.emitError("result ") << index << " has no name";
      }
      bool perSample =
          source.getResultAttr(index, nn::kPerSampleAttr) != nullptr;
      program.output(mapping.lookup(value),
                     OutputAttr::get(&getContext(), name, perSample));
    }
    program.finish();
    return success();
  }

  void viewParameters(ProgramBuilder &program, const Unit &unit, int64_t index,
                      IRMapping &mapping) {
    auto type = RankedTensorType::get({unit.attribute.getElements()},
                                      unit.attribute.getElementType());
    Value flat =
        program.state(StateAttr::get(&getContext(), index, -1,
                                     StringAttr::get(&getContext(), kParamRole),
                                     /*sharded=*/false),
                      type);
    for (auto [place, argument] :
         llvm::zip_equal(unit.attribute.getPlacements(), unit.arguments)) {
      auto location =
          NameLoc::get(place.getParameter().getName(), program.location());
      mapping.map(argument,
                  program.builder().create<ViewOp>(location, argument.getType(),
                                                   flat, place.getOffset()));
    }
  }

  void setModuleAttributes(ArrayRef<Unit> units) {
    Builder builder(&getContext());
    SmallVector<Attribute> attributes;
    for (const Unit &unit : units) {
      attributes.push_back(unit.attribute);
    }
    ModuleOp module = getOperation();
    module->setAttr(kWorldAttr, builder.getI64IntegerAttr(1));
    module->setAttr(kStageAttr, builder.getI64IntegerAttr(0));
    module->setAttr(kAccumulateAttr, builder.getI64IntegerAttr(1));
    module->setAttr(kUnitsAttr, builder.getArrayAttr(attributes));
  }
};

} // namespace
} // namespace mlir::zg::zero
