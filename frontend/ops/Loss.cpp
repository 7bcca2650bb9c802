//===- Loss.cpp - losses over classes -------------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;

namespace zerograph::frontend {

namespace {

/// Scores [N, C, d...] as rows [R, C] and labels [N, d...] as [R, 1].
struct Rows {
  Value scores, labels;
  Shape labelShape;
  int64_t count, classes;
};

Rows rowsOf(Op &op) {
  Rows rows;
  Value scores = op.value(0), labels = op.value(1);
  Shape shape = Emitter::shapeOf(scores);
  rows.labelShape = Emitter::shapeOf(labels);
  if (shape.size() < 2) {
    fail("the scores need rank 2 or more, not shape ", shapeText(shape));
  }
  rows.classes = shape[1];
  Shape expected = shape;
  expected.erase(expected.begin() + 1);
  if (rows.labelShape != expected) {
    fail("the labels have shape ", shapeText(rows.labelShape),
         ", but scores of shape ", shapeText(shape), " need ",
         shapeText(expected));
  }
  if (!Emitter::isFloat(scores) || Emitter::isFloat(labels)) {
    fail("the scores must be floats and the labels integers");
  }
  mlir::Type element = Emitter::elementOf(labels);
  if (!element.isInteger(32) && !element.isInteger(64)) {
    labels = op.emit.convert(labels, op.emit.builder.getI64Type());
  }
  rows.count = elementCount(expected);
  rows.scores = op.emit.reshape(op.emit.moveAxis(scores, 1, shape.size() - 1),
                                {rows.count, rows.classes});
  rows.labels = op.emit.reshape(labels, {rows.count, 1});

  std::optional<int64_t> ignored;
  if (op.hasAttribute("ignore_index")) {
    ignored = op.intAttribute("ignore_index", 0);
  }
  op.boundInput(rows.labels, 0, rows.classes - 1, ignored);
  return rows;
}

/// Weighs the loss of each row, masks ignored ones, and reduces all.
Value reduceRows(Op &op, const Rows &rows, Value loss) {
  Emitter &emit = op.emit;
  Value weight;
  if (op.hasInput(2)) {
    Value table = op.value(2);
    if (Emitter::shapeOf(table) != Shape{rows.classes}) {
      fail("there are ", shapeText(Emitter::shapeOf(table)), " weights for ",
           rows.classes, " classes");
    }
    // An ignored label reads any row of the table: it is masked below.
    weight = emit.gather(table, rows.labels);
    loss = emit.mul(loss, weight);
  }
  Value zero = emit.splatLike(0, loss);
  if (op.hasAttribute("ignore_index")) {
    Value counted =
        emit.compare(CompareKind::ne, rows.labels,
                     static_cast<double>(op.intAttribute("ignore_index", 0)));
    loss = emit.select(counted, loss, zero);
    weight = weight ? emit.select(counted, weight, zero)
                    : emit.convert(counted, Emitter::elementOf(loss));
  }
  std::string reduction = op.stringAttribute("reduction", "mean");
  if (reduction == "none") {
    return emit.reshape(loss, rows.labelShape);
  }
  Value sum = emit.reduce(ReduceKind::sum, loss, {0, 1}, false);
  if (reduction == "sum") {
    return sum;
  }
  if (reduction != "mean") {
    fail("reduction '", reduction, "' is not known");
  }
  if (weight) {
    return emit.div(sum, emit.reduce(ReduceKind::sum, weight, {0, 1}, false));
  }
  return emit.mul(sum, 1.0 / rows.count);
}

void emitSoftmaxCrossEntropyLoss(Op &op) {
  Rows rows = rowsOf(op);
  mlir::Type column =
      op.emit.tensorType({rows.count, 1}, Emitter::elementOf(rows.scores));
  auto loss = op.emit.builder.create<nn::SoftmaxCrossEntropyOp>(
      op.emit.location, column, column, rows.scores, rows.labels);
  op.set(0, reduceRows(op, rows, loss.getLoss()));
  if (op.wantsOutput(1)) {
    Value logProb = op.emit.sub(rows.scores, loss.getLse());
    Shape split = rows.labelShape;
    split.push_back(rows.classes);
    op.set(1, op.emit.moveAxis(op.emit.reshape(logProb, split),
                               split.size() - 1, 1));
  }
}

void emitNegativeLogLikelihoodLoss(Op &op) {
  Rows rows = rowsOf(op);
  // A masked sum reads the label's column: its gradient needs no scatter.
  Value column = op.emit.iota(1, {rows.count, rows.classes},
                              Emitter::elementOf(rows.labels));
  Value chosen =
      op.emit.select(op.emit.compare(CompareKind::eq, column, rows.labels),
                     rows.scores, op.emit.splatLike(0, rows.scores));
  Value loss = op.emit.unary(
      nn::UnaryKind::neg, op.emit.reduce(ReduceKind::sum, chosen, {1}, true));
  op.set(0, reduceRows(op, rows, loss));
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
