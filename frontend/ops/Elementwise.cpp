//===- Elementwise.cpp - arithmetic, element by element -------------------===//

#include "frontend/ops/Ops.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

//===----------------------------------------------------------------------===//
// Functions of one value
//===----------------------------------------------------------------------===//

template <UnaryKind kind>
void emitUnary(Op &op) {
  op.set(0, op.emit.unary(kind, op.value(0)));
}

double sign(double x) { return x != x ? x : (x > 0) - (x < 0); }
double reciprocal(double x) { return 1 / x; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

template <double (*function)(double)>
void foldFloat(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0, foldUnary(
                x, x.type(),
                [](int64_t value) {
                  return toInteger(function(static_cast<double>(value)));
                },
                function));
}

void foldNeg(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0, foldUnary(
                x, x.type(), [](int64_t v) { return wrapMul(v, -1); },
                [](double v) { return -v; }));
}

void foldAbs(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  op.set(0,
         foldUnary(
             x, x.type(), [](int64_t v) { return v < 0 ? wrapMul(v, -1) : v; },
             [](double v) { return std::fabs(v); }));
}

//===----------------------------------------------------------------------===//
// Functions of two values
//===----------------------------------------------------------------------===//

template <BinaryKind kind>
Value combine(Emitter &emit, Value x, Value y) {
  return emit.binary(kind, x, y);
}

template <BinaryKind kind>
void emitBinary(Op &op) {
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.binary(kind, x, y));
}

int64_t divideInts(int64_t a, int64_t b) {
  if (b == 0) {
    fail("divides an integer by zero");
  }
  return b == -1 ? wrapMul(a, -1) : a / b;
}

