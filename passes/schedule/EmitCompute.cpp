//===- EmitCompute.cpp - steps that compute -------------------------------===//

#include "passes/schedule/StepEmitter.h"

#include "passes/ir/nn/Convolution.h"
#include "passes/ir/zero/ZeroSpaces.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::sched;

LogicalResult StepEmitter::launch(Operation *op) {
  bool onHost = zero::isOnHost(op);
  // Launches of the host leave nothing for each other.
  FailureOr<int64_t> scratch =
      onHost ? FailureOr<int64_t>(0) : target.kernelScratchBytes(op);
  if (failed(scratch)) {
    return failure();
  }
  FailureOr<Accesses> accesses = computeAccesses(op, *scratch);
  if (failed(accesses)) {
    return failure();
  }
  create<LaunchOp>(onHost ? Stream::update : Stream::compute, *accesses, label,
                   kernels.intern(op));
  return success();
}

FailureOr<StepEmitter::Accesses> StepEmitter::computeAccesses(Operation *op,
                                                              int64_t scratch) {
  Accesses accesses;
  for (Value operand : op->getOperands()) {
    if (operand.getDefiningOp<nn::ConstantOp>()) {
      return op->emitOpError("reads a constant that is in no kernel");
    }
    add(accesses, Mode::read, operand);
  }
  for (Value result : op->getResults()) {
    add(accesses, Mode::write, result);
  }
  addScratch(accesses, scratch);
  return accesses;
}

void StepEmitter::addScratch(Accesses &accesses, int64_t bytes) {
  if (bytes > 0) {
    add(accesses, Mode::write,
        slices.create("scratch of " + label, location, SliceClass::staging,
                      bytes),
        bytes);
  }
}

/// Returns what a library's product touches. It adds to what lies where its
/// result does: a sum that could not be made there is copied there first.
FailureOr<StepEmitter::Accesses> StepEmitter::productAccesses(nn::MatmulOp op,
                                                              int64_t scratch) {
  Value into = op.getInto(), result = op.getResult();
  if (!into && !op.getBias()) {
    return computeAccesses(op, scratch);
  }
  Place to = storage.place(result);
  if (into && storage.place(into) != to) {
    copy(storage.place(into), to, bytesOf(into), label);
  }
  Accesses accesses;
  add(accesses, Mode::read, op.getLhs());
  add(accesses, Mode::read, op.getRhs());
  add(accesses, into ? Mode::read_write : Mode::write, result);
  if (op.getBias()) {
    add(accesses, Mode::read, op.getBias());
  }
  addScratch(accesses, scratch);
  return accesses;
}

LogicalResult StepEmitter::matmul(nn::MatmulOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  auto lhs = cast<RankedTensorType>(op.getLhs().getType());
  if (!target.hasMatmul(lhs.getElementType())) {
    return launch(op);
  }
  int64_t rank = type.getRank();
  MatmulShape shape;
  shape.elementType = lhs.getElementType();
  if (type.getElementType() != shape.elementType) {
    shape.resultType = type.getElementType();
  }
  for (int64_t size : type.getShape().drop_back(2)) {
    shape.batch *= size;
  }
  shape.m = type.getDimSize(rank - 2);
  shape.n = type.getDimSize(rank - 1);
  shape.k = lhs.getDimSize(op.getTransposeA() ? rank - 2 : rank - 1);
  shape.transposeA = op.getTransposeA();
  shape.transposeB = op.getTransposeB();
  shape.accumulate = bool(op.getInto());
  shape.bias = bool(op.getBias());

  std::string error;
  FailureOr<int64_t> scratch = target.matmulScratchBytes(shape, error);
  if (failed(scratch)) {
    return op.emitOpError("is refused by the library: ") << error;
  }
  FailureOr<Accesses> accesses = productAccesses(op, *scratch);
  if (failed(accesses)) {
    return failure();
  }
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  auto flag = [&](bool set) {
    return set ? builder.getUnitAttr() : UnitAttr();
  };
  auto leading = [&](Value matrix) {
    auto lies = cast<RankedTensorType>(matrix.getType());
    return nn::isDense(lies) ? IntegerAttr() : number(nn::rowStrideOf(lies));
  };
  create<MatmulOp>(
      Stream::compute, *accesses, label, TypeAttr::get(shape.elementType),
      shape.resultType ? TypeAttr::get(shape.resultType) : TypeAttr(),
      number(shape.batch), number(shape.m), number(shape.n), number(shape.k),
      flag(shape.transposeA), flag(shape.transposeB), flag(shape.accumulate),
      flag(shape.bias), leading(op.getLhs()), leading(op.getRhs()),
      leading(op.getResult()));
  return success();
}

LogicalResult StepEmitter::convolution(nn::ConvolutionOp op) {
  nn::Convolution shape(op);
  std::string error;
  FailureOr<int64_t> scratch = target.convolutionScratchBytes(shape, error);
  if (failed(scratch)) {
    return op.emitOpError("is refused by the library: ") << error;
  }
  FailureOr<Accesses> accesses = computeAccesses(op, *scratch);
  if (failed(accesses)) {
    return failure();
  }
  create<ConvolutionOp>(
      Stream::compute, *accesses, label, op.getKindAttr(), op.getStridesAttr(),
      op.getLowAttr(), op.getDilationsAttr(), op.getGroupsAttr(),
      TypeAttr::get(op.getLhs().getType()),
      TypeAttr::get(op.getRhs().getType()), TypeAttr::get(op.getType()));
  return success();
}
