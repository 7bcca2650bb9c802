//===- UnitStates.cpp - the units of a module and who holds what of them --===//

#include "passes/zero/UnitStates.h"

using namespace mlir;
using namespace mlir::zg::zero;

FailureOr<UnitStates> UnitStates::of(ModuleOp module) {
  for (StringRef name :
       {StringRef(kUnitsAttr), StringRef(kWorldAttr), StringRef(kStageAttr)}) {
    if (!module->hasAttr(name)) {
      return module.emitError("has no '") << name << "'; run zero-layout";
    }
  }
  return UnitStates(module);
}

UnitStates::UnitStates(ModuleOp module)
    : ranks(module->getAttrOfType<IntegerAttr>(kWorldAttr).getInt()),
      stage(module->getAttrOfType<IntegerAttr>(kStageAttr).getInt()) {
  llvm::append_range(
      units,
      module->getAttrOfType<ArrayAttr>(kUnitsAttr).getAsRange<ParamUnitAttr>());
}

bool UnitStates::shardsParameters(int64_t unit) const {
  return stage == 3 && !units[unit].getPersistent();
}

bool UnitStates::shardsGradients(int64_t) const { return stage >= 2; }

bool UnitStates::shardsUpdate(int64_t) const { return stage >= 1; }

StateAttr UnitStates::whole(int64_t unit, StringRef role) const {
  return shard(unit, -1, role);
}

StateAttr UnitStates::shard(int64_t unit, int64_t segment,
                            StringRef role) const {
  MLIRContext *context = units[unit].getContext();
  return StateAttr::get(context, unit, segment, StringAttr::get(context, role),
                        /*sharded=*/segment >= 0);
}

RankedTensorType UnitStates::wholeType(int64_t unit) const {
  return RankedTensorType::get({units[unit].getElements()},
                               units[unit].getElementType());
}

RankedTensorType UnitStates::shardType(int64_t unit, int64_t segment) const {
  return RankedTensorType::get({units[unit].getSegments()[segment] / ranks},
                               units[unit].getElementType());
}
