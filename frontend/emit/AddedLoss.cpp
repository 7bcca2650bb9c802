//===- AddedLoss.cpp - the loss of a model that has none ------------------===//

#include "frontend/emit/AddedLoss.h"

#include "frontend/base/Error.h"
#include "frontend/emit/ClassLoss.h"
#include "frontend/emit/Exponentials.h"

#include <numeric>

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// One number a class.
Value tableOf(Emitter &emit, const AddedLoss &loss, int64_t classes,
              mlir::Type element) {
  if (loss.weights.empty()) {
    return {};
  }
  if (static_cast<int64_t>(loss.weights.size()) != classes) {
    fail("there are ", loss.weights.size(), " class weights for ", classes,
         " classes");
  }
  HostTensor table(onnxTypeOf(element), {classes});
  for (int64_t i = 0; i < classes; ++i) {
    table.setFloat(i, loss.weights[i]);
  }
  return emit.constant(table);
}

/// The mean over rows and classes of -log(softmax), class by class weighed as
/// its label would be: what label smoothing mixes in.
Value smoothRows(Emitter &emit, const ClassRows &rows,
                 nn::SoftmaxCrossEntropyOp entropy, Value table) {
  Value each =
      emit.sub(entropy.getLogSum(), emit.sub(rows.scores, entropy.getMax()));
  if (table) {
    each = emit.mul(each, emit.reshape(table, {1, rows.classes}));
  }
  return emit.mul(emit.reduce(ReduceKind::sum, each, {1}, true),
                  1.0 / rows.classes);
}

ClassRows rowsOf(Emitter &emit, Value scores, Value labels) {
  int64_t axis = AddedLoss::classAxis(Emitter::rankOf(scores));
  return classRows(emit, scores, labels, axis);
}

Value nll(Emitter &emit, const AddedLoss &loss, Value scores, Value labels) {
  ClassRows rows = rowsOf(emit, scores, labels);
  mlir::Type element = Emitter::elementOf(rows.scores);
  Value table = tableOf(emit, loss, rows.classes, element);
  return meanOfRows(emit, weighRows(emit, rows, negativeScores(emit, rows),
                                    table, loss.ignored));
}

Value crossEntropy(Emitter &emit, const AddedLoss &loss, Value scores,
                   Value labels) {
  ClassRows rows = rowsOf(emit, scores, labels);
  mlir::Type element = Emitter::elementOf(rows.scores);
  Value table = tableOf(emit, loss, rows.classes, element);
  mlir::Type column = emit.tensorType({rows.count, 1}, element);
  auto entropy = emit.builder.create<nn::SoftmaxCrossEntropyOp>(
      emit.location, column, column, column, rows.scores, rows.labels);
  RowLoss hard = weighRows(emit, rows, entropy.getLoss(), table, loss.ignored);
  if (loss.smoothing == 0) {
    return meanOfRows(emit, hard);
  }
  Value smooth = smoothRows(emit, rows, entropy, table);
  smooth = weighRows(emit, rows, smooth, {}, loss.ignored).loss;
  Value mixed = emit.add(emit.mul(hard.loss, 1 - loss.smoothing),
                         emit.mul(smooth, loss.smoothing));
  return meanOfRows(emit, {mixed, hard.weight});
}

Value meanOfAll(Emitter &emit, Value each) {
  std::vector<int64_t> axes(Emitter::rankOf(each));
  std::iota(axes.begin(), axes.end(), 0);
  double count = static_cast<double>(elementCount(Emitter::shapeOf(each)));
  return emit.mul(emit.reduce(ReduceKind::sum, each, axes, false), 1 / count);
}

Value mse(Emitter &emit, const AddedLoss &, Value x, Value y) {
  Value difference = emit.sub(x, y);
  return meanOfAll(emit, emit.mul(difference, difference));
}

Value l1(Emitter &emit, const AddedLoss &, Value x, Value y) {
  return meanOfAll(emit, emit.unary(UnaryKind::abs, emit.sub(x, y)));
}

/// Half the square of a difference up to 1, then a line.
Value huber(Emitter &emit, const AddedLoss &, Value x, Value y) {
  Value difference = emit.sub(x, y);
  Value size = emit.unary(UnaryKind::abs, difference);
  return meanOfAll(emit,
                   emit.select(emit.compare(CompareKind::lt, size, 1.0),
                               emit.mul(emit.mul(difference, difference), 0.5),
                               emit.add(size, -0.5)));
}

/// (1 - y) softplus(x) + w y softplus(-x).
Value binaryCrossEntropy(Emitter &emit, const AddedLoss &loss, Value x,
                         Value y) {
  Value positive = y;
  // One weight is for all, and the only one where a sample has one number.
  bool one = loss.weights.size() == 1 || Emitter::rankOf(x) < 2;
  int64_t classes = one ? 1 : Emitter::shapeOf(x).back();
  if (Value table = tableOf(emit, loss, classes, Emitter::elementOf(x))) {
    positive = emit.mul(y, table);
  }
  Value negative = emit.sub(emit.splatLike(1, y), y);
  Value minus = emit.unary(UnaryKind::neg, x);
  return meanOfAll(emit, emit.add(emit.mul(negative, softplus(emit, x)),
                                  emit.mul(positive, softplus(emit, minus))));
}

/// Makes the mean loss of scores and labels, both in float32 at least, or
/// labels numbers of classes.
struct Builder {
  std::string_view name;
  Value (*build)(Emitter &emit, const AddedLoss &loss, Value scores,
                 Value labels);
};

constexpr Builder kBuilders[] = {
    {"cross_entropy", crossEntropy},
    {"nll", nll},
    {"mse", mse},
    {"l1", l1},
    {"huber", huber},
    {"bce_with_logits", binaryCrossEntropy},
};

constexpr bool allHaveBuilders() {
  for (const options::Loss &loss : options::kLosses) {
    if (options::findRow(kBuilders, loss.name) == nullptr) {
      return false;
    }
  }
  return true;
}
static_assert(allHaveBuilders(), "a loss has no row in kBuilders");

/// Positions are axis 1 of both.
void shift(Emitter &emit, Value &scores, Value &labels) {
  Shape shape = Emitter::shapeOf(scores);
  if (shape.size() != 3 || shape[1] < 2) {
    fail("--shift-labels needs scores of shape samples x positions x classes, "
         "with two positions or more, not ",
         shapeText(shape));
  }
  scores = emit.sliceAxis(scores, 1, 0, shape[1] - 1);
  labels = emit.sliceAxis(labels, 1, 1, shape[1] - 1);
}

} // namespace

Shape AddedLoss::labelShape(Shape scores) const {
  if (!ofClasses()) {
    return scores;
  }
  if (scores.size() < 2) {
    fail(name(), " needs scores of rank 2 or more, not shape ",
         shapeText(scores));
  }
  scores.erase(scores.begin() + classAxis(scores.size()));
  return scores;
}

Value emitLoss(Emitter &emit, const AddedLoss &loss, Value scores,
               Value labels) {
  auto widened = [&](Value value) {
    bool half = Emitter::isFloat(value) &&
                Emitter::elementOf(value).getIntOrFloatBitWidth() < 32;
    return half ? emit.convert(value, emit.builder.getF32Type()) : value;
  };
  scores = widened(scores);
  labels = widened(labels);
  if (loss.shift) {
    shift(emit, scores, labels);
  }
  return options::findRow(kBuilders, loss.kind->name)
      ->build(emit, loss, scores, labels);
}

} // namespace zerograph::frontend
