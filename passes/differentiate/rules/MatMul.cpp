//===- MatMul.cpp - gradients of matrix products --------------------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

// With C = A' B', where ' is the operand's own transposition:
//   dA' = dC B'^T   and   dB' = A'^T dC;
// an operand that is read transposed takes the transposed product, so that
// every gradient is one product and no transpose op.
LogicalResult matmulRule(MatmulOp op, Gradient &g) {
  Value a = op.getLhs(), b = op.getRhs(), dc = g.of();
  bool ta = op.getTransposeA(), tb = op.getTransposeB();
  if (g.wants(0)) {
    g.set(0, ta ? g.matmul(b, dc, tb, true, a.getType())
                : g.matmul(dc, b, false, !tb, a.getType()));
  }
  if (g.wants(1)) {
    g.set(1, tb ? g.matmul(dc, a, true, ta, b.getType())
                : g.matmul(a, dc, !ta, false, b.getType()));
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachMatmulRules(MLIRContext *context) {
  attachRule<MatmulOp, matmulRule>(context);
}
