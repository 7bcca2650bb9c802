//===- Convolution.cpp - gradients of convolutions ------------------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

// A convolution is a trilinear form of input, weights and output gradient, of
// which each kind leaves one open. So the gradient of an operand is the kind
// that gives it, of the other operand and the result's gradient, which stands
// in the result's place.
LogicalResult convolutionRule(ConvolutionOp op, Gradient &g) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  auto make = [&](ConvolutionKind kind, Value a, Value b, Type type) -> Value {
    return g.convolution(op, kind, a, b, type);
  };
  using enum ConvolutionKind;
  Type left = lhs.getType(), right = rhs.getType();
  switch (op.getKind()) {
  case forward: // input, weights -> output
    if (g.wants(0)) {
      g.set(0, make(input, g.of(), rhs, left));
    }
    if (g.wants(1)) {
      g.set(1, make(weights, lhs, g.of(), right));
    }
    break;
  case input: // output, weights -> input
    if (g.wants(0)) {
      g.set(0, make(forward, g.of(), rhs, left));
    }
    if (g.wants(1)) {
      g.set(1, make(weights, g.of(), lhs, right));
    }
    break;
  case weights: // input, output -> weights
    if (g.wants(0)) {
      g.set(0, make(input, rhs, g.of(), left));
    }
    if (g.wants(1)) {
      g.set(1, make(forward, lhs, g.of(), right));
    }
    break;
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachConvolutionRules(MLIRContext *context) {
  attachRule<ConvolutionOp, convolutionRule>(context);
}
