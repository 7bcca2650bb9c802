//===- Reduce.cpp - gradients of reductions and running sums --------------===//

#include "passes/differentiate/rules/Groups.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include <limits>

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

/// The first of equal elements gets the gradient, as in PyTorch's max and min
/// along a dim, which return its place too.
void setFirstGradient(ReduceOp op, Gradient &g) {
  Value x = op.getOperand();
  ArrayRef<int64_t> shape = shapeOf(x);
  // The place of each element among those it is reduced with.
  bool many = computeProduct(shape) > std::numeric_limits<int32_t>::max();
  Type integer = many ? g.builder.getI64Type() : g.builder.getI32Type();
  Value places = g.splat(RankedTensorType::get(shape, integer), 0);
  int64_t count = 1;
  for (int64_t dim : llvm::reverse(op.getDims())) {
    places = g.add(
        g.scale(g.iota(RankedTensorType::get(shape, integer), dim), count),
        places);
    count *= shape[dim];
  }
  Value equal =
      g.compare(CompareKind::eq, x, g.broadcast(op.getResult(), shape));
  Value none = g.splat(places, count);
  Value first =
      g.reduce(ReduceKind::min, g.select(equal, places, none), op.getDims());
  Value chosen = g.compare(CompareKind::eq, places, g.broadcast(first, shape));
  g.set(0, g.keepIf(chosen, g.broadcast(g.of(), shape)));
}

LogicalResult reduceRule(ReduceOp op, Gradient &g) {
  switch (op.getKind()) {
  case ReduceKind::sum:
    g.set(0, g.broadcast(g.of(), shapeOf(op.getOperand())));
    break;
  case ReduceKind::max:
  case ReduceKind::min:
    if (op.getFirst()) {
      setFirstGradient(op, g);
      break;
    }
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
