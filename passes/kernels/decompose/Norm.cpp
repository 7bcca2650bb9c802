//===- Norm.cpp - exact sums of squares -----------------------------------===//

#include "passes/ir/nn/Numerics.h"
#include "passes/kernels/decompose/Decomposition.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// Tells whether the limbs of a block lie in a column, blocks side by side, or
/// in a row of their own.
enum class Layout { column, row };

/// Numbers of limbs beside those of blocks.
SmallVector<int64_t> shapeFor(Layout layout, int64_t blocks, int64_t limbs) {
  return layout == Layout::column ? SmallVector<int64_t>{limbs, blocks}
                                  : SmallVector<int64_t>{blocks, limbs};
}

/// Makes a number for each limb, and one for the count, where `like` lies.
Value numbers(NNBuilder &b, Layout layout, Value like,
              function_ref<double(int)> ofLimb, double ofCount) {
  SmallVector<double> values;
  for (int i = 0; i < kLimbs; ++i) {
    values.push_back(ofLimb(i));
  }
  values.push_back(ofCount);
  auto type =
      cast<RankedTensorType>(like.getType())
          .clone(shapeFor(layout, 1, kLimbs + 1), b.builder.getF64Type());
  return b.builder.create<ConstantOp>(
      b.location, type, DenseElementsAttr::get(type, ArrayRef<double>(values)));
}

/// Returns what limb `i` counts.
double unitOf(int i) { return std::ldexp(1.0, kLimbBits * i - kLimbsBegin); }

/// One number a block.
Value sumBlocks(NNBuilder &b, Layout layout, Value flat) {
  int64_t blocks = shapeOf(flat)[0] / kSquareBlock;
  Value x = b.convert(b.reshape(flat, {blocks, kSquareBlock}),
                      b.builder.getF64Type());
  return b.reshape(b.sumRows(b.mul(x, x)), shapeFor(layout, blocks, 1));
}

/// Limbs of each block. Multiplying by a power of two, floor, and what is left
/// between two floors are exact.
Value cut(NNBuilder &b, Layout layout, Value sums, ArrayRef<int64_t> shape) {
  Value inUnits =
      b.broadcast(numbers(
                      b, layout, sums, [](int i) { return 1 / unitOf(i); }, 0),
                  shape);
  Value whole =
      b.unary(UnaryKind::floor, b.mul(b.broadcast(sums, shape), inUnits));
  Value above =
      b.unary(UnaryKind::floor, b.scale(whole, std::ldexp(1.0, -kLimbBits)));
  return b.sub(whole, b.scale(above, std::ldexp(1.0, kLimbBits)));
}

Value limbsOf(NNBuilder &b, Layout layout, Value flat) {
  Value sums = sumBlocks(b, layout, flat);
  SmallVector<int64_t> shape =
      shapeFor(layout, shapeOf(flat)[0] / kSquareBlock, kLimbs + 1);
  // False for a NaN too.
  Value good = b.compare(CompareKind::lt, sums,
                         b.splat(sums, std::ldexp(1.0, kLimbsBegin)));
  Value limbs = cut(b, layout, b.keepIf(good, sums), shape);
  Value bad = b.broadcast(b.zeroIf(good, b.splat(sums, 1)), shape);
  Value isCount = b.broadcast(numbers(
                                  b, layout, sums, [](int) { return 0; }, 1),
                              shape);
  return b.add(limbs, b.mul(bad, isCount));
}

Replacement sumSquares(SumSquaresOp op, NNBuilder &b) {
  Value sum;
  for (Value operand : op.getOperands()) {
    Value limbs =
        b.reshape(b.sumRows(limbsOf(b, Layout::column, operand)), {kLimbs + 1});
    sum = sum ? b.add(sum, limbs) : limbs;
  }
  return {sum};
}

Replacement blockSquares(BlockSquaresOp op, NNBuilder &b) {
  return {limbsOf(b, Layout::row, op.getOperand())};
}

Replacement limbValue(LimbValueOp op, NNBuilder &b) {
  int64_t rows = cast<RankedTensorType>(op.getType()).getDimSize(0);
  SmallVector<int64_t> shape = {rows, kLimbs + 1};
  Value limbs = b.reshape(op.getLimbs(), shape);
  Value terms = b.mul(
      limbs, b.broadcast(numbers(b, Layout::row, limbs, unitOf, 0), shape));
  Value sum = b.reshape(b.sumRows(terms), {rows});
  Value bad = b.reshape(b.slice(limbs, {0, kLimbs}, {1, 1}, {rows, 1}), {rows});
  Value isBad = b.compare(CompareKind::gt, bad, b.splat(bad, 0));
  Value infinite = b.splat(sum, std::numeric_limits<double>::infinity());
  return {b.select(isBad, infinite, sum)};
}

} // namespace

void nn::addNormDecompositions(RewritePatternSet &patterns,
                               const TargetInfo &target) {
  addDecomposition<SumSquaresOp, sumSquares>(patterns, target);
  addDecomposition<BlockSquaresOp, blockSquares>(patterns, target);
  addDecomposition<LimbValueOp, limbValue>(patterns, target);
}
