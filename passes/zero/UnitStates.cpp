//===- UnitStates.cpp - the units of a module and who holds what of them --===//

#include "passes/zero/UnitStates.h"

using namespace mlir;
using namespace mlir::zg::zero;

FailureOr<UnitStates> UnitStates::of(ModuleOp module) {
  if (!layoutOf(module)) {
    return module.emitError("has no zero.layout; run zero-layout");
  }
  for (StringRef name : {StringRef(kMeshAttr), StringRef(kStageAttr)}) {
    if (!module->hasAttr(name)) {
      return module.emitError("has no '") << name << "'; run zero-layout";
    }
  }
  return UnitStates(module);
}

UnitStates::UnitStates(ModuleOp module)
    : module(module), mesh(module->getAttrOfType<MeshAttr>(kMeshAttr)),
      stage(module->getAttrOfType<IntegerAttr>(kStageAttr).getInt()) {
  llvm::append_range(units, unitsOf(module).getAsRange<ParamUnitAttr>());
}

int64_t UnitStates::ranks(int64_t unit) const {
  return *mesh.ranks(axes(unit));
}

bool UnitStates::shardsParameters(int64_t unit) const {
  return declared(unit, kParamRole).getSharded();
}

bool UnitStates::shardsGradients(int64_t) const { return stage >= 2; }

bool UnitStates::reducesLast(int64_t unit) const {
  UnitStateAttr gradients = declared(unit, kGradRole);
  return gradients && !gradients.getSharded() && ranks(unit) > 1;
}

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

UnitStateAttr UnitStates::declared(int64_t unit, StringRef role) const {
  for (UnitStateAttr state : units[unit].getStates()) {
    if (state.getRole() == role) {
      return state;
    }
  }
  return {};
}

void UnitStates::declare(int64_t unit, StringRef role, Type type, bool sharded,
                         Space space) {
  SmallVector<UnitStateAttr> states(units[unit].getStates());
  MLIRContext *context = module.getContext();
  states.push_back(UnitStateAttr::get(context, StringAttr::get(context, role),
                                      type, sharded, space));
  replace(unit, states);
}

void UnitStates::change(int64_t unit,
                        function_ref<UnitStateAttr(UnitStateAttr)> changed) {
  SmallVector<UnitStateAttr> states;
  for (UnitStateAttr state : units[unit].getStates()) {
    states.push_back(changed(state));
  }
  replace(unit, states);
}

void UnitStates::declareSpace(int64_t unit, StringRef role, Space space) {
  change(unit, [&](UnitStateAttr state) {
    return state.getRole() != role
               ? state
               : UnitStateAttr::get(module.getContext(), state.getRole(),
                                    state.getType(), state.getSharded(), space);
  });
}

void UnitStates::declareWhole() {
  for (int64_t unit = 0; unit < size(); ++unit) {
    change(unit, [&](UnitStateAttr state) {
      return UnitStateAttr::get(module.getContext(), state.getRole(),
                                state.getType(), /*sharded=*/false,
                                state.getSpace());
    });
  }
}

bool UnitStates::anyOnHost() const {
  return llvm::any_of(units, [](ParamUnitAttr unit) {
    return llvm::any_of(unit.getStates(), [](UnitStateAttr state) {
      return state.getSpace() != Space::device;
    });
  });
}

void UnitStates::replace(int64_t unit, ArrayRef<UnitStateAttr> states) {
  ParamUnitAttr old = units[unit];
  MLIRContext *context = module.getContext();
  units[unit] = ParamUnitAttr::get(
      context, old.getName(), old.getElementType(), old.getElements(),
      old.getTrainable(), old.getPersistent(), old.getReason(), old.getAxes(),
      old.getSegments(), states, old.getPlacements(), old.getLocal(),
      old.getBlock(), old.getPlace());
  SmallVector<Attribute> all(units.begin(), units.end());
  layoutOf(module).setUnitsAttr(ArrayAttr::get(context, all));
}

RankedTensorType UnitStates::wholeType(int64_t unit, StringRef role) const {
  return RankedTensorType::get({units[unit].getElements()},
                               declared(unit, role).getType());
}

RankedTensorType UnitStates::sentType(int64_t unit, StringRef precision) const {
  RankedTensorType made = wholeType(unit, kGradRole);
  if (precision == "fp32" || !made.getElementType().isF32()) {
    return made;
  }
  Builder builder(made.getContext());
  return made.clone(precision == "bf16" ? Type(builder.getBF16Type())
                                        : Type(builder.getF16Type()));
}

RankedTensorType UnitStates::shardType(int64_t unit, int64_t segment,
                                       StringRef role) const {
  return RankedTensorType::get(
      {units[unit].getSegments()[segment] / ranks(unit)},
      declared(unit, role).getType());
}
