//===- ClassLoss.cpp - losses over classes --------------------------------===//

#include "frontend/emit/ClassLoss.h"

#include "frontend/base/Error.h"

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;

namespace zerograph::frontend {

ClassRows classRows(Emitter &emit, Value scores, Value labels, int64_t axis) {
  ClassRows rows;
  Shape shape = Emitter::shapeOf(scores);
  rows.labelShape = Emitter::shapeOf(labels);
  if (shape.size() < 2) {
    fail("the scores need rank 2 or more, not shape ", shapeText(shape));
  }
  rows.classes = shape[axis];
  Shape expected = shape;
  expected.erase(expected.begin() + axis);
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
    labels = emit.convert(labels, emit.builder.getI64Type());
  }
  rows.count = elementCount(expected);
  rows.scores = emit.reshape(emit.moveAxis(scores, axis, shape.size() - 1),
                             {rows.count, rows.classes});
  rows.labels = emit.reshape(labels, {rows.count, 1});
  return rows;
}

RowLoss weighRows(Emitter &emit, const ClassRows &rows, Value loss, Value table,
                  std::optional<int64_t> ignored) {
  Value weight;
  if (table) {
    if (Emitter::shapeOf(table) != Shape{rows.classes}) {
      fail("there are ", shapeText(Emitter::shapeOf(table)), " weights for ",
           rows.classes, " classes");
    }
    // An ignored label reads any row of the table: it is masked below.
    weight = emit.gather(table, rows.labels);
    loss = emit.mul(loss, weight);
  }
  if (ignored) {
    Value zero = emit.splatLike(0, loss);
    Value counted = emit.compare(CompareKind::ne, rows.labels,
                                 static_cast<double>(*ignored));
    loss = emit.select(counted, loss, zero);
    weight = weight ? emit.select(counted, weight, zero)
                    : emit.convert(counted, Emitter::elementOf(loss));
  }
  return {loss, weight};
}

Value negativeScores(Emitter &emit, const ClassRows &rows) {
  // A masked sum reads the label's column: its gradient needs no scatter.
  Value column =
      emit.iota(1, {rows.count, rows.classes}, Emitter::elementOf(rows.labels));
  Value chosen = emit.select(emit.compare(CompareKind::eq, column, rows.labels),
                             rows.scores, emit.splatLike(0, rows.scores));
  return emit.unary(nn::UnaryKind::neg,
                    emit.reduce(ReduceKind::sum, chosen, {1}, true));
}

Value sumOfRows(Emitter &emit, Value rows) {
  return emit.reduce(ReduceKind::sum, rows, {0, 1}, false);
}

Value meanOfRows(Emitter &emit, const RowLoss &rows) {
  Value sum = sumOfRows(emit, rows.loss);
  return rows.weight ? emit.div(sum, sumOfRows(emit, rows.weight))
                     : emit.mul(sum, 1.0 / Emitter::shapeOf(rows.loss)[0]);
}

} // namespace zerograph::frontend
