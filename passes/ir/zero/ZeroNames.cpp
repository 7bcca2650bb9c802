//===- ZeroNames.cpp - by which names values are printed ------------------===//

#include "passes/ir/zero/ZeroDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

/// The unit of that number; null where there is none.
static ParamUnitAttr unitOf(ArrayAttr units, int64_t unit) {
  bool known = units && unit >= 0 && unit < static_cast<int64_t>(units.size());
  return known ? cast<ParamUnitAttr>(units[unit]) : ParamUnitAttr();
}

static std::string nameOfUnit(ArrayAttr units, int64_t unit) {
  ParamUnitAttr attribute = unitOf(units, unit);
  return attribute ? attribute.getName().str() : "unit" + std::to_string(unit);
}

/// `name`, with the number of the segment where there are several.
static std::string ofSegment(std::string name, ArrayAttr units, int64_t unit,
                             int64_t segment) {
  ParamUnitAttr attribute = unitOf(units, unit);
  bool several = attribute && attribute.getSegments().size() > 1;
  return segment >= 0 && several ? name + "." + std::to_string(segment) : name;
}

std::string mlir::zg::zero::printedName(StateAttr state, ArrayAttr units) {
  std::string role = state.getRole().str();
  if (role == kLossRole || role == kStopRole) {
    return role + ".sum"; // this rank's own is a value of that name
  }
  if (state.getUnit() < 0) {
    bool several = state.getSegment() >= 0;
    return several ? role + "." + std::to_string(state.getSegment()) : role;
  }
  if (role == kParamRole && state.getSharded()) {
    role = "shard";
  }
  return ofSegment(nameOfUnit(units, state.getUnit()) + "." + role, units,
                   state.getUnit(), state.getSegment());
}

/// The number of the unit whose flat buffer `flat` is; -1 where no op tells.
static int64_t unitOfFlat(Value flat) {
  Operation *op = flat.getDefiningOp();
  if (auto await = dyn_cast_or_null<AwaitOp>(op)) {
    op = await.getHandle().getDefiningOp();
  }
  auto unit = op ? op->getAttrOfType<IntegerAttr>("unit") : IntegerAttr();
  return unit ? unit.getInt() : -1;
}

/// The parameter's name.
static std::string nameOfView(ViewOp op) {
  if (std::string name = nn::nameOf(op.getLoc()); !name.empty()) {
    return name;
  }
  ParamUnitAttr unit = unitOf(unitsOf(op), unitOfFlat(op.getFlat()));
  if (unit) {
    for (PlacementAttr place : unit.getPlacements()) {
      if (place.getOffset() == static_cast<int64_t>(op.getOffset())) {
        return place.getParameter().getName().str();
      }
    }
  }
  return "";
}

/// `h.0.down`
template <typename Op>
static std::string nameOfTransfer(Op op, ArrayAttr units, StringRef way) {
  if (op.getUnit()) {
    int64_t unit = *op.getUnit();
    return ofSegment(nameOfUnit(units, unit) + "." + way.str(), units, unit,
                     op.getSegment() ? int64_t(*op.getSegment()) : -1);
  }
  std::string name = nn::nameOf(op.getLoc());
  return name.empty() ? way.str() : name + "." + way.str();
}

void mlir::zg::zero::detail::nameResults(Operation *op,
                                         OpAsmSetValueNameFn setName) {
  if (op->getNumResults() == 0) {
    return;
  }
  ArrayAttr units = unitsOf(op);
  auto name = [&](int64_t unit, StringRef what) {
    return nameOfUnit(units, unit) + "." + what.str();
  };
  std::string text =
      TypeSwitch<Operation *, std::string>(op)
          .Case([&](ShardOp shard) {
            return ofSegment(name(shard.getUnit(), "shard"), units,
                             shard.getUnit(), shard.getSegment());
          })
          .Case([&](ViewOp view) { return nameOfView(view); })
          .Case([&](PackOp pack) {
            ParamUnitAttr unit = unitOf(units, pack.getUnit());
            bool local = unit && unit.getLocal();
            return name(pack.getUnit(), local ? "next" : "grad");
          })
          .Case([&](AllGatherOp gather) {
            return name(gather.getUnit(), "flat");
          })
          .Case([&](PrefetchOp prefetch) {
            return name(prefetch.getUnit(), "coming");
          })
          .Case([&](AwaitOp await) {
            int64_t unit = unitOfFlat(await.getResult());
            return unit < 0 ? "flat" : name(unit, "flat");
          })
          .Case([&](ReduceScatterOp reduce) {
            return ofSegment(name(reduce.getUnit(), "grad.shard"), units,
                             reduce.getUnit(), reduce.getSegment());
          })
          .Case([&](OffloadOp offload) {
            return nameOfTransfer(offload, units, "down");
          })
          .Case(
              [&](FetchOp fetch) { return nameOfTransfer(fetch, units, "up"); })
          .Case(
              [&](ReadOp read) { return nameOfTransfer(read, units, "read"); })
          .Case([&](WriteOp write) {
            return nameOfTransfer(write, units, "written");
          })
          .Case([&](RecallOp recall) { return nn::nameOf(recall.getLoc()); })
          .Case([&](AllReduceOp) { return "sum"; })
          .Default([](Operation *) { return ""; });
  setName(op->getResult(0), nn::printedName(text));
}