/// Remainder with the sign of the divisor.
int64_t floorMod(int64_t a, int64_t b) {
  if (b == 0) {
    fail("divides an integer by zero");
  }
  int64_t rest = b == -1 ? 0 : a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t combineInts(BinaryKind kind, int64_t a, int64_t b) {
  switch (kind) {
  case BinaryKind::add:
    return wrapAdd(a, b);
  case BinaryKind::sub:
    return wrapAdd(a, wrapMul(b, -1));
  case BinaryKind::mul:
    return wrapMul(a, b);
  case BinaryKind::div:
    return divideInts(a, b);
  case BinaryKind::max:
    return std::max(a, b);
  case BinaryKind::min:
    return std::min(a, b);
  case BinaryKind::mod:
    return floorMod(a, b);
  default: // rem
    return b == 0 ? divideInts(a, b) : b == -1 ? 0 : a % b;
  }
}

double combineFloats(BinaryKind kind, double a, double b) {
  switch (kind) {
  case BinaryKind::add:
    return a + b;
  case BinaryKind::sub:
    return a - b;
  case BinaryKind::mul:
    return a * b;
  case BinaryKind::div:
    return a / b;
  case BinaryKind::max:
    return maximum(a, b);
  case BinaryKind::min:
    return minimum(a, b);
  case BinaryKind::mod: {
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  default:
    return std::fmod(a, b);
  }
}

HostTensor foldPair(BinaryKind kind, const HostTensor &x, const HostTensor &y) {
  return foldBinary(
      x, y, x.type(),
      [kind](int64_t a, int64_t b) { return combineInts(kind, a, b); },
      [kind](double a, double b) { return combineFloats(kind, a, b); });
}

template <BinaryKind kind>
void foldTwo(Op &op) {
  op.set(0,
         foldPair(kind, op.constant(0, "operand"), op.constant(1, "operand")));
}

BinaryKind modKind(Op &op) {
  return op.intAttribute("fmod", 0) != 0 ? BinaryKind::rem : BinaryKind::mod;
}

void emitMod(Op &op) {
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.binary(modKind(op), x, y));
}

void foldMod(Op &op) {
  op.set(0, foldPair(modKind(op), op.constant(0, "operand"),
                     op.constant(1, "operand")));
}

//===----------------------------------------------------------------------===//
// Functions of any number of values
//===----------------------------------------------------------------------===//

/// x, but a bound where it is beyond: not min or max, for at the bound itself
/// the gradient passes, as in PyTorch.
Value clip(Emitter &emit, Value x, CompareKind beyond, Value bound) {
  return emit.select(emit.compare(beyond, x, bound), bound, x);
}

/// Exporters write clamp with one bound as Max or Min with a number.
bool emitClamp(Op &op, BinaryKind kind) {
  if (op.inputCount() != 2 ||
      (kind != BinaryKind::max && kind != BinaryKind::min)) {
    return false;
  }
  for (int i : {0, 1}) {
    const HostTensor *bound = op.host(i);
    if (bound != nullptr && bound->size() == 1 && op.host(1 - i) == nullptr &&
        bound->rank() <= static_cast<int64_t>(op.shape(1 - i).size())) {
      op.set(0,
             clip(op.emit, op.value(1 - i),
                  kind == BinaryKind::max ? CompareKind::lt : CompareKind::gt,
                  op.value(i)));
      return true;
    }
  }
  return false;
}

template <BinaryKind kind, bool mean = false>
void emitVariadic(Op &op) {
  if (emitClamp(op, kind)) {
    return;
  }
  Value result = op.value(0);
  for (int i = 1; i < op.inputCount(); ++i) {
    result = op.emit.binary(kind, result, op.value(i));
  }
  if (mean && op.inputCount() > 1) {
    result = op.emit.mul(result, 1.0 / op.inputCount());
  }
  op.set(0, result);
}

template <BinaryKind kind>
void foldVariadic(Op &op) {
  HostTensor result = op.constant(0, "operand");
  for (int i = 1; i < op.inputCount(); ++i) {
    result = foldPair(kind, result, op.constant(i, "operand"));
  }
  op.set(0, result);
}

//===----------------------------------------------------------------------===//
// Pow
//===----------------------------------------------------------------------===//

/// x to a constant power as products and roots, or null.
Value simplePower(Emitter &emit, Value x, double exponent) {
  if (exponent == 1) {
    return x;
  }
  if (exponent == 2) {
    return emit.mul(x, x);
  }
  if (exponent == 3) {
    return emit.mul(emit.mul(x, x), x);
  }
  if (!Emitter::isFloat(x)) {
    return {};
  }
  if (exponent == 0.5) {
    return emit.unary(UnaryKind::sqrt, x);
  }
  if (exponent == -1) {
    return emit.unary(UnaryKind::reciprocal, x);
  }
  if (exponent == -0.5) {
    return emit.unary(UnaryKind::reciprocal, emit.unary(UnaryKind::sqrt, x));
  }
  return {};
}

void emitPow(Op &op) {
  Value x = op.value(0);
  const HostTensor *exponent = op.host(1);
  if (exponent != nullptr && exponent->isSplat() &&
      broadcastShapes(op.shape(0), exponent->shape()) == op.shape(0)) {
    if (Value power = simplePower(op.emit, x, exponent->floatAt(0))) {
      op.set(0, power);
      return;
    }
  }
  if (!Emitter::isFloat(x)) {
    fail("a power of integers needs the constant exponent 1, 2 or 3");
  }
  Value y = op.emit.convert(op.value(1), Emitter::elementOf(x));
  op.set(0, op.emit.binary(BinaryKind::pow, x, y));
}

void foldPow(Op &op) {
  const HostTensor &x = op.constant(0, "base");
  const HostTensor &exponent = op.constant(1, "exponent");
  HostTensor y = foldUnary(
      exponent, x.type(), [](int64_t v) { return v; },
      [](double v) { return v; });
  op.set(0, foldBinary(
                x, y, x.type(),
                [](int64_t a, int64_t b) {
                  return toInteger(
                      std::pow(static_cast<double>(a), static_cast<double>(b)));
                },
                [](double a, double b) { return std::pow(a, b); }));
}

//===----------------------------------------------------------------------===//
// Clip
//===----------------------------------------------------------------------===//

void emitClip(Op &op) {
  Value x = op.value(0);
  if (op.hasInput(1)) {
    x = clip(op.emit, x, CompareKind::lt, op.value(1));
  }
  if (op.hasInput(2)) {
    x = clip(op.emit, x, CompareKind::gt, op.value(2));
  }
  op.set(0, x);
}

void foldClip(Op &op) {
  HostTensor x = op.constant(0, "operand");
  if (op.hasInput(1)) {
    x = foldPair(BinaryKind::max, x, op.constant(1, "min"));
  }
  if (op.hasInput(2)) {
    x = foldPair(BinaryKind::min, x, op.constant(2, "max"));
  }
  op.set(0, x);
}

/// Before version 11 the bounds are attributes.
void emitClipAttributes(Op &op) {
  Value x = op.value(0);
  if (op.hasAttribute("min")) {
    Value low = op.emit.splatLike(op.floatAttribute("min", 0), x);
    x = op.emit.select(op.emit.compare(CompareKind::lt, x, low), low, x);
  }
  if (op.hasAttribute("max")) {
    Value high = op.emit.splatLike(op.floatAttribute("max", 0), x);
    x = op.emit.select(op.emit.compare(CompareKind::gt, x, high), high, x);
  }
  op.set(0, x);
}

const OpDef kOps[] = {
    {"Abs", 6, emitUnary<UnaryKind::abs>, foldAbs},
    {"Add", 7, emitBinary<BinaryKind::add>, foldTwo<BinaryKind::add>},
    {"Ceil", 6, emitUnary<UnaryKind::ceil>, foldFloat<std::ceil>, gradientTo<>},
    {"Clip", 6, emitClipAttributes},
    {"Clip", 11, emitClip, foldClip},
    {"Cos", 7, emitUnary<UnaryKind::cos>, foldFloat<std::cos>},
    {"Div", 7, emitBinary<BinaryKind::div>, foldTwo<BinaryKind::div>},
    {"Erf", 9, emitUnary<UnaryKind::erf>, foldFloat<std::erf>},
    {"Exp", 6, emitUnary<UnaryKind::exp>, foldFloat<std::exp>},
    {"Floor", 6, emitUnary<UnaryKind::floor>, foldFloat<std::floor>,
     gradientTo<>},
    {"Log", 6, emitUnary<UnaryKind::log>, foldFloat<std::log>},
    {"Max", 6, emitVariadic<BinaryKind::max>, foldVariadic<BinaryKind::max>},
    {"Mean", 6, emitVariadic<BinaryKind::add, true>},
    {"Min", 6, emitVariadic<BinaryKind::min>, foldVariadic<BinaryKind::min>},
    {"Mod", 10, emitMod, foldMod},
    {"Mul", 7, emitBinary<BinaryKind::mul>, foldTwo<BinaryKind::mul>},
    {"Neg", 6, emitUnary<UnaryKind::neg>, foldNeg},
    {"Pow", 7, emitPow, foldPow},
    {"Reciprocal", 6, emitUnary<UnaryKind::reciprocal>, foldFloat<reciprocal>},
    {"Round", 11, emitUnary<UnaryKind::round>, foldFloat<std::nearbyint>,
     gradientTo<>},
    {"Sigmoid", 6, emitUnary<UnaryKind::sigmoid>, foldFloat<sigmoid>},
    {"Sign", 9, emitUnary<UnaryKind::sign>, foldFloat<sign>, gradientTo<>},
    {"Sin", 7, emitUnary<UnaryKind::sin>, foldFloat<std::sin>},
    {"Sqrt", 6, emitUnary<UnaryKind::sqrt>, foldFloat<std::sqrt>},
    {"Sub", 7, emitBinary<BinaryKind::sub>, foldTwo<BinaryKind::sub>},
    {"Sum", 6, emitVariadic<BinaryKind::add>, foldVariadic<BinaryKind::add>},
    {"Tanh", 6, emitUnary<UnaryKind::tanh>, foldFloat<std::tanh>},
};

} // namespace

llvm::ArrayRef<OpDef> elementwiseOps() { return kOps; }

} // namespace zerograph::frontend
