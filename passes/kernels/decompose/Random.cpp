//===- Random.cpp - dropout and random_like by counted random numbers -----===//

#include "passes/ir/nn/RandomNumbers.h"
#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

Replacement dropout(DropoutOp op, NNBuilder &b) {
  if (!op.getSamples()) {
    return {}; // reported by the pass
  }
  Value x = op.getOperand();
  double ratio = op.getRatio().convertToDouble();
  Value kept = keptElements(b, op, *op.getSamples(), randomScalars(b));
  return {b.keepIf(kept, b.scale(x, 1 / (1 - ratio))), kept};
}

Replacement randomLike(RandomLikeOp op, NNBuilder &b) {
  if (!op.getSamples()) {
    return {}; // reported by the pass
  }
  return {randomUniform(b, shapeOf(op), *op.getSamples(), op.getNumber(),
                        randomScalars(b))};
}

} // namespace

void mlir::zg::nn::addRandomDecompositions(RewritePatternSet &patterns,
                                           const TargetInfo &target) {
  addDecomposition<DropoutOp, dropout>(patterns, target);
  addDecomposition<RandomLikeOp, randomLike>(patterns, target);
}
