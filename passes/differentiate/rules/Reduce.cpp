//===- Reduce.cpp - gradients of reductions and running sums --------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Elements equal to the extremum share its gradient evenly, as in PyTorch's
/// amax and amin.
Value extremumGradient(ReduceOp op, Gradient &g) {
  Value x = op.getOperand();
  Value extremum = g.broadcast(op.getResult(), shapeOf(x));
  Value chosen = g.compare(CompareKind::eq, x, extremum);
  Value count = g.sum(g.convert(chosen, elementOf(x)), op.getDims());
  Value share = g.broadcast(g.div(g.of(), count), shapeOf(x));
  return g.keepIf(chosen, share);
}

/// The product of the other elements, also where one or several are zero.
Value productGradient(ReduceOp op, Gradient &g) {
  Value x = op.getOperand();
  ArrayRef<int64_t> shape = shapeOf(x);
  Value isZero = g.compare(CompareKind::eq, x, g.splat(x, 0));
  Value nonzero = g.select(isZero, g.splat(x, 1), x);
  Value product = g.reduce(ReduceKind::prod, nonzero, op.getDims());
  Value zeros = g.sum(g.convert(isZero, elementOf(x)), op.getDims());
  Value share = g.mul(g.of(), product);
  Value ifNone =
      g.keepIf(g.compare(CompareKind::eq, zeros, g.splat(zeros, 0)), share);
  Value ifOne =
      g.keepIf(g.compare(CompareKind::eq, zeros, g.splat(zeros, 1)), share);
  return g.select(isZero, g.broadcast(ifOne, shape),
                  g.div(g.broadcast(ifNone, shape), nonzero));
}

LogicalResult reduceRule(ReduceOp op, Gradient &g) {
  switch (op.getKind()) {
  case ReduceKind::sum:
    g.set(0, g.broadcast(g.of(), shapeOf(op.getOperand())));
    break;
  case ReduceKind::max:
  case ReduceKind::min:
    g.set(0, extremumGradient(op, g));
    break;
  case ReduceKind::prod:
    g.set(0, productGradient(op, g));
    break;
  }
  return success();
}

LogicalResult cumsumRule(CumsumOp op, Gradient &g) {
  g.set(0, g.builder.create<CumsumOp>(g.location, op.getType(), g.of(),
                                      op.getDim(), op.getExclusive(),
                                      !op.getReverse()));
  return success();
}

} // namespace

void mlir::zg::nn::attachReduceRules(MLIRContext *context) {
  attachRule<ReduceOp, reduceRule>(context);
  attachRule<CumsumOp, cumsumRule>(context);
}
