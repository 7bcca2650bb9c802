//===- LayerNorm.cpp - layer_norm and its gradients by core ops -----------===//

#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// [C] as every row of `shape`.
Value alongRows(Value x, ArrayRef<int64_t> shape, NNBuilder &b) {
  SmallVector<int64_t> row(shape.size(), 1);
  row.back() = shape.back();
  return b.broadcast(b.reshape(x, row), shape);
}

/// Sums `x` over all but the last dimension into the shape [C].
Value sumColumns(Value x, NNBuilder &b) {
  int64_t columns = shapeOf(x).back();
  int64_t rows = ShapedType::getNumElements(shapeOf(x).drop_back());
  Value sum = b.sum(b.reshape(x, {rows, columns}), {0});
  return b.reshape(sum, {columns});
}

Replacement layerNorm(LayerNormOp op, NNBuilder &b) {
  Value x = op.getOperand();
  ArrayRef<int64_t> shape = shapeOf(x);
  Moments moments = momentsOf(b, x, {static_cast<int64_t>(shape.size()) - 1});
  Value mean = moments.mean, variance = moments.variance;
  // As the gradient op takes it from x, so that both can be one.
  Value centered = b.sub(x, b.broadcast(mean, shape));
  Value deviation = b.unary(
      UnaryKind::sqrt, b.shift(variance, op.getEpsilon().convertToDouble()));
  Value rstd = b.unary(UnaryKind::reciprocal, deviation);
  Value normal = b.mul(centered, b.broadcast(rstd, shape));
  Value scaled = b.mul(normal, alongRows(op.getScale(), shape, b));
  return {b.add(scaled, alongRows(op.getBias(), shape, b)), mean, rstd};
}

/// dx = rstd * ((dn - mean(dn)) - n * mean(dn * n)), n being (x - mean) * rstd
/// and dn = dy * scale.
Replacement layerNormGrad(LayerNormGradOp op, NNBuilder &b) {
  Value dy = op.getDy();
  ArrayRef<int64_t> shape = shapeOf(dy);
  double overC = 1.0 / shape.back();
  Value rows = b.sub(op.getOperand(), b.broadcast(op.getMean(), shape));
  Value rstd = b.broadcast(op.getRstd(), shape);
  Value normal = b.mul(rows, rstd);

  Value dn = b.mul(dy, alongRows(op.getScale(), shape, b));
  Value mean = b.scale(b.sumRows(dn), overC);
  Value slope = b.scale(b.sumRows(b.mul(dn, normal)), overC);
  Value centered = b.sub(dn, b.broadcast(mean, shape));
  Value turned = b.mul(normal, b.broadcast(slope, shape));
  Value dx = b.mul(b.sub(centered, turned), rstd);
  return {dx, sumColumns(b.mul(dy, normal), b), sumColumns(dy, b)};
}

} // namespace

void mlir::zg::nn::addLayerNormDecompositions(RewritePatternSet &patterns,
                                              const TargetInfo &target) {
  addDecomposition<LayerNormOp, layerNorm>(patterns, target);
  addDecomposition<LayerNormGradOp, layerNormGrad>(patterns, target);
}
