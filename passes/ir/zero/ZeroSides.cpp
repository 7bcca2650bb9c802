//===- ZeroSides.cpp - what of a program is the host's --------------------===//

#include "passes/ir/zero/ZeroSides.h"

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

Side mlir::zg::zero::sideOf(Space space) {
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

Sides::Sides(nn::ProgramOp program) {
  ArrayAttr units = unitsOf(program);
  for (BlockArgument argument : program.getArguments()) {
    auto state = program.getArgAttrOfType<StateAttr>(argument.getArgNumber(),
                                                     kStateAttr);
    sides[argument] = state ? sideOf(spaceOf(state, units)) : Side::Device;
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
