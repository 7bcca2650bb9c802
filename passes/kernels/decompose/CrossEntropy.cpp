//===- CrossEntropy.cpp - softmax_cross_entropy by core ops ---------------===//

#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// Tells whether an element of the logits is the one of its row's label.
Value isAtLabel(Value labels, ArrayRef<int64_t> shape, NNBuilder &b) {
  Value wanted = b.broadcast(labels, shape);
  Value classes = b.iota(RankedTensorType::get(shape, elementOf(labels)), 1);
  return b.compare(CompareKind::eq, classes, wanted);
}

Replacement crossEntropy(SoftmaxCrossEntropyOp op, NNBuilder &b) {
  Value x = op.getLogits();
  auto [e, max] = shiftedExponential(b, x);
  Value logSum = b.unary(UnaryKind::log, b.sumRows(e));
  Value atLabel = isAtLabel(op.getLabels(), shapeOf(x), b);
  Value below = b.sub(max, b.sumRows(b.keepIf(atLabel, x)));
  return {b.add(logSum, below), max, logSum};
}

Replacement crossEntropyGrad(SoftmaxCrossEntropyGradOp op, NNBuilder &b) {
  Value x = op.getLogits(), dloss = op.getDloss();
  ArrayRef<int64_t> shape = shapeOf(x);
  Value both = op.getDlogSum() ? b.add(dloss, op.getDlogSum()) : dloss;
  Value softmax = b.softmaxRows(x, op.getMax(), op.getLogSum());
  Value dx = b.mul(softmax, b.broadcast(both, shape));
  Value atLabel = isAtLabel(op.getLabels(), shape, b);
  return {b.select(atLabel, b.sub(dx, b.broadcast(dloss, shape)), dx)};
}

} // namespace

void mlir::zg::nn::addCrossEntropyDecompositions(RewritePatternSet &patterns,
                                                 const TargetInfo &target) {
  addDecomposition<SoftmaxCrossEntropyOp, crossEntropy>(patterns, target);
  addDecomposition<SoftmaxCrossEntropyGradOp, crossEntropyGrad>(patterns,
                                                                target);
}
