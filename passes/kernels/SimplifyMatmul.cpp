//===- SimplifyMatmul.cpp - folds transpositions into matmul --------------===//

#include "passes/ir/RewriteConfig.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Members.h"
#include "passes/kernels/Passes.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SIMPLIFYMATMUL
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::kernels;

namespace {

RankedTensorType typeLike(Value value, ArrayRef<int64_t> shape) {
  return cast<RankedTensorType>(value.getType()).clone(shape);
}

Value swapLastTwo(OpBuilder &builder, nn::TransposeOp op) {
  SmallVector<int64_t> permutation(op.getPermutation());
  SmallVector<int64_t> shape(shapeOf(op.getResult()));
  std::swap(permutation.end()[-1], permutation.end()[-2]);
  std::swap(shape.end()[-1], shape.end()[-2]);
  return builder.createOrFold<nn::TransposeOp>(op.getLoc(),
                                               typeLike(op.getResult(), shape),
                                               op.getOperand(), permutation);
}

/// The value whose last two dimensions, swapped, are `operand`, if it is less
/// work to make; null otherwise.
Value withoutTransposition(OpBuilder &builder, Value operand) {
  if (auto reshape = operand.getDefiningOp<nn::ReshapeOp>()) {
    // Only batch dimensions may be reshaped on the way.
    ArrayRef<int64_t> from = shapeOf(reshape.getOperand());
    ArrayRef<int64_t> to = shapeOf(operand);
    if (from.size() < 2 || from.take_back(2) != to.take_back(2)) {
      return {};
    }
    Value inner = withoutTransposition(builder, reshape.getOperand());
    if (!inner) {
      return {};
    }
    SmallVector<int64_t> shape(to);
    std::swap(shape.end()[-1], shape.end()[-2]);
    return builder.createOrFold<nn::ReshapeOp>(reshape.getLoc(),
                                               typeLike(operand, shape), inner);
  }
  auto transpose = operand.getDefiningOp<nn::TransposeOp>();
  if (!transpose) {
    return {};
  }
  ArrayRef<int64_t> permutation = transpose.getPermutation();
  int64_t rank = permutation.size();
  // The innermost dimension becomes innermost again.
  bool innermost = rank >= 2 && permutation[rank - 2] == rank - 1;
  return innermost ? swapLastTwo(builder, transpose) : Value();
}

struct FoldOperandTranspose : OpRewritePattern<nn::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    Value lhs = withoutTransposition(rewriter, op.getLhs());
    Value rhs = withoutTransposition(rewriter, op.getRhs());
    if (!lhs && !rhs) {
      return failure();
    }
    rewriter.modifyOpInPlace(op, [&]() {
      if (lhs) {
        op.getLhsMutable().assign(lhs);
        op.setTransposeA(!op.getTransposeA());
      }
      if (rhs) {
        op.getRhsMutable().assign(rhs);
        op.setTransposeB(!op.getTransposeB());
      }
    });
    return success();
  }
};

/// transpose(a b) = transpose(b) transpose(a)
struct FoldResultTranspose : OpRewritePattern<nn::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto matmul = op.getOperand().getDefiningOp<nn::MatmulOp>();
    ArrayRef<int64_t> permutation = op.getPermutation();
    int64_t rank = permutation.size();
    if (!matmul || matmul.getInto() || matmul.getBias() ||
        !matmul->hasOneUse()) {
      return failure();
    }
    for (int64_t dim = 0; dim < rank; ++dim) {
      int64_t swapped =
          dim < rank - 2 ? dim : (dim == rank - 2 ? rank - 1 : rank - 2);
      if (permutation[dim] != swapped) {
        return failure();
      }
    }
    // At the matmul's place, so that the result is not later than it was.
    rewriter.setInsertionPoint(matmul);
    Value result = rewriter.create<nn::MatmulOp>(
        matmul.getLoc(), op.getType(), matmul.getRhs(), matmul.getLhs(),
        /*into=*/Value(), /*bias=*/Value(), !matmul.getTransposeB(),
        !matmul.getTransposeA());
    rewriter.replaceOp(op, result);
    rewriter.eraseOp(matmul);
    return success();
  }
};

/// [B, M, K] x one [K, N] for the whole batch = [B * M, K] x [K, N]
struct MergeBatch : OpRewritePattern<nn::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(nn::MatmulOp op,
                                PatternRewriter &rewriter) const override {
    auto broadcast = op.getRhs().getDefiningOp<nn::BroadcastOp>();
    if (!broadcast || op.getTransposeA() || op.getInto()) {
      return failure();
    }
    ArrayRef<int64_t> from = shapeOf(broadcast.getOperand());
    ArrayRef<int64_t> a = shapeOf(op.getLhs()), c = shapeOf(op.getResult());
    if (from.take_back(2) != shapeOf(op.getRhs()).take_back(2) ||
        llvm::any_of(from.drop_back(2), [](int64_t d) { return d != 1; })) {
      return failure();
    }
    int64_t batch = 1;
    for (int64_t size : a.drop_back(1)) {
      batch *= size;
    }
    auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
      return rewriter.createOrFold<nn::ReshapeOp>(
          op.getLoc(), typeLike(value, shape), value);
    };
    Value lhs = reshape(op.getLhs(), {batch, a.back()});
    Value rhs = reshape(broadcast.getOperand(), from.take_back(2));
    Value product = rewriter.create<nn::MatmulOp>(
        op.getLoc(), typeLike(op.getResult(), {batch, c.back()}), lhs, rhs,
        /*into=*/Value(), op.getBias(), /*transpose_a=*/false,
        op.getTransposeB());
    rewriter.replaceOp(op, reshape(product, c));
    return success();
  }
};

struct SimplifyMatmulPass : nn::impl::SimplifyMatmulBase<SimplifyMatmulPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldOperandTranspose, FoldResultTranspose, MergeBatch>(
        &getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns),
                                            rewriteConfig()))) {
      signalPassFailure();
    }
  }
};

} // namespace
