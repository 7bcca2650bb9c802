//===- Activation.cpp - activation functions ------------------------------===//
//
// At a kink the gradient is PyTorch's: each comparison is written so that its
// select takes the branch whose derivative PyTorch uses.
//
//===----------------------------------------------------------------------===//

#include "frontend/emit/Exponentials.h"
#include "frontend/ops/Ops.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// x where x > 0 (and where it is NaN), else 0, with gradient 0 at 0.
Value relu(Emitter &emit, Value x) {
  return emit.select(emit.compare(CompareKind::le, x, 0.0),
                     emit.splatLike(0, x), x);
}

Value clamp01(Emitter &emit, Value x) {
  Value zero = emit.splatLike(0, x), one = emit.splatLike(1, x);
  x = emit.select(emit.compare(CompareKind::le, x, zero), zero, x);
  return emit.select(emit.compare(CompareKind::ge, x, one), one, x);
}

void emitRelu(Op &op) { op.set(0, relu(op.emit, op.value(0))); }

void foldRelu(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0, foldUnary(
                x, x.type(), [](int64_t v) { return std::max<int64_t>(v, 0); },
                [](double v) { return v <= 0 ? 0 : v; }));
}

void emitLeakyRelu(Op &op) {
  Value x = op.value(0);
  Value scaled = op.emit.mul(x, op.floatAttribute("alpha", 0.01f));
  op.set(0,
         op.emit.select(op.emit.compare(CompareKind::gt, x, 0.0), x, scaled));
}

void emitPRelu(Op &op) {
  Value x = op.value(0), slope = op.value(1);
  op.set(0, op.emit.select(op.emit.compare(CompareKind::gt, x, 0.0), x,
                           op.emit.mul(x, slope)));
}

/// scale * (x > 0 ? x : alpha * expm1(min(x, 0))). Without the min an infinite
/// exp would meet a gradient of zero, and give NaN.
void emitExponential(Op &op, double alpha, double scale) {
  Value x = op.value(0);
  Value positive = op.emit.compare(CompareKind::gt, x, 0.0);
  Value bounded = op.emit.select(positive, op.emit.splatLike(0, x), x);
  Value below = op.emit.mul(op.emit.unary(UnaryKind::expm1, bounded), alpha);
  Value y = op.emit.select(positive, x, below);
  op.set(0, scale == 1 ? y : op.emit.mul(y, scale));
}

void emitElu(Op &op) {
  emitExponential(op, op.floatAttribute("alpha", 1.0f), 1);
}

void emitSelu(Op &op) {
  emitExponential(op, op.floatAttribute("alpha", 1.67326319217681884765625f),
                  op.floatAttribute("gamma", 1.05070102214813232421875f));
}

void emitSoftplus(Op &op) { op.set(0, softplus(op.emit, op.value(0))); }

void emitSoftsign(Op &op) {
  Value x = op.value(0);
  op.set(0, op.emit.div(x, op.emit.add(op.emit.unary(UnaryKind::abs, x), 1.0)));
}

void emitHardSigmoid(Op &op) {
  Value x =
      op.emit.add(op.emit.mul(op.value(0), op.floatAttribute("alpha", 0.2f)),
                  op.floatAttribute("beta", 0.5f));
  op.set(0, clamp01(op.emit, x));
}

void emitThresholdedRelu(Op &op) {
  Value x = op.value(0);
  op.set(0, op.emit.select(op.emit.compare(CompareKind::gt, x,
                                           op.floatAttribute("alpha", 1.0f)),
                           x, op.emit.splatLike(0, x)));
}

/// x moved towards 0 by the bias; 0 where x is in [-lambd, lambd].
void emitShrink(Op &op) {
  Value x = op.value(0);
  double edge = op.floatAttribute("lambd", 0.5f);
  double bias = op.floatAttribute("bias", 0.0f);
  Value above = op.emit.select(op.emit.compare(CompareKind::gt, x, edge),
                               op.emit.add(x, -bias), op.emit.splatLike(0, x));
  op.set(0, op.emit.select(op.emit.compare(CompareKind::lt, x, -edge),
                           op.emit.add(x, bias), above));
}

