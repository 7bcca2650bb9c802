//===- Attention.cpp - attention and its gradient by core ops -------------===//

#include "passes/ir/nn/Attention.h"
#include "passes/kernels/decompose/Decomposition.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// Returns [batch, rows, heads, columns] as [batch, heads, rows, columns], and
/// the other way round.
Value swapHeads(NNBuilder &b, Value value) {
  return b.transpose(value, {0, 2, 1, 3});
}

/// Returns the products of two batches of matrices, of this element type.
Value product(NNBuilder &b, Value left, Value right, bool transposeLeft,
              bool transposeRight, Type element) {
  SmallVector<int64_t> shape(shapeOf(left));
  size_t rank = shape.size();
  shape[rank - 2] = shape[rank - (transposeLeft ? 1 : 2)];
  shape[rank - 1] = shapeOf(right)[rank - (transposeRight ? 2 : 1)];
  return b.matmul(left, right, transposeLeft, transposeRight,
                  RankedTensorType::get(shape, element));
}

/// Returns the matrices of heads, [batch, heads, rows, columns], one below the
/// other where they share a head of keys.
Value grouped(NNBuilder &b, Value matrices, const AttentionShape &shape) {
  ArrayRef<int64_t> own = shapeOf(matrices);
  return b.reshape(
      matrices, {shape.batch, shape.keyHeads, shape.group() * own[2], own[3]});
}

/// Returns grouped products of queries as [batch, heads, queries, columns].
Value ungrouped(NNBuilder &b, Value matrices, const AttentionShape &shape) {
  return b.reshape(matrices, {shape.batch, shape.heads, shape.queries,
                              shapeOf(matrices).back()});
}

/// Returns [batch, heads, queries, keys] as a region has scores, or back.
Value swapKeys(NNBuilder &b, Value scores) {
  return b.transpose(scores, {0, 1, 3, 2});
}

/// Returns what an op's region yields of `given` and of its extras, with
/// queries before keys.
SmallVector<Value> inlined(NNBuilder &b, Region &region, ValueRange given,
                           ValueRange extras) {
  Block &block = region.front();
  IRMapping mapping;
  mapping.map(block.getArguments().take_front(given.size()), given);
  mapping.map(block.getArguments().drop_front(given.size()), extras);
  for (Operation &member : block.without_terminator()) {
    b.builder.clone(member, mapping);
  }
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands()) {
    results.push_back(swapKeys(b, mapping.lookupOrDefault(value)));
  }
  return results;
}

/// Returns a number a query, [batch, heads, queries], for each of its keys.
Value alongKeys(NNBuilder &b, Value rows, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> kept(shape);
  kept.back() = 1;
  return b.broadcast(b.reshape(rows, kept), shape);
}

Replacement attention(AttentionOp op, NNBuilder &b) {
  Type element = elementOf(op.getMax()), own = elementOf(op.getQ());
  auto shape = AttentionShape::of(op.getQ().getType(), op.getK().getType(),
                                  op.getV().getType());
  Value q = grouped(b, swapHeads(b, op.getQ()), shape);
  Value k = swapHeads(b, op.getK()), v = swapHeads(b, op.getV());
  Value products = product(b, q, k, false, true, element);
  Value scores = swapKeys(b, ungrouped(b, products, shape));
  SmallVector<Value> yields =
      inlined(b, op.getScores(), scores, op.getExtras());
  Value x = yields.front();
  int64_t last = shapeOf(x).size() - 1;
  Value max = b.reduce(ReduceKind::max, x, {last});
  auto zeroIfEqual = [&](Value tested, double number, Value otherwise) {
    Value equal = b.compare(CompareKind::eq, tested, b.splat(tested, number));
    return b.select(equal, b.splat(otherwise, 0), otherwise);
  };
  if (op.getZeroMasked()) {
    max = zeroIfEqual(max, -std::numeric_limits<double>::infinity(), max);
  }
  Value e = b.unary(UnaryKind::exp, b.sub(x, b.broadcast(max, shapeOf(x))));
  Value sum = b.sumRows(e);
  Value inverse = b.unary(UnaryKind::reciprocal, sum);
  if (op.getZeroMasked()) {
    inverse = zeroIfEqual(sum, 0, inverse);
  }
  Value kept = yields.size() > 1 ? b.mul(e, yields[1]) : e;
  Value weights = grouped(b, b.convert(kept, own), shape);
  Value out =
      ungrouped(b, product(b, weights, v, false, false, element), shape);
  out = b.mul(out, b.broadcast(inverse, shapeOf(out)));
  return {swapHeads(b, b.convert(out, own)),
          b.reshape(max, shapeOf(op.getMax())),
          b.reshape(inverse, shapeOf(op.getInverse()))};
}

Replacement attentionGrad(AttentionGradOp op, NNBuilder &b) {
  Type element = elementOf(op.getMax()), own = elementOf(op.getQ());
  auto shape = AttentionShape::of(op.getQ().getType(), op.getK().getType(),
                                  op.getV().getType());
  Value q = grouped(b, swapHeads(b, op.getQ()), shape);
  Value dout = grouped(b, swapHeads(b, op.getDout()), shape);
  Value k = swapHeads(b, op.getK()), v = swapHeads(b, op.getV());
  Value products = product(b, q, k, false, true, element);
  Value scores = swapKeys(b, ungrouped(b, products, shape));
  Value dp = ungrouped(b, product(b, dout, v, false, true, element), shape);
  // Only the gradient depends on the region's second argument.
  SmallVector<Value> yields =
      inlined(b, op.getScores(), {scores, scores}, op.getExtras());
  Value x = yields.front();
  unsigned factor = scoreYieldsOf(op);
  auto weighed = [&](Value value) {
    return yields.size() > factor ? b.mul(value, yields[factor]) : value;
  };
  Value e =
      b.unary(UnaryKind::exp, b.sub(x, alongKeys(b, op.getMax(), shapeOf(x))));
  Value p = b.mul(e, alongKeys(b, op.getInverse(), shapeOf(x)));
  Value above = b.sub(weighed(dp), alongKeys(b, op.getDelta(), shapeOf(x)));
  Value dx = swapKeys(b, b.mul(p, above));
  SmallVector<Value> gradients =
      inlined(b, op.getScores(), {scores, dx}, op.getExtras());
  Value weights = grouped(b, b.convert(weighed(p), own), shape);
  Value dv = product(b, weights, dout, true, false, own);
  Value narrow = grouped(b, b.convert(gradients[1], own), shape);
  Value dq = ungrouped(b, product(b, narrow, k, false, false, own), shape);
  Value dk = product(b, narrow, q, true, false, own);
  Replacement results = {swapHeads(b, dq), swapHeads(b, dk), swapHeads(b, dv)};
  if (op.getDbias()) {
    Value sum = b.sum(swapKeys(b, gradients[2]), {0});
    results.push_back(b.reshape(sum, shape.bias()));
  }
  return results;
}

} // namespace

void mlir::zg::nn::addAttentionDecompositions(RewritePatternSet &patterns,
                                              const TargetInfo &target) {
  addDecomposition<AttentionOp, attention>(patterns, target);
  addDecomposition<AttentionGradOp, attentionGrad>(patterns, target);
}
