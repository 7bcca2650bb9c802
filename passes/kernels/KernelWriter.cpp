//===- KernelWriter.cpp - writes one kernel -------------------------------===//

#include "passes/kernels/KernelWriter.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return cast<RankedTensorType>(value.getType()).clone(shape);
}

} // namespace

Value KernelWriter::argument(Value leaf) {
  Value buffer = bufferOf(leaf);
  operands.push_back(buffer);
  return body->addArgument(buffer.getType(), buffer.getLoc());
}

Value KernelWriter::reshaped(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape) {
    return value;
  }
  while (auto inner = value.getDefiningOp<nn::ReshapeOp>()) {
    value = inner.getOperand();
  }
  if (shapeOf(value) == shape) {
    return value;
  }
  return inside.create<nn::ReshapeOp>(value.getLoc(), withShape(value, shape),
                                      value);
}

Value KernelWriter::cloneAt(Operation *op, ValueRange operands,
                            ArrayRef<int64_t> shape) {
  Operation *clone = inside.clone(*op);
  clone->setOperands(operands);
  clone->getResult(0).setType(withShape(op->getResult(0), shape));
  return clone->getResult(0);
}

/// A value at its own shape: a leaf, a view, or what is computed again.
Value KernelWriter::reading(Value value) {
  if (Value known = read.lookup(value)) {
    return known;
  }
  Operation *op = value.getDefiningOp();
  Value result;
  if (!op || spec.inputs.leaves.contains(value)) {
    result = argument(value);
  } else {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(reading(operand));
    }
    result = cloneAt(op, operands, shapeOf(value));
  }
  return read[value] = result;
}

/// A member's operand, with the shape of its level.
Value KernelWriter::operandAt(Value value, Level level) {
  Value &result = readAt[{value, static_cast<unsigned>(level)}];
  if (result) {
    return result;
  }
  Source source = trace(value);
  Value member = computed.lookup(source.root);
  ArrayRef<int64_t> shape = spec.shapeAt(level);
  if (!member) {
    return result = reshaped(reading(value), shape);
  }
  Relation::Kind relation = relate(source).kind;
  if (relation == Relation::First || relation == Relation::RowsFirst) {
    SmallVector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
    member = inside.create<nn::SliceOp>(
        value.getLoc(), withShape(member, spec.shapeAt(Level::Row)), member,
        starts, steps);
  }
  if (shapeOf(member) == shape) {
    return result = member;
  }
  return result = inside.create<nn::BroadcastOp>(
             value.getLoc(), withShape(member, shape), member);
}

void KernelWriter::writeMember(Operation *op) {
  Value result = op->getResult(0);
  if (spec.form == KernelForm::scan || spec.form == KernelForm::scatter) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(reading(operand));
    }
    computed[result] = cloneAt(op, operands, shapeOf(result));
    return;
  }
  Level level = spec.group->levels.lookup(op);
  if (isa<nn::GatherOp>(op)) {
    Value table = reading(op->getOperand(0));
    Value indices = reading(op->getOperand(1));
    Value rows = cloneAt(op, {table, indices}, shapeOf(result));
    computed[result] = reshaped(rows, spec.shapeAt(level));
    return;
  }
  auto reduce = dyn_cast<nn::ReduceOp>(op);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(operandAt(operand, reduce ? Level::Full : level));
  }
  if (!reduce) {
    computed[result] = cloneAt(op, operands, spec.shapeAt(level));
    return;
  }
  SmallVector<int64_t> shape(spec.shape);
  int64_t dim = shape.size() - (spec.form == KernelForm::rows ? 1 : 2);
  shape[dim] = 1;
  computed[result] = inside.create<nn::ReduceOp>(
      op->getLoc(), withShape(result, shape), reduce.getKind(), operands[0],
      ArrayRef<int64_t>(dim));
}

/// The names of everything that the kernel does; the last result's first,
/// since that is the name that messages show.
Location KernelWriter::location() const {
  llvm::SetVector<Location> parts;
  for (Value result : llvm::reverse(spec.results)) {
    parts.insert(result.getLoc());
  }
  for (Operation *member : spec.members) {
    parts.insert(member->getLoc());
  }
  return FusedLoc::get(builder.getContext(), parts.getArrayRef());
}

nn::KernelOp KernelWriter::write() {
  auto region = std::make_unique<Region>();
  body = &region->emplaceBlock();
  inside.setInsertionPointToStart(body);
  for (Operation *member : spec.members) {
    writeMember(member);
  }
  SmallVector<Value> yields;
  for (Value result : spec.results) {
    Value member = computed.lookup(result);
    yields.push_back(member ? member : reading(result));
  }
  Location loc = location();
  inside.create<nn::YieldOp>(loc, yields);
  auto kernel = builder.create<nn::KernelOp>(loc, TypeRange(ValueRange(yields)),
                                             spec.form, operands);
  kernel.getBody().takeBody(*region);
  return kernel;
}
