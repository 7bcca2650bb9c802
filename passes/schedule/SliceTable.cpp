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
  // A scalar's name is a StringAttr; no other meaning is.
  auto [it, isNew] = byMeaning.try_emplace(meaning, records.size());
  if (isNew) {
    Record record{.location = location};
    record.bytes = nn::tensorBytes(type);
    record.carried = true;
    record.meaning = meaning;
    record.type = type;
    record.unit = record.segment = -1;
    if (auto state = dyn_cast<zero::StateAttr>(meaning)) {
      record.label = labelOf(state, unitList);
      record.sliceClass = classOf(state, mesh ? mesh.ranks() : 1);
      record.unit = state.getUnit();
      if (record.unit >= 0 && record.unit < int64_t(unitList.size())) {
        record.location = unitList[record.unit].location(location);
      }
      record.segment = state.getSegment();
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
      record.label = cast<StringAttr>(meaning).str();
      record.sliceClass = SliceClass::scalar;
      record.carried = false;
    }
    records.push_back(record);
  }
  return {it->second, 0, 0};
}

Place SliceTable::create(StringRef label, Location location,
                         SliceClass sliceClass, int64_t bytes, int64_t unit,
                         int64_t segment, Space space) {
  Record record{.label = label.str(), .location = location};
  record.space = space;
  record.sliceClass = sliceClass;
  record.bytes = bytes;
  record.unit = unit;
  record.segment = segment;
  records.push_back(record);
  return {static_cast<int>(records.size()) - 1, 0, 0};
}

Place SliceTable::createSlot(StringRef label, Location location,
                             int64_t bytes) {
  Place place = create(label, location, SliceClass::staging, bytes, -1, -1,
                       Space::pinned);
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
        record.unit, record.segment, /*offset=*/IntegerAttr(),
        /*lifetime=*/DenseI64ArrayAttr(), /*state=*/zero::StateAttr(),
        /*input=*/nn::InputAttr(), /*output=*/zero::OutputAttr(),
        /*scalar=*/StringAttr(), /*tensor=*/TypeAttr());
    if (record.meaning) {
      op.setTensorAttr(TypeAttr::get(record.type));
      if (auto state = dyn_cast<zero::StateAttr>(record.meaning)) {
        op.setStateAttr(state);
      } else if (auto input = dyn_cast<nn::InputAttr>(record.meaning)) {
        op.setInputAttr(input);
      } else if (auto output = dyn_cast<zero::OutputAttr>(record.meaning)) {
        op.setOutputAttr(output);
      } else {
        op.setScalarAttr(cast<StringAttr>(record.meaning));
      }
    }
    record.op = op;
  }
  return record.op;
}
