//===- Decompose.cpp - composites and reductions to the core --------------===//

#include "passes/differentiate/NNBuilder.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/Random.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// exp(x - max of its row), and the max as [..., 1].
struct ShiftedExponential {
  Value exponential;
  Value max;
};

ShiftedExponential shiftedExponential(NNBuilder &b, Value x) {
  int64_t last = shapeOf(x).size() - 1;
  Value max = b.reduce(ReduceKind::max, x, {last});
  Value shifted = b.sub(x, b.broadcast(max, shapeOf(x)));
  return {b.unary(UnaryKind::exp, shifted), max};
}

struct DecomposeSoftmax : OpRewritePattern<SoftmaxOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxOp op,
                                PatternRewriter &rewriter) const override {
    NNBuilder b(rewriter, op.getLoc());
    Value e = shiftedExponential(b, op.getOperand()).exponential;
    Value inverse = b.unary(UnaryKind::reciprocal, b.sumRows(e));
    rewriter.replaceOp(op, b.mul(e, b.broadcast(inverse, shapeOf(e))));
    return success();
  }
};

struct DecomposeLayerNorm : OpRewritePattern<LayerNormOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LayerNormOp op,
                                PatternRewriter &rewriter) const override {
    NNBuilder b(rewriter, op.getLoc());
    Value x = op.getOperand();
    ArrayRef<int64_t> shape = shapeOf(x);
    double overC = 1.0 / shape.back();
    Value mean = b.scale(b.sumRows(x), overC);
    Value centered = b.sub(x, b.broadcast(mean, shape));
    Value variance = b.scale(b.sumRows(b.mul(centered, centered)), overC);
    Value deviation = b.unary(
        UnaryKind::sqrt, b.shift(variance, op.getEpsilon().convertToDouble()));
    Value rstd = b.unary(UnaryKind::reciprocal, deviation);
    Value normal = b.mul(centered, b.broadcast(rstd, shape));
    SmallVector<int64_t> row(shape.size(), 1);
    row.back() = shape.back();
    auto alongRows = [&](Value v) {
      return b.broadcast(b.reshape(v, row), shape);
    };
    Value result =
        b.add(b.mul(normal, alongRows(op.getScale())), alongRows(op.getBias()));
    rewriter.replaceOp(op, {result, mean, rstd});
    return success();
  }
};

struct DecomposeSoftmaxCrossEntropy : OpRewritePattern<SoftmaxCrossEntropyOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SoftmaxCrossEntropyOp op,
                                PatternRewriter &rewriter) const override {
    NNBuilder b(rewriter, op.getLoc());
    Value x = op.getLogits();
    ArrayRef<int64_t> shape = shapeOf(x);
    auto [e, max] = shiftedExponential(b, x);
    Value lse = b.add(max, b.unary(UnaryKind::log, b.sumRows(e)));
    Value labels = b.broadcast(op.getLabels(), shape);
    Value classes = b.iota(shape, elementOf(labels), 1);
    Value atLabel = b.compare(CompareKind::eq, classes, labels);
    Value loss = b.sub(lse, b.sumRows(b.keepIf(atLabel, x)));
    rewriter.replaceOp(op, {loss, lse});
    return success();
  }
};

struct DecomposeConcat : OpRewritePattern<ConcatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConcatOp op,
                                PatternRewriter &rewriter) const override {
    NNBuilder b(rewriter, op.getLoc());
    ArrayRef<int64_t> shape = shapeOf(op);
    int64_t dim = op.getDim();
    int64_t end = shape[dim];
    Value position, result;
    // From the last operand to the first: each is chosen before its end.
    for (Value operand : llvm::reverse(op.getOperands())) {
      int64_t begin = end - shapeOf(operand)[dim];
      SmallVector<int64_t> low(shape.size(), 0);
      low[dim] = begin;
      Value padded = b.pad(operand, low, shape);
      if (!result) {
        result = padded;
        position = b.iota(shape, rewriter.getI64Type(), dim);
      } else {
        Value before =
            b.compare(CompareKind::lt, position, b.splat(position, end));
        result = b.select(before, padded, result);
      }
      end = begin;
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct DecomposeDropout : OpRewritePattern<DropoutOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DropoutOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getSamples()) {
      return failure(); // reported by the pass
    }
    NNBuilder b(rewriter, op.getLoc());
    Value x = op.getOperand();
    double ratio = op.getRatio().convertToDouble();
    Value uniform =
        randomUniform(b, shapeOf(x), *op.getSamples(), op.getNumber());
    Value kept = b.compare(CompareKind::ge, uniform, b.splat(uniform, ratio));
    rewriter.replaceOp(op, {b.keepIf(kept, b.scale(x, 1 / (1 - ratio))), kept});
    return success();
  }
};

