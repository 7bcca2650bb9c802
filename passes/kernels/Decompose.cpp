//===- Decompose.cpp - composites and reductions to the core --------------===//

#include "passes/ir/RewriteConfig.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/decompose/Decomposition.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

struct DecomposePass : nn::impl::DecomposeBase<DecomposePass> {
  explicit DecomposePass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    addAttentionDecompositions(patterns, target);
    addSoftmaxDecompositions(patterns, target);
    addLayerNormDecompositions(patterns, target);
    addCrossEntropyDecompositions(patterns, target);
    addRandomDecompositions(patterns, target);
    addConcatDecompositions(patterns, target);
    addReduceDecompositions(patterns, target);
    addNormDecompositions(patterns, target);
    addPoolDecompositions(patterns, target);
    addConvolutionDecompositions(patterns, target);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns),
                                            rewriteConfig()))) {
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

  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createDecompose(const TargetInfo &target) {
  return std::make_unique<DecomposePass>(target);
}
