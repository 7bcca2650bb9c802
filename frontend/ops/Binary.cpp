//===- Binary.cpp - functions of two values, element by element -----------===//

#include "frontend/emit/StableLog.h"
#include "frontend/ops/Arithmetic.h"
#include "frontend/ops/CrossEntropy.h"

#include <cmath>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

template <BinaryKind kind>
void emitBinary(Op &op) {
  Value x = op.value(0), y = op.value(1);
  op.set(0, op.emit.binary(kind, x, y));
}

void emitSub(Op &op) {
  Value x = op.value(0), y = op.value(1);
  if (Value loss = binaryCrossEntropy(op)) {
    op.set(0, loss);
    return;
  }
  if (Value precise = preciseDifference(op.emit, x, y)) {
    op.set(0, precise);
    return;
  }
  StableForm stable = stableCrossEntropy(op.emit, x, y);
  if (stable.value) {
    op.noteStable(stable.form);
  }
  op.set(0, stable.value ? stable.value : op.emit.sub(x, y));
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

const OpDef kOps[] = {
    {"Add", 7, emitBinary<BinaryKind::add>, foldTwo<BinaryKind::add>},
    {"Div", 7, emitBinary<BinaryKind::div>, foldTwo<BinaryKind::div>},
    {"Mod", 10, emitMod, foldMod},
    {"Mul", 7, emitBinary<BinaryKind::mul>, foldTwo<BinaryKind::mul>},
    {"Pow", 7, emitPow, foldPow},
    {"Sub", 7, emitSub, foldTwo<BinaryKind::sub>},
};

} // namespace

llvm::ArrayRef<OpDef> binaryOps() { return kOps; }

} // namespace zerograph::frontend
