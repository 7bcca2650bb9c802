//===- ScoreRegion.cpp - how an attention's region computes its scores ----===//

#include "passes/differentiate/ScoreRegion.h"

using namespace mlir;
using namespace mlir::zg::nn;

Value ScoreRegion::shaped(Value value) {
  if (Value result = known.lookup(value)) {
    return result;
  }
  Operation *op = value.getDefiningOp();
  bool isMember = op && members.contains(op);
  Value result;
  if (isMember && isElementwise(op)) {
    IRMapping operands;
    for (Value operand : op->getOperands()) {
      operands.map(operand, shaped(operand));
    }
    result = b.builder.clone(*op, operands)->getResult(0);
    result.setType(cast<RankedTensorType>(value.getType()).clone(shape));
  } else if (isMember && isa<ReshapeOp>(op)) {
    result = shaped(op->getOperand(0));
  } else if (isMember && isa<BroadcastOp>(op)) {
    result = repeated(copied(op->getOperand(0)), shapeOf(value));
  } else {
    result = b.reshape(copied(value), shape);
  }
  return known[value] = result;
}

/// Returns a copy of a value in its own shape.
Value ScoreRegion::copied(Value value) {
  if (Value copy = copies.lookupOrNull(value)) {
    return copy;
  }
  if (Value inside = known.lookup(value)) {
    Value copy = b.reshape(inside, shapeOf(value));
    copies.map(value, copy);
    return copy;
  }
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands()) {
    copied(operand);
  }
  b.builder.clone(*op, copies);
  return copies.lookup(value);
}

/// Returns a value that is repeated to the shape `wide` in the scores' shape.
/// Dims that do not merge there are repeated last, as what merges may have to
/// be in memory.
Value ScoreRegion::repeated(Value value, ArrayRef<int64_t> wide) {
  size_t same = 0;
  while (same < std::min(wide.size(), shape.size()) &&
         wide[wide.size() - 1 - same] == shape[shape.size() - 1 - same]) {
    ++same;
  }
  SmallVector<int64_t> own(shapeOf(value).take_back(same));
  auto withOwn = [&](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> result(dims.drop_back(same));
    llvm::append_range(result, own);
    return result;
  };
  Value merging = b.broadcast(value, withOwn(wide));
  return b.broadcast(b.reshape(merging, withOwn(shape)), shape);
}
