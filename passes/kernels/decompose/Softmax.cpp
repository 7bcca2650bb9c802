//===- Softmax.cpp - softmax and its gradient by core ops -----------------===//

#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

ShiftedExponential mlir::zg::nn::shiftedExponential(NNBuilder &b, Value x) {
  int64_t last = shapeOf(x).size() - 1;
  Value max = b.reduce(ReduceKind::max, x, {last});
  Value shifted = b.sub(x, b.broadcast(max, shapeOf(x)));
  return {b.unary(UnaryKind::exp, shifted), max};
}

namespace {

Replacement softmax(SoftmaxOp op, NNBuilder &b) {
  Value e = shiftedExponential(b, op.getOperand()).exponential;
  Value inverse = b.unary(UnaryKind::reciprocal, b.sumRows(e));
  return {b.mul(e, b.broadcast(inverse, shapeOf(e)))};
}

Replacement softmaxGrad(SoftmaxGradOp op, NNBuilder &b) {
  Value y = op.getY(), dy = op.getDy();
  Value along = b.sumRows(b.mul(dy, y));
  return {b.mul(b.sub(dy, b.broadcast(along, shapeOf(y))), y)};
}

} // namespace

void mlir::zg::nn::addSoftmaxDecompositions(RewritePatternSet &patterns,
                                            const TargetInfo &target) {
  addDecomposition<SoftmaxOp, softmax>(patterns, target);
  addDecomposition<SoftmaxGradOp, softmaxGrad>(patterns, target);
}
