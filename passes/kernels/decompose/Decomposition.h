//===- Decomposition.h - how one op is said by others ---------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_DECOMPOSE_DECOMPOSITION_H
#define ZEROGRAPH_PASSES_KERNELS_DECOMPOSE_DECOMPOSITION_H

#include "mlir/IR/PatternMatch.h"
#include "passes/analysis/TargetInfo.h"
#include "passes/ir/nn/NNBuilder.h"

namespace mlir::zg::nn {

/// The values that replace the results of an op, one each; none where it stays.
using Replacement = SmallVector<Value, 3>;

/// A decomposition is a function `Replacement build(Op op, NNBuilder &b)`. It
/// is not asked for composites that the target keeps.
template <typename Op, Replacement (*build)(Op, NNBuilder &)>
struct Decomposition : OpRewritePattern<Op> {
  Decomposition(MLIRContext *context, const TargetInfo &target)
      : OpRewritePattern<Op>(context), target(target) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto composite = dyn_cast<CompositeOpInterface>(op.getOperation());
    if (composite &&
        target.keeps(composite.getComposite(),
                     cast<RankedTensorType>(op->getOperand(0).getType()))) {
      return failure();
    }
    NNBuilder b(rewriter, op.getLoc());
    Replacement replacement = build(op, b);
    if (replacement.empty()) {
      return failure();
    }
    rewriter.replaceOp(op, replacement);
    return success();
  }

private:
  const TargetInfo &target;
};

template <typename Op, Replacement (*build)(Op, NNBuilder &)>
void addDecomposition(RewritePatternSet &patterns, const TargetInfo &target) {
  patterns.add<Decomposition<Op, build>>(patterns.getContext(), target);
}

// One function a family, each in the file of its name.
void addAttentionDecompositions(RewritePatternSet &, const TargetInfo &);
void addSoftmaxDecompositions(RewritePatternSet &, const TargetInfo &);
void addLayerNormDecompositions(RewritePatternSet &, const TargetInfo &);
void addCrossEntropyDecompositions(RewritePatternSet &, const TargetInfo &);
void addRandomDecompositions(RewritePatternSet &, const TargetInfo &);
void addConcatDecompositions(RewritePatternSet &, const TargetInfo &);
void addReduceDecompositions(RewritePatternSet &, const TargetInfo &);
void addNormDecompositions(RewritePatternSet &, const TargetInfo &);
void addPoolDecompositions(RewritePatternSet &, const TargetInfo &);
/// Asks `TargetInfo::hasConvolution`.
void addConvolutionDecompositions(RewritePatternSet &, const TargetInfo &);

/// exp(x - max of its row), and the max as [..., 1].
struct ShiftedExponential {
  Value exponential;
  Value max;
};
ShiftedExponential shiftedExponential(NNBuilder &b, Value x);

/// The mean and the variance, sum((x - mean)^2) / n, of the n elements along
/// `dims`, which stay with size 1; and x - mean, for which the mean is not
/// rounded. Where all n are equal, the mean is that number and the others are
/// 0.
struct Moments {
  Value mean, variance, centered;
};
Moments momentsOf(NNBuilder &b, Value x, ArrayRef<int64_t> dims);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_KERNELS_DECOMPOSE_DECOMPOSITION_H
