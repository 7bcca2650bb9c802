//===- Trigonometry.cpp - angles and hyperbolas, of simpler functions -----===//
//
// The gradient of the side that a select does not take is zero times something.
// So that side is kept finite.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

Value negate(Emitter &emit, Value x) { return emit.unary(UnaryKind::neg, x); }

Value one(Emitter &emit, Value x) { return emit.splatLike(1, x); }

/// f(|x|) with the sign of x. A select, so that the gradient at 0 is f's.
template <typename F>
Value odd(Emitter &emit, Value x, F f) {
  Value negative = emit.compare(CompareKind::lt, x, 0.0);
  Value result = f(emit.select(negative, negate(emit, x), x));
  return emit.select(negative, negate(emit, result), result);
}

/// sqrt(1 + sign * x * x)
Value rootOfSquare(Emitter &emit, Value x, double sign) {
  return emit.unary(UnaryKind::sqrt,
                    emit.add(emit.mul(emit.mul(x, x), sign), 1.0));
}

/// Above 1 by the complement of the angle; then the angle is halved three
/// times; then comes the series, whose next term is below 1e-16.
Value arcTangent(Emitter &emit, Value x) {
  return odd(emit, x, [&](Value a) {
    Value steep = emit.compare(CompareKind::gt, a, 1.0);
    Value t = emit.div(emit.select(steep, one(emit, a), a),
                       emit.select(steep, a, one(emit, a)));
    for (int i = 0; i < 3; ++i) {
      t = emit.div(t, emit.add(rootOfSquare(emit, t, 1), 1.0));
    }
    Value square = emit.mul(t, t), sum = emit.splatLike(0, t);
    for (int power = 13; power >= 1; power -= 2) {
      double sign = power % 4 == 1 ? 1 : -1;
      sum = emit.add(emit.mul(sum, square), sign / power);
    }
    Value angle = emit.mul(emit.mul(sum, t), 8.0);
    Value complement = emit.add(negate(emit, angle), M_PI / 2);
    return emit.select(steep, complement, angle);
  });
}

Value arcSine(Emitter &emit, Value x) {
  Value half = emit.div(x, emit.add(rootOfSquare(emit, x, -1), 1.0));
  return emit.mul(arcTangent(emit, half), 2.0);
}

Value arcCosine(Emitter &emit, Value x) {
  return emit.add(negate(emit, arcSine(emit, x)), M_PI / 2);
}

Value tangent(Emitter &emit, Value x) {
  return emit.div(emit.unary(UnaryKind::sin, x), emit.unary(UnaryKind::cos, x));
}

/// By exp(x) - 1, whose digits a small x leaves.
Value hyperbolicSine(Emitter &emit, Value x) {
  Value up = emit.unary(UnaryKind::expm1, x);
  Value down = emit.unary(UnaryKind::expm1, negate(emit, x));
  return emit.mul(emit.sub(up, down), 0.5);
}

Value hyperbolicCosine(Emitter &emit, Value x) {
  Value up = emit.unary(UnaryKind::exp, x);
  Value down = emit.unary(UnaryKind::exp, negate(emit, x));
  return emit.mul(emit.add(up, down), 0.5);
}

/// log(1 + beyond(x)); log(2 x) for large x, whose square would be infinite.
template <typename F>
Value areaOf(Emitter &emit, Value x, F beyond) {
  Value far = emit.compare(CompareKind::gt, x, 1e9);
  Value near = beyond(emit.select(far, one(emit, x), x));
  Value result = emit.unary(UnaryKind::log1p, emit.select(far, x, near));
  return emit.select(far, emit.add(result, M_LN2), result);
}

/// x + sqrt(x * x + 1) is 1 + x + x * x / (1 + sqrt(x * x + 1)).
Value areaSine(Emitter &emit, Value x) {
  return odd(emit, x, [&](Value a) {
    return areaOf(emit, a, [&](Value near) {
      Value root = emit.add(rootOfSquare(emit, near, 1), 1.0);
      return emit.add(near, emit.div(emit.mul(near, near), root));
    });
  });
}

/// With t = x - 1, x + sqrt(x * x - 1) is 1 + t + sqrt(t * (t + 2)).
Value areaCosine(Emitter &emit, Value x) {
  return areaOf(emit, x, [&](Value near) {
    Value t = emit.add(near, -1.0);
    Value square = emit.mul(t, emit.add(t, 2.0));
    return emit.add(t, emit.unary(UnaryKind::sqrt, square));
  });
}

Value areaTangent(Emitter &emit, Value x) {
  Value above = emit.unary(UnaryKind::log1p, x);
  Value below = emit.unary(UnaryKind::log1p, negate(emit, x));
  return emit.mul(emit.sub(above, below), 0.5);
}

template <Value (*function)(Emitter &, Value)>
void emitFunction(Op &op) {
  Value x = op.value(0);
  if (!Emitter::isFloat(x)) {
    fail("the operand must be a float");
  }
  op.set(0, function(op.emit, x));
}

template <double (*function)(double)>
void fold(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  if (!x.isFloat()) {
    fail("the operand must be a float");
  }
  op.set(0, foldUnary(
                x, x.type(), [](int64_t value) { return value; }, function));
}

const OpDef kOps[] = {
    {"Acos", 7, emitFunction<arcCosine>, fold<std::acos>},
    {"Acosh", 9, emitFunction<areaCosine>, fold<std::acosh>},
    {"Asin", 7, emitFunction<arcSine>, fold<std::asin>},
    {"Asinh", 9, emitFunction<areaSine>, fold<std::asinh>},
    {"Atan", 7, emitFunction<arcTangent>, fold<std::atan>},
    {"Atanh", 9, emitFunction<areaTangent>, fold<std::atanh>},
    {"Cosh", 9, emitFunction<hyperbolicCosine>, fold<std::cosh>},
    {"Sinh", 9, emitFunction<hyperbolicSine>, fold<std::sinh>},
    {"Tan", 7, emitFunction<tangent>, fold<std::tan>},
};

} // namespace

llvm::ArrayRef<OpDef> trigonometryOps() { return kOps; }

} // namespace zerograph::frontend
