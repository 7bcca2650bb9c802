//===- ZeroSpaces.cpp - the memory that a value lies in -------------------===//

#include "passes/ir/zero/ZeroSpaces.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "passes/ir/nn/Queries.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::zero;

Space mlir::zg::zero::spaceOf(StateAttr state, ArrayAttr units) {
  int64_t unit = state.getUnit();
  if (!units || unit < 0 || unit >= static_cast<int64_t>(units.size())) {
    return Space::device;
  }
  for (UnitStateAttr declared : cast<ParamUnitAttr>(units[unit]).getStates()) {
    if (declared.getRole() == state.getRole()) {
      return declared.getSpace();
    }
  }
  return Space::device;
}

Space mlir::zg::zero::spaceOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto space =
      tensor ? dyn_cast_or_null<SpaceAttr>(tensor.getEncoding()) : SpaceAttr();
  return space ? space.getValue() : Space::device;
}

RankedTensorType mlir::zg::zero::typeIn(Space space, Type type) {
  if (space == Space::pinned) {
    space = Space::host;
  }
  auto tensor = cast<RankedTensorType>(type);
  // A `row_stride` stays: only what lies on the device has one.
  Attribute encoding = tensor.getEncoding();
  if (space != Space::device) {
    encoding = SpaceAttr::get(type.getContext(), space);
  } else if (isa_and_nonnull<SpaceAttr>(encoding)) {
    encoding = {};
  }
  return RankedTensorType::get(tensor.getShape(), tensor.getElementType(),
                               encoding);
}

void mlir::zg::zero::placeIn(Space space, Operation *op) {
  AttrTypeReplacer replacer;
  replacer.addReplacement(
      [=](RankedTensorType type) { return typeIn(space, type); });
  replacer.addReplacement([=](DenseElementsAttr elements) {
    return elements.reshape(typeIn(space, elements.getType()));
  });
  replacer.recursivelyReplaceElementsIn(op, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

bool mlir::zg::zero::mayBeOnHost(Operation *op) {
  return isa<RecallOp>(op) ||
         (isa<nn::NNDialect>(op->getDialect()) && op->getNumResults() > 0 &&
          !isa<nn::ScalarOp>(op) && !nn::isLibraryCall(op));
}

bool mlir::zg::zero::isOnHost(Operation *op) {
  return mayBeOnHost(op) && spaceOf(op->getResult(0).getType()) == Space::host;
}

Value mlir::zg::zero::beforeTransfers(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<OffloadOp, FetchOp, ReadOp, WriteOp>(op)) {
      break;
    }
    value = op->getOperand(0);
  }
  return value;
}

/// Returns where an op takes its operands from, and where it leaves results.
static std::pair<Space, Space> spacesOf(Operation *op) {
  if (isOnHost(op)) {
    return {Space::host, Space::host};
  }
  return llvm::TypeSwitch<Operation *, std::pair<Space, Space>>(op)
      .Case([](OffloadOp) { return std::pair(Space::device, Space::host); })
      .Case([](FetchOp) { return std::pair(Space::host, Space::device); })
      .Case([](ReadOp) { return std::pair(Space::nvme, Space::host); })
      .Case([](WriteOp) { return std::pair(Space::host, Space::nvme); })
      .Default(std::pair(Space::device, Space::device));
}

static StringRef nameOf(Space space) {
  return space == Space::device ? "memory of the device"
         : space == Space::nvme ? "the file"
                                : "memory of the host";
}

LogicalResult mlir::zg::zero::verifySpaces(nn::ProgramOp program) {
  for (Operation &op : program.front().without_terminator()) {
    auto [source, target] = spacesOf(&op);
    for (OpOperand &operand : op.getOpOperands()) {
      if (Space lies = spaceOf(operand.get().getType()); lies != source) {
        return op.emitOpError("operand ")
               << operand.getOperandNumber() << " lies in " << nameOf(lies)
               << "; expected " << nameOf(source);
      }
    }
    for (Type result : op.getResultTypes()) {
      if (Space lies = spaceOf(result); lies != target) {
        return op.emitOpError("makes a value in ")
               << nameOf(lies) << "; expected " << nameOf(target);
      }
    }
  }
  return success();
}
