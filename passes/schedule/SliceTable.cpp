//===- SliceTable.cpp - the slices of a module while it is lowered --------===//

#include "passes/schedule/SliceTable.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

namespace {

SliceClass classOf(zero::StateAttr state, int64_t ranks) {
  StringRef role = state.getRole().getValue();
  if (role == zero::kParamRole) {
    return SliceClass::param_shard;
  }
  if (role == zero::kGradRole) {
    return state.getSharded() || ranks == 1 ? SliceClass::grad_shard
                                            : SliceClass::grad;
  }
  return state.getUnit() < 0 ? SliceClass::scalar : SliceClass::optimizer;
}

std::string labelOf(zero::StateAttr state,
                    ArrayRef<zero::ParamUnitAttr> units) {
  std::string role = state.getRole().str();
  if (state.getUnit() < 0) {
    return role;
  }
  std::string unit = state.getUnit() < static_cast<int64_t>(units.size())
                         ? units[state.getUnit()].getName().str()
                         : "unit " + std::to_string(state.getUnit());
  return unit + " " + role;
}

} // namespace

SliceTable::SliceTable(ModuleOp module)
    : module(module), layout(zero::layoutOf(module)),
      mesh(zero::meshOf(module)) {
  if (layout) {
    llvm::append_range(unitList,
                       layout.getUnits().getAsRange<zero::ParamUnitAttr>());
  }
}

Place SliceTable::named(Attribute meaning, RankedTensorType type,
                        Location location) {
  auto [it, isNew] = byMeaning.try_emplace(meaning, records.size());
  if (isNew) {
    Record record{.location = location};
    record.bytes = nn::tensorBytes(type);
    record.carried = true;
    record.meaning = meaning;
    record.type = type;
    if (auto state = dyn_cast<zero::StateAttr>(meaning)) {
      record.label = labelOf(state, unitList);
      record.sliceClass = classOf(state, mesh ? mesh.ranks() : 1);
      if (state.getUnit() >= 0 && state.getUnit() < int64_t(unitList.size())) {
        record.location = unitList[state.getUnit()].location(location);
      }
      record.space =
          zero::spaceOf(state, layout ? layout.getUnits() : ArrayAttr());
    } else if (auto input = dyn_cast<nn::InputAttr>(meaning)) {
      record.label = input.getName().str();
      record.sliceClass = SliceClass::input;
      record.carried = false;
    } else if (auto output = dyn_cast<zero::OutputAttr>(meaning)) {
      record.label = output.getName().str();
      record.sliceClass = SliceClass::output;
    } else {
      record.label = cast<nn::ScalarAttr>(meaning).label();
      record.sliceClass = SliceClass::scalar;
      record.carried = false;
    }
    records.push_back(record);
  }
  return {it->second, 0, 0};
}

Place SliceTable::create(StringRef label, Location location,
                         SliceClass sliceClass, int64_t bytes, HeldAttr held,
                         Space space) {
  Record record{.label = label.str(), .location = location};
  record.space = space;
  record.sliceClass = sliceClass;
  record.bytes = bytes;
  record.held = held;
  records.push_back(record);
  return {static_cast<int>(records.size()) - 1, 0, 0};
}

HeldAttr SliceTable::held(int slice) const {
  const Record &record = records[slice];
  auto state = dyn_cast_or_null<zero::StateAttr>(record.meaning);
  return state && state.getUnit() >= 0
             ? held(state.getRole(), state.getUnit(), state.getSegment(),
                    record.type.getNumElements())
             : record.held;
}

HeldAttr SliceTable::held(StringAttr role, int64_t unit, int64_t segment,
                          int64_t elements) const {
  zero::ParamUnitAttr of = unitList[unit];
  // The shard of a whole unit is that of its one segment.
  int64_t begin = segment > 0 ? zero::segmentOffset(of, segment) : 0;
  int64_t all = segment < 0 ? of.getElements() : of.getSegments()[segment];
  return HeldAttr::get(role.getContext(), unit, role, begin, elements,
                       /*sharded=*/elements < all);
}

Place SliceTable::createSlot(StringRef label, Location location,
                             int64_t bytes) {
  Place place =
      create(label, location, SliceClass::staging, bytes, {}, Space::pinned);
  records[place.slice].carried = true;
  return place;
}

SliceOp SliceTable::op(int slice) {
  Record &record = records[slice];
  if (!record.op) {
    // The layout stays last, where it is found first.
    auto builder =
        layout ? OpBuilder(layout) : OpBuilder::atBlockEnd(module.getBody());
    auto op = builder.create<SliceOp>(
        record.location, SliceType::get(module.getContext()), record.label,
        record.sliceClass, record.space, record.bytes, record.carried,
        record.held,
        /*offset=*/IntegerAttr(),
        /*lifetime=*/DenseI64ArrayAttr(), /*state=*/zero::StateAttr(),
        /*input=*/nn::InputAttr(), /*output=*/zero::OutputAttr(),
        /*scalar=*/nn::ScalarAttr(), /*tensor=*/TypeAttr());
    if (record.meaning) {
      op.setTensorAttr(TypeAttr::get(record.type));
      if (auto state = dyn_cast<zero::StateAttr>(record.meaning)) {
        op.setStateAttr(state);
      } else if (auto input = dyn_cast<nn::InputAttr>(record.meaning)) {
        op.setInputAttr(input);
      } else if (auto output = dyn_cast<zero::OutputAttr>(record.meaning)) {
        op.setOutputAttr(output);
      } else {
        op.setScalarAttr(cast<nn::ScalarAttr>(record.meaning));
      }
    }
    record.op = op;
  }
  return record.op;
}
