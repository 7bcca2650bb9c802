//===- Attention.cpp - the gradient of attention --------------------------===//

#include "passes/ir/nn/Attention.h"
#include "passes/differentiate/rules/Rule.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Returns sum(dout * out) along the value size, as [batch, heads, queries].
Value deltaOf(AttentionOp op, Gradient &g) {
  Type element = elementOf(op.getMax());
  Value product =
      g.mul(g.convert(g.of(), element), g.convert(op.getOut(), element));
  ArrayRef<int64_t> shape = shapeOf(op.getOut());
  Value rows = g.reshape(g.sumRows(product), shape.drop_back());
  return g.transpose(rows, {0, 2, 1});
}

/// Writes the region of the gradient op: the scores as forward has them, and
/// backward through them.
LogicalResult writeScores(AttentionOp op, AttentionGradOp gradients) {
  Block &forward = op.getScores().front();
  Block &block = gradients.getScores().emplaceBlock();
  IRMapping mapping;
  auto addArgument = [&](BlockArgument like) {
    return block.addArgument(like.getType(), like.getLoc());
  };
  BlockArgument score = forward.getArgument(0);
  BlockArgument own = addArgument(score);
  mapping.map(score, own);
  Value gradient = addArgument(score);
  for (BlockArgument extra : forward.getArguments().drop_front()) {
    mapping.map(extra, addArgument(extra));
  }
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  for (Operation &member : forward.without_terminator()) {
    builder.clone(member, mapping);
  }
  SmallVector<Value> yields;
  for (Value value : forward.getTerminator()->getOperands()) {
    yields.push_back(mapping.lookupOrDefault(value));
  }
  Value x = yields.front();
  auto yield = builder.create<YieldOp>(op.getLoc(), x);
  builder.setInsertionPoint(yield);
  auto ofScore =
      buildBackward(builder, block, x, {own}, /*scaled=*/false, gradient);
  if (failed(ofScore)) {
    return failure();
  }
  Value ds = ofScore->front();
  if (!ds) {
    ds = NNBuilder(builder, op.getLoc()).splat(own, 0);
  }
  yields.insert(yields.begin() + 1, ds);
  yield->setOperands(yields);
  return success();
}

LogicalResult attentionRule(AttentionOp op, Gradient &g) {
  if (!g.of()) {
    return success();
  }
  for (unsigned extra = 3; extra < op->getNumOperands(); ++extra) {
    if (g.wants(extra)) {
      return op.emitError("node '")
             << nameOf(op.getLoc())
             << "': has no gradient of what its scores are made of besides "
                "queries and keys";
    }
  }
  auto gradients = g.builder.create<AttentionGradOp>(
      g.location,
      TypeRange{op.getQ().getType(), op.getK().getType(), op.getV().getType()},
      op.getQ(), op.getK(), op.getV(), op.getMax(), op.getInverse(), g.of(),
      deltaOf(op, g), op.getExtras());
  if (failed(writeScores(op, gradients))) {
    return failure();
  }
  for (auto [number, result] : llvm::enumerate(gradients.getResults())) {
    g.set(number, result);
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachAttentionRules(MLIRContext *context) {
  attachRule<AttentionOp, attentionRule>(context);
}
