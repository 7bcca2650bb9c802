//===- Loss.cpp - losses over classes -------------------------------------===//

#include "frontend/emit/ClassLoss.h"
#include "frontend/ops/Ops.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

std::optional<int64_t> ignoredOf(Op &op) {
  return op.hasAttribute("ignore_index")
             ? std::optional(op.intAttribute("ignore_index", 0))
             : std::nullopt;
}

/// Scores [N, C, d...] and labels [N, d...].
ClassRows rowsOf(Op &op) {
  ClassRows rows = classRows(op.emit, op.value(0), op.value(1), 1);
  op.boundInput(rows.labels, 0, rows.classes - 1, ignoredOf(op));
  return rows;
}

/// Weighs the loss of each row, masks ignored ones, and reduces all.
Value reduceRows(Op &op, const ClassRows &rows, Value loss) {
  Emitter &emit = op.emit;
  Value table = op.hasInput(2) ? op.value(2) : Value();
  RowLoss weighed = weighRows(emit, rows, loss, table, ignoredOf(op));
  std::string reduction = op.stringAttribute("reduction", "mean");
  if (reduction == "none") {
    return emit.reshape(weighed.loss, rows.labelShape);
  }
  if (reduction == "sum") {
    return sumOfRows(emit, weighed.loss);
  }
  if (reduction != "mean") {
    fail("reduction '", reduction, "' is not known");
  }
  return meanOfRows(emit, weighed);
}

void emitSoftmaxCrossEntropyLoss(Op &op) {
  ClassRows rows = rowsOf(op);
  mlir::Type column =
      op.emit.tensorType({rows.count, 1}, Emitter::elementOf(rows.scores));
  auto loss = op.emit.builder.create<nn::SoftmaxCrossEntropyOp>(
      op.emit.location, column, column, column, rows.scores, rows.labels);
  op.set(0, reduceRows(op, rows, loss.getLoss()));
  if (op.wantsOutput(1)) {
    Value logProb =
        op.emit.sub(op.emit.sub(rows.scores, loss.getMax()), loss.getLogSum());
    Shape split = rows.labelShape;
    split.push_back(rows.classes);
    op.set(1, op.emit.moveAxis(op.emit.reshape(logProb, split),
                               split.size() - 1, 1));
  }
}

void emitNegativeLogLikelihoodLoss(Op &op) {
  ClassRows rows = rowsOf(op);
  op.set(0, reduceRows(op, rows, negativeScores(op.emit, rows)));
}

const OpDef kOps[] = {
    {"NegativeLogLikelihoodLoss", 12, emitNegativeLogLikelihoodLoss, nullptr,
     gradientTo<0>},
    {"SoftmaxCrossEntropyLoss", 12, emitSoftmaxCrossEntropyLoss, nullptr,
     gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> lossOps() { return kOps; }

} // namespace zerograph::frontend