struct DecomposeRandomLike : OpRewritePattern<RandomLikeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(RandomLikeOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getSamples()) {
      return failure(); // reported by the pass
    }
    NNBuilder b(rewriter, op.getLoc());
    rewriter.replaceOp(
        op, randomUniform(b, shapeOf(op), *op.getSamples(), op.getNumber()));
    return success();
  }
};

/// A run of neighbouring dimensions that are all reduced or all kept.
struct Group {
  int64_t size;
  bool reduced;
};

SmallVector<Group> groupDims(ReduceOp op) {
  SmallVector<Group> groups;
  for (auto [dim, size] : llvm::enumerate(shapeOf(op.getOperand()))) {
    bool reduced = llvm::is_contained(op.getDims(), static_cast<int64_t>(dim));
    if (size == 1) {
      continue;
    }
    if (!groups.empty() && groups.back().reduced == reduced) {
      groups.back().size *= size;
    } else {
      groups.push_back({size, reduced});
    }
  }
  return groups;
}

/// Reduces the last reduced group of `x`, whose elements are those of `groups`
/// in row-major order, and drops it from the list.
Value reduceLastGroup(NNBuilder &b, ReduceKind kind, Value x,
                      SmallVector<Group> &groups) {
  auto last = std::prev(groups.end());
  while (!last->reduced) {
    --last;
  }
  int64_t outer = 1, inner = 1;
  for (auto it = groups.begin(); it != last; ++it) {
    outer *= it->size;
  }
  for (auto it = std::next(last); it != groups.end(); ++it) {
    inner *= it->size;
  }
  int64_t size = last->size;
  groups.erase(last);
  if (inner == 1) {
    return b.reduce(kind, b.reshape(x, {outer, size}), {1});
  }
  if (outer == 1) {
    return b.reduce(kind, b.reshape(x, {size, inner}), {0});
  }
  return b.reduce(kind, b.reshape(x, {outer, size, inner}), {1});
}

bool isCanonical(ReduceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand()), dims = op.getDims();
  if (dims.size() != 1) {
    return false;
  }
  return (shape.size() == 2 && (dims[0] == 1 || shape[1] != 1)) ||
         (shape.size() == 3 && dims[0] == 1 && shape[0] != 1 && shape[2] != 1);
}

struct CanonicalizeReduce : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp op,
                                PatternRewriter &rewriter) const override {
    if (isCanonical(op)) {
      return failure();
    }
    NNBuilder b(rewriter, op.getLoc());
    SmallVector<Group> groups = groupDims(op);
    Value x = op.getOperand();
    while (llvm::any_of(groups, [](Group group) { return group.reduced; })) {
      x = reduceLastGroup(b, op.getKind(), x, groups);
    }
    rewriter.replaceOp(op, b.reshape(x, shapeOf(op)));
    return success();
  }
};

struct DecomposePass : mlir::zg::nn::impl::DecomposeBase<DecomposePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DecomposeSoftmax, DecomposeLayerNorm,
                 DecomposeSoftmaxCrossEntropy, DecomposeConcat,
                 DecomposeDropout, DecomposeRandomLike, CanonicalizeReduce>(
        &getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(),
                                            std::move(patterns)))) {
      return signalPassFailure();
    }
    getOperation().walk([&](Operation *op) {
      if (isa<DropoutOp, RandomLikeOp>(op)) {
        op->emitError("node '")
            << nameOf(op->getLoc())
            << "': nothing says which samples it has; run nn-track-samples";
        signalPassFailure();
      }
    });
  }
};

} // namespace
