//===- Norm.cpp - exact sums of squares -----------------------------------===//

#include "passes/ir/nn/Numerics.h"
#include "passes/kernels/decompose/Decomposition.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// `tensor<33x1xf64>`: a number for each limb, and one for the count.
Value column(NNBuilder &b, function_ref<double(int)> ofLimb, double ofCount) {
  SmallVector<double> values;
  for (int i = 0; i < kLimbs; ++i) {
    values.push_back(ofLimb(i));
  }
  values.push_back(ofCount);
  auto type = RankedTensorType::get({kLimbs + 1, 1}, b.builder.getF64Type());
  return b.builder.create<ConstantOp>(
      b.location, type, DenseElementsAttr::get(type, ArrayRef<double>(values)));
}

/// What limb `i` counts.
double unitOf(int i) { return std::ldexp(1.0, kLimbBits * i - kLimbsBegin); }

/// `tensor<1xBxf64>`, one a block.
Value sumBlocks(NNBuilder &b, Value flat) {
  int64_t blocks = shapeOf(flat)[0] / kSquareBlock;
  Value x = b.convert(b.reshape(flat, {blocks, kSquareBlock}),
                      b.builder.getF64Type());
  return b.reshape(b.sumRows(b.mul(x, x)), {1, blocks});
}

/// Limbs of each block, side by side: `tensor<33xBxf64>`. Multiplying by a
/// power of two, floor, and what is left between two floors are exact.
Value cut(NNBuilder &b, Value sums) {
  SmallVector<int64_t> shape = {kLimbs + 1, shapeOf(sums)[1]};
  Value inUnits = b.broadcast(column(
                                  b, [](int i) { return 1 / unitOf(i); }, 0),
                              shape);
  Value whole =
      b.unary(UnaryKind::floor, b.mul(b.broadcast(sums, shape), inUnits));
  Value above =
      b.unary(UnaryKind::floor, b.scale(whole, std::ldexp(1.0, -kLimbBits)));
  return b.sub(whole, b.scale(above, std::ldexp(1.0, kLimbBits)));
}

Value limbsOf(NNBuilder &b, Value flat) {
  Value sums = sumBlocks(b, flat);
  SmallVector<int64_t> shape = {kLimbs + 1, shapeOf(sums)[1]};
  // False for a NaN too.
  Value good = b.compare(CompareKind::lt, sums,
                         b.splat(sums, std::ldexp(1.0, kLimbsBegin)));
  Value limbs = cut(b, b.keepIf(good, sums));
  Value bad = b.broadcast(b.zeroIf(good, b.splat(sums, 1)), shape);
  Value isCount = b.broadcast(column(
                                  b, [](int) { return 0; }, 1),
                              shape);
  Value both = b.add(limbs, b.mul(bad, isCount));
  return b.reshape(b.sumRows(both), {kLimbs + 1});
}

Replacement sumSquares(SumSquaresOp op, NNBuilder &b) {
  Value sum;
  for (Value operand : op.getOperands()) {
    Value limbs = limbsOf(b, operand);
    sum = sum ? b.add(sum, limbs) : limbs;
  }
  return {sum};
}

Replacement limbValue(LimbValueOp op, NNBuilder &b) {
  Value limbs = op.getLimbs();
  Value terms = b.mul(b.reshape(limbs, {kLimbs + 1, 1}), column(b, unitOf, 0));
  Value sum = b.reshape(b.sumRows(b.reshape(terms, {1, kLimbs + 1})), {1});
  Value bad = b.slice(limbs, {kLimbs}, {1}, {1});
  Value isBad = b.compare(CompareKind::gt, bad, b.splat(bad, 0));
  Value infinite = b.splat(sum, std::numeric_limits<double>::infinity());
  return {b.select(isBad, infinite, sum)};
}

} // namespace

void nn::addNormDecompositions(RewritePatternSet &patterns,
                               const TargetInfo &target) {
  addDecomposition<SumSquaresOp, sumSquares>(patterns, target);
  addDecomposition<LimbValueOp, limbValue>(patterns, target);
}
