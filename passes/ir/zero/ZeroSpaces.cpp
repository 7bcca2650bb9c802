//===- ZeroSides.cpp - what of a program is the host's --------------------===//

#include "passes/ir/zero/ZeroSides.h"

#include "passes/ir/nn/Queries.h"

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

static Side sideOf(Space space) {
  switch (space) {
  case Space::device:
    return Side::Device;
  case Space::pinned:
  case Space::host:
    return Side::Host;
  case Space::nvme:
    return Side::File;
  }
  llvm_unreachable("all spaces are handled");
}

/// Returns the side of a state; of what is none, the device's.
static Side sideOf(StateAttr state, nn::ProgramOp program) {
  return state ? sideOf(spaceOf(state, unitsOf(program))) : Side::Device;
}

Side mlir::zg::zero::sideOfArgument(nn::ProgramOp program, unsigned argument) {
  return sideOf(program.getArgAttrOfType<StateAttr>(argument, kStateAttr),
                program);
}

Side mlir::zg::zero::sideOfResult(nn::ProgramOp program, unsigned result) {
  return sideOf(program.getResultAttrOfType<StateAttr>(result, kUpdatesAttr),
                program);
}

bool mlir::zg::zero::mayBeOnHost(Operation *op) {
  bool computes = isa<nn::NNDialect>(op->getDialect()) &&
                  !isa<nn::ReturnOp, nn::ScalarOp>(op) &&
                  !nn::isLibraryCall(op);
  return (computes && op->getNumOperands() > 0) || isa<RecallOp>(op);
}

Sides::Sides(nn::ProgramOp program) {
  for (BlockArgument argument : program.getArguments()) {
    sides[argument] = sideOfArgument(program, argument.getArgNumber());
  }
  Block &block = program.front();
  for (Operation &op : block.without_terminator()) {
    visit(&op);
  }
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    takeFromUsers(&op);
  }
}

void Sides::visit(Operation *op) {
  Side side = Side::None;
  if (isa<OffloadOp, ReadOp>(op)) {
    side = Side::Host;
  } else if (isa<WriteOp>(op)) {
    side = Side::File;
  } else if (isa<FetchOp>(op)) {
    side = Side::Device;
  } else if (!mayBeOnHost(op)) {
    bool literal = op->getNumOperands() == 0 && !isa<nn::ScalarOp>(op);
    side = literal ? Side::None : Side::Device;
  } else {
    for (Value operand : op->getOperands()) {
      side = std::max(side, of(operand));
    }
    if (side == Side::Host) {
      hosted.insert(op);
    }
  }
  for (Value result : op->getResults()) {
    sides[result] = side;
  }
}

void Sides::takeFromUsers(Operation *op) {
  bool free = op->getNumResults() > 0 &&
              llvm::all_of(op->getResults(), [&](Value result) {
                return of(result) == Side::None;
              });
  bool wanted = free && !isa<nn::ConstantOp>(op) && !op->use_empty() &&
                llvm::all_of(op->getUsers(), [&](Operation *user) {
                  return hosted.contains(user) || isa<FetchOp, WriteOp>(user);
                });
  if (wanted) {
    hosted.insert(op);
    for (Value result : op->getResults()) {
      sides[result] = Side::Host;
    }
  }
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

LogicalResult mlir::zg::zero::verifySides(nn::ProgramOp program) {
  Sides sides(program);
  for (Operation &op : program.front()) {
    auto kept = [&](unsigned operand) {
      return isa<nn::ReturnOp>(op) ? sideOfResult(program, operand)
             : isa<ReadOp>(op)     ? Side::File
             : isa<FetchOp, WriteOp>(op) || sides.onHost(&op) ? Side::Host
                                                              : Side::Device;
    };
    for (OpOperand &operand : op.getOpOperands()) {
      Side lies = sides.of(operand.get());
      Side wanted = kept(operand.getOperandNumber());
      if (lies == Side::None || lies == wanted) {
        continue;
      }
      StringRef where = lies == Side::File   ? "the file"
                        : lies == Side::Host ? "memory of the host"
                                             : "memory of the device";
      StringRef pass = lies == Side::File ? "zero-file-states" : "zero-offload";
      return op.emitOpError("operand ")
             << operand.getOperandNumber() << " lies in " << where
             << ", and another side takes it; run " << pass;
    }
  }
  return success();
}
