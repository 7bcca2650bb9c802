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
    if (!select || select.getOnFalse() != y || !isZero(select.getOnTrue())) {
      continue;
    }
    auto test = select.getCondition().getDefiningOp<UnaryOp>();
    if (test && test.getKind() == UnaryKind::is_nan && test.getOperand() == y) {
      return select;
    }
  }
  return y;
}

/// A row of which everything is masked has a softmax that is not a number.
/// Attention, as exporters write it, puts zeros there, through which no
/// gradient comes; but zero times what is not a number is not zero.
LogicalResult softmaxRule(SoftmaxOp op, Gradient &g) {
  Value y = withoutNaN(op.getResult());
  Value along = g.sumRows(g.mul(g.of(), y));
  g.set(0, g.mul(g.sub(g.of(), g.broadcast(along, shapeOf(y))), y));
  return success();
}

/// Sums `x` over all but the last dimension into the shape [C].
Value sumColumns(Value x, NNBuilder &b) {
  int64_t columns = shapeOf(x).back();
  int64_t rows = ShapedType::getNumElements(shapeOf(x).drop_back());
  Value sum = b.sum(b.reshape(x, {rows, columns}), {0});
  return b.reshape(sum, {columns});
}

/// [C] as every row of `shape`.
Value alongRows(Value x, ArrayRef<int64_t> shape, NNBuilder &b) {
  SmallVector<int64_t> row(shape.size(), 1);
  row.back() = shape.back();
  return b.broadcast(b.reshape(x, row), shape);
}

/// The gradient of layer_norm's operand. With n = (x - mean) * rstd and
/// dn = dy * scale:
///   dx = rstd * ((dn - mean(dn)) - n * mean(dn * n))
///      + (dmean - drstd * rstd^2 * n) / C
Value layerNormOperand(LayerNormOp op, Value normal, Gradient &g) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  double overC = 1.0 / shape.back();
  Value rstd = g.broadcast(op.getRstd(), shape);
  Value sum;
  auto accumulate = [&](Value term) { sum = sum ? g.add(sum, term) : term; };
  if (Value dy = g.of(0)) {
    Value dn = g.mul(dy, alongRows(op.getScale(), shape, g));
    Value mean = g.scale(g.sumRows(dn), overC);
    Value slope = g.scale(g.sumRows(g.mul(dn, normal)), overC);
    Value centered = g.sub(dn, g.broadcast(mean, shape));
    Value turned = g.mul(normal, g.broadcast(slope, shape));
    accumulate(g.mul(g.sub(centered, turned), rstd));
  }
  if (Value dmean = g.of(1)) {
    accumulate(g.broadcast(g.scale(dmean, overC), shape));
  }
  if (Value drstd = g.of(2)) {
    Value square = g.mul(op.getRstd(), op.getRstd());
    Value row = g.neg(g.scale(g.mul(drstd, square), overC));
    accumulate(g.mul(g.broadcast(row, shape), normal));
  }
  return sum;
}

LogicalResult layerNormRule(LayerNormOp op, Gradient &g) {
  ArrayRef<int64_t> shape = shapeOf(op.getOperand());
  Value dy = g.of(0);
  Value normal;
  if (g.wants(0) || (g.wants(1) && dy)) {
    Value centered = g.sub(op.getOperand(), g.broadcast(op.getMean(), shape));
    normal = g.mul(centered, g.broadcast(op.getRstd(), shape));
  }
  if (g.wants(0)) {
    g.set(0, layerNormOperand(op, normal, g));
  }
  if (g.wants(1) && dy) {
    g.set(1, sumColumns(g.mul(dy, normal), g));
  }
  if (g.wants(2) && dy) {
    g.set(2, sumColumns(dy, g));
  }
  return success();
}

/// dx = (dloss + dlse) * softmax(x) - dloss at the label.
LogicalResult softmaxCrossEntropyRule(SoftmaxCrossEntropyOp op, Gradient &g) {
  if (!g.wants(0)) {
    return success();
  }
  Value x = op.getLogits();
  ArrayRef<int64_t> shape = shapeOf(x);
  Value dloss = g.of(0), dlse = g.of(1);
  Value both = dloss && dlse ? g.add(dloss, dlse) : dloss ? dloss : dlse;
  Value softmax =
      g.unary(UnaryKind::exp, g.sub(x, g.broadcast(op.getLse(), shape)));
  Value dx = g.mul(softmax, g.broadcast(both, shape));
  if (dloss) {
    Value labels = g.broadcast(op.getLabels(), shape);
    Value classes = g.iota(shape, elementOf(labels), 1);
    Value atLabel = g.compare(CompareKind::eq, classes, labels);
    dx = g.select(atLabel, g.sub(dx, g.broadcast(dloss, shape)), dx);
  }
  g.set(0, dx);
  return success();
}

/// What was kept is scaled, what was not is zero: the same op, with the same
/// random numbers.
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

void mlir::zg::nn::attachCompositeRules(MLIRContext *context) {
  attachRule<SoftmaxOp, softmaxRule>(context);
  attachRule<DropoutOp, dropoutRule>(context);
  attachRule<RandomLikeOp, randomLikeRule>(context);
  attachRule<LayerNormOp, layerNormRule>(context);
  attachRule<SoftmaxCrossEntropyOp, softmaxCrossEntropyRule>(context);
}
