//===- Reduce.cpp - gradients of reductions and running sums --------------===//

#include "passes/differentiate/rules/Groups.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

Groups groupsOf(ReduceOp op, Gradient &g) {
  Value x = op.getOperand();
  return {{{0, x}},
          [op, &g](ReduceKind kind, ArrayRef<Value> members) mutable {
            return g.reduce(kind, members.front(), op.getDims());
          },
          [x, &g](Value ofGroups, unsigned) {
            return g.broadcast(ofGroups, shapeOf(x));
          }};
}

LogicalResult reduceRule(ReduceOp op, Gradient &g) {
  switch (op.getKind()) {
  case ReduceKind::sum:
    g.set(0, g.broadcast(g.of(), shapeOf(op.getOperand())));
    break;
  case ReduceKind::max:
  case ReduceKind::min:
    setExtremumGradients(g, groupsOf(op, g), op.getResult());
    break;
  case ReduceKind::prod:
    setProductGradients(g, groupsOf(op, g));
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
