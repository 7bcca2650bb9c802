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

/// Returns an extra as scores have it, [batch, heads, keys, queries], if it is
/// a bias that the region repeats for each sample, and nothing else reads it.
Value wideBias(AttentionOp op, unsigned extra) {
  Block &block = op.getScores().front();
  Value bias = block.getArgument(1 + extra);
  auto score = cast<RankedTensorType>(block.getArgument(0).getType());
  auto shape = AttentionShape::of(op.getQ().getType(), op.getK().getType(),
                                  op.getV().getType());
  SmallVector<int64_t, 4> once = shape.scores();
  once.front() = 1;
  auto onlyUser = [](Value read) {
    return read.hasOneUse() ? *read.user_begin() : nullptr;
  };
  auto reshape = dyn_cast_or_null<ReshapeOp>(onlyUser(bias));
  if (bias.getType() != score.clone(shape.bias()) || !reshape ||
      reshape.getType() != score.clone(once)) {
    return {};
  }
  if (shape.batch == 1) {
    return reshape.getResult();
  }
  auto broadcast = dyn_cast_or_null<BroadcastOp>(onlyUser(reshape.getResult()));
  return broadcast && broadcast.getType() == score ? broadcast.getResult()
                                                   : Value();
}

/// Returns which extra is the one bias that has a gradient, or none.
FailureOr<std::optional<unsigned>> trainedBias(AttentionOp op, Gradient &g) {
  std::optional<unsigned> bias;
  for (unsigned extra = 0; extra < op.getExtras().size(); ++extra) {
    if (!g.wants(3 + extra)) {
      continue;
    }
    if (bias || !wideBias(op, extra)) {
      return op.emitError("node '")
             << nameOf(op.getLoc())
             << "': has no gradient of what its scores are made of besides "
                "queries and keys and one bias for all samples";
    }
    bias = extra;
  }
  return bias;
}

/// Writes the region of the gradient op: the scores as forward has them, and
/// backward through them, also to an extra that is a trained bias.
LogicalResult writeScores(AttentionOp op, AttentionGradOp gradients,
                          std::optional<unsigned> bias) {
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
  // Backward ends at an argument in place of the bias, as each sample has it.
  Value wide = bias ? wideBias(op, *bias) : Value(), clonedWide;
  SmallVector<BlockArgument> variables = {own};
  if (wide) {
    variables.push_back(addArgument(score));
  }
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  for (Operation &member : forward.without_terminator()) {
    builder.clone(member, mapping);
    if (wide && wide.getDefiningOp() == &member) {
      clonedWide = mapping.lookup(wide);
      mapping.map(wide, variables.back());
    }
  }
  SmallVector<Value> yields;
  for (Value value : forward.getTerminator()->getOperands()) {
    yields.push_back(mapping.lookupOrDefault(value));
  }
  Value x = yields.front();
  auto yield = builder.create<YieldOp>(op.getLoc(), x);
  builder.setInsertionPoint(yield);
  auto ofVariables =
      buildBackward(builder, block, x, variables, /*scaled=*/false, gradient);
  if (failed(ofVariables)) {
    return failure();
  }
  for (Value &value : *ofVariables) {
    if (!value) {
      value = NNBuilder(builder, op.getLoc()).splat(own, 0);
    }
  }
  yields.insert(yields.begin() + 1, ofVariables->begin(), ofVariables->end());
  yield->setOperands(yields);
  if (wide) {
    variables.back().replaceAllUsesWith(clonedWide);
    block.eraseArgument(variables.back().getArgNumber());
  }
  return success();
}

LogicalResult attentionRule(AttentionOp op, Gradient &g) {
  if (!g.of()) {
    return success();
  }
  FailureOr<std::optional<unsigned>> bias = trainedBias(op, g);
  if (failed(bias)) {
    return failure();
  }
  SmallVector<Type> types = {op.getQ().getType(), op.getK().getType(),
                             op.getV().getType()};
  SmallVector<unsigned> operands = {0, 1, 2};
  if (*bias) {
    types.push_back(op.getExtras()[**bias].getType());
    operands.push_back(3 + **bias);
  }
  auto gradients = g.builder.create<AttentionGradOp>(
      g.location, types, op.getQ(), op.getK(), op.getV(), op.getMax(),
      op.getInverse(), g.of(), deltaOf(op, g), op.getExtras());
  if (failed(writeScores(op, gradients, *bias))) {
    return failure();
  }
  for (auto [operand, result] : llvm::zip(operands, gradients.getResults())) {
    g.set(operand, result);
  }
  return success();
}

} // namespace

void mlir::zg::nn::attachAttentionRules(MLIRContext *context) {
  attachRule<AttentionOp, attentionRule>(context);
}