void emitHardSwish(Op &op) {
  Value x = op.value(0);
  Value gate = op.emit.add(op.emit.mul(x, 1.0f / 6.0f), 0.5);
  op.set(0, op.emit.mul(x, clamp01(op.emit, gate)));
}

void emitGelu(Op &op) {
  Value x = op.value(0);
  std::string form = op.stringAttribute("approximate", "none");
  Value inner;
  if (form == "none") {
    inner = op.emit.unary(UnaryKind::erf, op.emit.mul(x, std::sqrt(0.5)));
  } else if (form == "tanh") {
    Value cube = op.emit.mul(op.emit.mul(x, x), x);
    Value sum = op.emit.add(x, op.emit.mul(cube, 0.044715));
    inner =
        op.emit.unary(UnaryKind::tanh, op.emit.mul(sum, std::sqrt(2 / M_PI)));
  } else {
    fail("approximate='", form, "' is not known; 'none' and 'tanh' are");
  }
  op.set(0, op.emit.mul(op.emit.mul(x, 0.5), op.emit.add(inner, 1.0)));
}

void emitSwish(Op &op) {
  Value x = op.value(0);
  float alpha = op.floatAttribute("alpha", 1.0f);
  Value gate = alpha == 1 ? x : op.emit.mul(x, alpha);
  op.set(0, op.emit.mul(x, op.emit.unary(UnaryKind::sigmoid, gate)));
}

/// Runs `function` with the given axis as the last one.
template <typename F>
Value alongAxis(Op &op, Value x, F function) {
  int64_t rank = Emitter::rankOf(x);
  int64_t axis = normalizeAxis(op.intAttribute("axis", -1), rank);
  x = function(op.emit.moveAxis(x, axis, rank - 1));
  return op.emit.moveAxis(x, rank - 1, axis);
}

void emitSoftmax(Op &op) {
  op.set(0, alongAxis(op, op.value(0),
                      [&](Value x) { return op.emit.softmax(x); }));
}

void emitLogSoftmax(Op &op) {
  op.set(0, alongAxis(op, op.value(0),
                      [&](Value x) { return logSoftmax(op.emit, x); }));
}

/// Before version 13 the dims from `axis` on are normalized as one.
template <typename F>
Value overRest(Op &op, F function) {
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t axis = op.intAttribute("axis", 1), rank = shape.size();
  if (axis != rank) {
    axis = normalizeAxis(axis, rank);
  }
  int64_t rows = elementCount(Shape(shape.begin(), shape.begin() + axis));
  x = op.emit.reshape(x, {rows, elementCount(shape) / rows});
  return op.emit.reshape(function(op.emit, x), shape);
}

void emitFlatSoftmax(Op &op) {
  op.set(0,
         overRest(op, [](Emitter &emit, Value x) { return emit.softmax(x); }));
}

void emitFlatLogSoftmax(Op &op) { op.set(0, overRest(op, logSoftmax)); }

const OpDef kOps[] = {
    {"Elu", 6, emitElu},
    {"Gelu", 20, emitGelu},
    {"HardSigmoid", 6, emitHardSigmoid},
    {"HardSwish", 14, emitHardSwish},
    {"LeakyRelu", 6, emitLeakyRelu},
    {"LogSoftmax", 1, emitFlatLogSoftmax},
    {"LogSoftmax", 13, emitLogSoftmax},
    {"PRelu", 7, emitPRelu},
    {"Relu", 6, emitRelu, foldRelu},
    {"Selu", 6, emitSelu},
    {"Shrink", 9, emitShrink},
    {"Softmax", 1, emitFlatSoftmax},
    {"Softmax", 13, emitSoftmax},
    {"Softplus", 1, emitSoftplus},
    {"Softsign", 1, emitSoftsign},
    {"Swish", 24, emitSwish},
    {"ThresholdedRelu", 10, emitThresholdedRelu},
};

} // namespace

llvm::ArrayRef<OpDef> activationOps() { return kOps; }

} // namespace zerograph::frontend
