//===- Index.cpp - gradients of table look-ups ----------------------------===//

#include "passes/differentiate/rules/Rule.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

// Both ops clamp an index into the table, so each is the other's transpose
// for every index.

LogicalResult gatherRule(GatherOp op, Gradient &g) {
  if (g.wants(0)) {
    g.set(0, g.builder.create<ScatterAddOp>(g.location, op.getTable().getType(),
                                            op.getIndices(), g.of()));
  }
  return success();
}

LogicalResult scatterAddRule(ScatterAddOp op, Gradient &g) {
  if (g.wants(1)) {
    g.set(1, g.builder.create<GatherOp>(g.location, op.getUpdates().getType(),
                                        g.of(), op.getIndices()));
  }
  if (op.getInto() && g.wants(2)) {
    g.set(2, g.of());
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachIndexRules(MLIRContext *context) {
  attachRule<GatherOp, gatherRule>(context);
  attachRule<ScatterAddOp, scatterAddRule>(context);
}
