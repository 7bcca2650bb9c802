//===- Scalar.cpp - the functions of nn on single numbers -----------------===//

#include "tests/support/Scalar.h"

#include "llvm/ADT/APSInt.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

bool isSigned(Type element) {
  return !element.isUnsignedInteger() && !element.isInteger(1);
}

/// The low bits of a number as the type has them.
double wrap(Type element, int64_t x) {
  unsigned shift = 64 - element.getIntOrFloatBitWidth();
  uint64_t high = static_cast<uint64_t>(x) << shift;
  return isSigned(element)
             ? static_cast<double>(static_cast<int64_t>(high) >> shift)
             : static_cast<double>(high >> shift);
}

double integerBinary(BinaryKind kind, Type element, int64_t a, int64_t b) {
  // Unsigned arithmetic wraps; signed would be undefined.
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (kind) {
  case BinaryKind::add:
    return wrap(element, ua + ub);
  case BinaryKind::sub:
    return wrap(element, ua - ub);
  case BinaryKind::mul:
    return wrap(element, ua * ub);
  case BinaryKind::div:
    return b == 0 ? 0 : b == -1 ? wrap(element, 0 - ua) : a / b;
  case BinaryKind::rem:
    return b == 0 || b == -1 ? 0 : a % b;
  case BinaryKind::mod: {
    int64_t rem = b == 0 || b == -1 ? 0 : a % b;
    return rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
  }
  case BinaryKind::max:
    return std::max(a, b);
  case BinaryKind::min:
    return std::min(a, b);
  case BinaryKind::logical_and:
    return a & b;
  case BinaryKind::logical_or:
    return a | b;
  case BinaryKind::logical_xor:
    return a ^ b;
  case BinaryKind::pow:
  case BinaryKind::cross_entropy:
    break;
  }
  llvm_unreachable("the verifier refuses them of integers");
}

/// The greater of two, whatever their order: -0 is less than +0, a NaN wins.
double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return a == b && std::signbit(a) ? b : std::max(a, b);
}

double floatBinary(BinaryKind kind, double a, double b) {
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
    return -maximum(-a, -b);
  case BinaryKind::pow:
    return std::pow(a, b);
  case BinaryKind::rem:
    return std::fmod(a, b);
  case BinaryKind::mod: {
    double rem = std::fmod(a, b);
    return rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
  }
  case BinaryKind::cross_entropy:
    return (b - 1) * maximum(std::log1p(-a), -100) -
           b * maximum(std::log(a), -100);
  case BinaryKind::logical_and:
  case BinaryKind::logical_or:
  case BinaryKind::logical_xor:
    break;
  }
  llvm_unreachable("the verifier refuses logical functions of floats");
}

/// A float rounded towards zero and to the nearest integer of the type; a NaN
/// is 0.
double saturate(Type element, double x) {
  APSInt value(element.getIntOrFloatBitWidth(), !isSigned(element));
  bool exact;
  APFloat(x).convertToInteger(value, APFloat::rmTowardZero, &exact);
  return isSigned(element) ? static_cast<double>(value.getSExtValue())
                           : static_cast<double>(value.getZExtValue());
}

} // namespace

double mlir::zg::testing::applyUnary(UnaryKind kind, Type element, double x) {
  bool integer = isa<IntegerType>(element);
  switch (kind) {
  case UnaryKind::neg:
    return integer ? wrap(element, -static_cast<int64_t>(x)) : -x;
  case UnaryKind::abs:
    return integer ? wrap(element, std::abs(static_cast<int64_t>(x)))
                   : std::fabs(x);
  case UnaryKind::sign:
    return std::isnan(x) ? x : (x > 0) - (x < 0);
  case UnaryKind::exp:
    return std::exp(x);
  case UnaryKind::log:
    return std::log(x);
  case UnaryKind::log1p:
    return std::log1p(x);
  case UnaryKind::expm1:
    return std::expm1(x);
  case UnaryKind::sqrt:
    return std::sqrt(x);
  case UnaryKind::reciprocal:
    return 1 / x;
  case UnaryKind::tanh:
    return std::tanh(x);
  case UnaryKind::sigmoid:
    return 1 / (1 + std::exp(-x));
  case UnaryKind::erf:
    return std::erf(x);
  case UnaryKind::sin:
    return std::sin(x);
  case UnaryKind::cos:
    return std::cos(x);
  case UnaryKind::floor:
    return std::floor(x);
  case UnaryKind::ceil:
    return std::ceil(x);
  case UnaryKind::round:
    return std::nearbyint(x); // to even, the default mode
  case UnaryKind::is_nan:
    return std::isnan(x);
  case UnaryKind::is_inf:
    return std::isinf(x);
  case UnaryKind::logical_not:
    return x == 0;
  }
  llvm_unreachable("every unary kind has a case");
}

double mlir::zg::testing::applyBinary(BinaryKind kind, Type element, double a,
                                      double b) {
  if (element && isa<IntegerType>(element)) {
    return integerBinary(kind, element, static_cast<int64_t>(a),
                         static_cast<int64_t>(b));
  }
  return floatBinary(kind, a, b);
}

double mlir::zg::testing::applyCompare(CompareKind kind, double a, double b) {
  switch (kind) {
  case CompareKind::eq:
    return a == b;
  case CompareKind::ne:
    return a != b;
  case CompareKind::lt:
    return a < b;
  case CompareKind::le:
    return a <= b;
  case CompareKind::gt:
    return a > b;
  case CompareKind::ge:
    return a >= b;
  }
  llvm_unreachable("every comparison has a case");
}

double mlir::zg::testing::convertScalar(Type from, Type to, double x) {
  if (to.isInteger(1)) {
    return x != 0;
  }
  return isa<FloatType>(from) && isa<IntegerType>(to) ? saturate(to, x)
                                                      : roundTo(to, x);
}

double mlir::zg::testing::roundTo(Type element, double x) {
  if (auto type = dyn_cast<FloatType>(element)) {
    APFloat value(x);
    bool inexact;
    value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &inexact);
    return value.convertToDouble();
  }
  return wrap(element, static_cast<int64_t>(x));
}

BinaryKind mlir::zg::testing::binaryOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::sum:
    return BinaryKind::add;
  case ReduceKind::prod:
    return BinaryKind::mul;
  case ReduceKind::max:
    return BinaryKind::max;
  case ReduceKind::min:
    return BinaryKind::min;
  }
  llvm_unreachable("every reduction has a case");
}

double mlir::zg::testing::neutral(ReduceKind kind, Type element) {
  double most = std::numeric_limits<double>::infinity();
  double least = -most;
  if (isa<IntegerType>(element)) {
    // i64 is cut at what a double holds exactly.
    int bits = std::min(element.getIntOrFloatBitWidth(), 54u);
    most = std::ldexp(1, isSigned(element) ? bits - 1 : bits) - 1;
    least = isSigned(element) ? -most - 1 : 0;
  }
  switch (kind) {
  case ReduceKind::sum:
    return 0;
  case ReduceKind::prod:
    return 1;
  case ReduceKind::max:
    return least;
  case ReduceKind::min:
    return most;
  }
  llvm_unreachable("every reduction has a case");
}

double mlir::zg::testing::scalarValue(TypedAttr attribute) {
  if (auto value = dyn_cast<FloatAttr>(attribute)) {
    return value.getValueAsDouble();
  }
  auto value = cast<IntegerAttr>(attribute);
  // Each converted by itself: the two integer types meet in the unsigned one.
  return isSigned(value.getType())
             ? static_cast<double>(value.getValue().getSExtValue())
             : static_cast<double>(value.getValue().getZExtValue());
}
