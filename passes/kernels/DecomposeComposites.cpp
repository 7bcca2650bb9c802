//===- DecomposeComposites.cpp - composites and pools to the core ---------===//

#include "passes/ir/RewriteConfig.h"
#include "passes/kernels/Passes.h"
#include "passes/kernels/decompose/Decomposition.h"

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
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns),
                                            rewriteConfig()))) {
      signalPassFailure();
    }
  }
};

} // namespace
