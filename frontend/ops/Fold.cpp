//===- Fold.cpp - arithmetic of two constants -----------------------------===//

#include "frontend/ops/Fold.h"

#include <cmath>

using mlir::zg::nn::BinaryKind;

namespace zerograph::frontend {

namespace {

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

} // namespace

HostTensor foldPair(BinaryKind kind, const HostTensor &x, const HostTensor &y) {
  return foldBinary(
      x, y, x.type(),
      [kind](int64_t a, int64_t b) { return combineInts(kind, a, b); },
      [kind](double a, double b) { return combineFloats(kind, a, b); });
}

} // namespace zerograph::frontend
