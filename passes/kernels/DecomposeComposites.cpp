//===- DecomposeComposites.cpp - composites and pools to the core ---------===//

#include "passes/kernels/Passes.h"
#include "passes/kernels/decompose/Decomposition.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_DECOMPOSECOMPOSITES
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

struct DecomposeCompositesPass
    : nn::impl::DecomposeCompositesBase<DecomposeCompositesPass> {
  void runOnOperation() override {
    const PlainTargetInfo keepsNone;
    RewritePatternSet patterns(&getContext());
    addSoftmaxDecompositions(patterns, keepsNone);
    addLayerNormDecompositions(patterns, keepsNone);
    addCrossEntropyDecompositions(patterns, keepsNone);
    addPoolDecompositions(patterns, keepsNone);
    if (failed(applyPatternsAndFoldGreedily(getOperation(),
                                            std::move(patterns)))) {
      signalPassFailure();
    }
  }
};

} // namespace
