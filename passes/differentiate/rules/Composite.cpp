//===- Composite.cpp - gradients of softmax, layer_norm, ... --------------===//

#include "passes/differentiate/rules/Rule.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

bool isZero(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>()) {
    value = broadcast.getOperand();
  }
  return matchPattern(value, m_AnyZeroFloat());
}

/// `y`, or, where there is one, `select(is_nan(y), 0, y)`.
Value withoutNaN(Value y) {
  for (Operation *user : y.getUsers()) {
    auto select = dyn_cast<SelectOp>(user);
    if (select && select.getOnFalse() == y && givesZeroForNaN(select)) {
      return select;
    }
  }
  return y;
}

/// A row of which everything is masked has a softmax that is not a number.
/// Attention, as exporters write it, puts zeros there, through which no
/// gradient comes: all that reaches the row is multiplied by these zeros.
LogicalResult softmaxRule(SoftmaxOp op, Gradient &g) {
  Value y = withoutNaN(op.getResult());
  g.set(0, g.builder.create<SoftmaxGradOp>(g.location, y, g.of()));
  return success();
}

/// Returns what reaches layer_norm's operand through its statistics, added to
/// what its result brings: dmean / C, and -drstd * rstd^2 * n / C, where n is
/// (x - mean) * rstd.
Value throughStatistics(LayerNormOp op, Value sum, Gradient &g) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  double overC = 1.0 / shape.back();
  auto accumulate = [&](Value term) { sum = sum ? g.add(sum, term) : term; };
  if (Value dmean = g.of(1)) {
    accumulate(g.broadcast(g.scale(dmean, overC), shape));
  }
  if (Value drstd = g.of(2)) {
    Value centered = g.sub(op.getOperand(), g.broadcast(op.getMean(), shape));
    Value normal = g.mul(centered, g.broadcast(op.getRstd(), shape));
    Value square = g.mul(op.getRstd(), op.getRstd());
    Value row = g.neg(g.scale(g.mul(drstd, square), overC));
    accumulate(g.mul(g.broadcast(row, shape), normal));
  }
  return sum;
}

LogicalResult layerNormRule(LayerNormOp op, Gradient &g) {
  Value dx;
  if (Value dy = g.of(0)) {
    // The scale serves dx alone, and must not be gathered for nothing.
    Value scale = g.wants(0) ? Value(op.getScale()) : g.splat(op.getScale(), 1);
    auto gradients = g.builder.create<LayerNormGradOp>(
        g.location, op.getOperand(), scale, op.getMean(), op.getRstd(), dy);
    dx = gradients.getDx();
    g.set(1, gradients.getDscale());
    g.set(2, gradients.getDbias());
  }
  if (g.wants(0)) {
    g.set(0, throughStatistics(op, dx, g));
  }
  return success();
}

/// The gradient op tells what comes through the loss, log_sum's with it; alone
/// that is dlog_sum * softmax(x). Nothing comes through max.
LogicalResult softmaxCrossEntropyRule(SoftmaxCrossEntropyOp op, Gradient &g) {
  if (!g.wants(0)) {
    return success();
  }
  Value x = op.getLogits(), dloss = g.of(0), dlogSum = g.of(2);
  if (dloss) {
    g.set(0, g.builder.create<SoftmaxCrossEntropyGradOp>(
                 g.location, x, op.getLabels(), op.getMax(), op.getLogSum(),
                 dloss, dlogSum));
  } else if (dlogSum) {
    g.set(0, g.mul(g.softmaxRows(x, op.getMax(), op.getLogSum()),
                   g.broadcast(dlogSum, shapeOf(x))));
  }
  return success();
}

/// Scales what was kept and zeroes the rest: the same op, with the same random
/// numbers.
LogicalResult dropoutRule(DropoutOp op, Gradient &g) {
  if (Value dy = g.of(0); dy && g.wants(0)) {
    g.set(0, g.builder
                 .create<DropoutOp>(g.location, op->getResultTypes(), dy,
                                    op.getRatioAttr(), op.getNumberAttr(),
                                    op.getSamplesAttr())
                 .getResult());
  }
  return success();
}

/// Nothing follows from what it is like.
LogicalResult randomLikeRule(RandomLikeOp op, Gradient &g) { return success(); }

} // namespace

bool mlir::zg::nn::givesZeroForNaN(SelectOp select) {
  Value y = select.getOnFalse();
  auto test = select.getCondition().getDefiningOp<UnaryOp>();
  return y.getDefiningOp<SoftmaxOp>() && isZero(select.getOnTrue()) && test &&
         test.getKind() == UnaryKind::is_nan && test.getOperand() == y;
}

void mlir::zg::nn::attachCompositeRules(MLIRContext *context) {
  attachRule<SoftmaxOp, softmaxRule>(context);
  attachRule<DropoutOp, dropoutRule>(context);
  attachRule<RandomLikeOp, randomLikeRule>(context);
  attachRule<LayerNormOp, layerNormRule>(context);
  attachRule<SoftmaxCrossEntropyOp, softmaxCrossEntropyRule>(context);
}
