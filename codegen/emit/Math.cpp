//===- Math.cpp - functions of floats; expansions in f32 ------------------===//

#include "codegen/emit/Math.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;
using FP = arith::CmpFPredicate;

namespace {

bool isF64(Value x) { return getElementTypeOrSelf(x).isF64(); }

Type i32Like(Lanes &l, Value x) {
  return l.like(x.getType(), l.b.getI32Type());
}

/// Computes in f64 and rounds.
template <typename F>
Value viaF64(Lanes &l, Value x, F function) {
  if (isF64(x)) {
    return function(x);
  }
  Type wide = l.like(x.getType(), l.b.getF64Type());
  Value result = function(l.b.create<arith::ExtFOp>(wide, x));
  return l.b.create<arith::TruncFOp>(x.getType(), result);
}

/// 2^e by its bits, for an i32 `e` in [-126, 127].
Value powerOfTwo(Lanes &l, Type type, Value e) {
  Value biased = l.add(e, l.integer(e.getType(), 127));
  Value bits = l.b.create<arith::ShLIOp>(biased, l.integer(e.getType(), 23));
  return l.b.create<arith::BitcastOp>(type, bits);
}

/// Returns x within [low, high], as `limit < x ? limit : x`, which keeps a NaN.
Value clamp(Lanes &l, Value x, Value low, Value high) {
  x = l.select(l.compare(FP::OLT, high, x), high, x);
  return l.select(l.compare(FP::OGT, low, x), low, x);
}

/// x = n ln 2 + r with |r| <= ln 2 / 2.
struct Exponent {
  Value n, r;
};

Exponent reduceExponent(Lanes &l, Value x) {
  Type type = x.getType();
  Value n = l.b.create<math::RoundEvenOp>(
      l.mul(x, l.real(type, 1.44269504088896341)));
  Value r = l.fma(n, l.real(type, -0.693145752f), x);
  return {n, l.fma(n, l.real(type, -1.42860677e-6f), r)};
}

/// x = n ln 2 + r; exp(r) by a polynomial of degree 6,
/// then 2^n in two halves so that neither leaves the range of exponents.
/// Below 2^-126 the result is 0.
Value expF32(Lanes &l, Value x) {
  Type type = x.getType();
  Value high = l.real(type, 88.7228394f), low = l.real(type, -87.3365402f);
  auto [n, r] = reduceExponent(l, clamp(l, x, low, high));
  Value p = l.polynomial(r, {1.37805939e-3, 8.37312452e-3, 4.16695364e-2,
                             1.66664720e-1, 4.99999851e-1, 1.0, 1.0});
  Type i32 = i32Like(l, x);
  Value whole = l.b.create<arith::FPToSIOp>(i32, n);
  Value half = l.b.create<arith::ShRSIOp>(whole, l.integer(i32, 1));
  Value rest = l.sub(whole, half);
  Value y =
      l.mul(l.mul(p, powerOfTwo(l, type, half)), powerOfTwo(l, type, rest));
  y = l.select(l.compare(FP::OLT, x, low), l.zero(type), y);
  return l.select(l.compare(FP::OGT, x, high), l.real(type, INFINITY), y);
}

/// Small |x| by an odd polynomial, else 1 - 2 / (exp(2|x|) + 1) with the sign
/// of x.
Value tanhF32(Lanes &l, Value x) {
  Type type = x.getType();
  Value a = l.b.create<math::AbsFOp>(x);
  Value twice = l.add(a, a), limit = l.real(type, 30.0);
  // Beyond 30 the result is 1; a NaN stays.
  Value e = expF32(l, l.select(l.compare(FP::OLT, limit, twice), limit, twice));
  Value one = l.real(type, 1.0);
  Value big = l.sub(one, l.div(l.real(type, 2.0), l.add(e, one)));
  big = l.b.create<math::CopySignOp>(big, x);
  Value s = l.mul(x, x);
  Value p =
      l.polynomial(s, {-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2,
                       1.33314422036e-1, -3.33332819422e-1});
  Value small = l.fma(l.mul(p, s), x, x);
  return l.select(l.compare(FP::OLT, a, l.real(type, 0.625)), small, big);
}

/// x = 2^e m with m in [2/3, 4/3); log(m) by a polynomial in m - 1.
Value logF32(Lanes &l, Value x) {
  Type type = x.getType(), i32 = i32Like(l, x);
  Value tiny = l.compare(FP::OLT, x, l.real(type, 1.17549435e-38));
  Value scaled = l.select(tiny, l.mul(x, l.real(type, 8388608.0)), x);
  Value bits = l.b.create<arith::BitcastOp>(i32, scaled);
  // Subtracting the bits of 2/3 makes the exponent field that of x / (2/3).
  Value e = l.b.create<arith::AndIOp>(
      l.sub(bits, l.integer(i32, 0x3f2aaaab)),
      l.integer(i32, static_cast<int32_t>(0xff800000)));
  Value m = l.b.create<arith::BitcastOp>(type, l.sub(bits, e));
  Value exponent = l.b.create<arith::SIToFPOp>(
      type, l.b.create<arith::ShRSIOp>(e, l.integer(i32, 23)));
  exponent = l.select(tiny, l.sub(exponent, l.real(type, 23.0)), exponent);
  m = l.sub(m, l.real(type, 1.0));
  Value s = l.mul(m, m);
  Value r =
      l.polynomial(s, {-0.130310059, -0.121483512, -0.166846126, -0.249996200});
  Value t = l.polynomial(s, {0.140869141, 0.139814854, 0.200120345});
  r = l.fma(t, m, r);
  r = l.fma(r, m, l.real(type, 0.333331972));
  r = l.fma(r, m, l.real(type, -0.5));
  r = l.fma(r, s, m);
  Value y = l.fma(exponent, l.real(type, 0.693147182), r);
  Value infinity = l.real(type, INFINITY);
  // +inf and NaN stay themselves.
  y = l.select(l.compare(FP::ULT, x, infinity), y, x);
  Value zero = l.zero(type);
  y = l.select(l.compare(FP::OLT, x, zero), l.real(type, NAN), y);
  y = l.select(l.compare(FP::OEQ, x, zero), l.real(type, -INFINITY), y);
  return l.select(l.compare(FP::UNO, x, x), x, y);
}

/// Small |x| by an odd polynomial, else 1 - exp(p(|x|)) with the sign of x.
Value erfF32(Lanes &l, Value x) {
  Type type = x.getType();
  Value t = l.b.create<math::AbsFOp>(x);
  Value s = l.mul(x, x);
  Value small = l.polynomial(s, {-5.96761703e-4, 4.99119423e-3, -2.67681349e-2,
                                 1.12819925e-1, -3.76125336e-1, 1.28379166e-1});
  small = l.fma(small, x, x);
  Value limit = l.real(type, 4.0); // erf is 1 from there on
  t = l.select(l.compare(FP::OLT, limit, t), limit, t);
  Value p = l.polynomial(t, {-1.72853470e-5, 3.83197126e-4});
  Value q = l.polynomial(t, {-3.88396438e-3, 2.42546219e-2});
  p = l.fma(p, l.mul(t, t), q);
  p = l.fma(p, t, l.real(type, -1.06777877e-1));
  p = l.fma(p, t, l.real(type, -6.34846687e-1));
  p = l.fma(p, t, l.real(type, -1.28717512e-1));
  p = l.fma(p, t, l.b.create<arith::NegFOp>(t));
  Value big = l.sub(l.real(type, 1.0), expF32(l, p));
  big = l.b.create<math::CopySignOp>(big, x);
  return l.select(l.compare(FP::OGT, t, l.real(type, 0.927734375)), big, small);
}

Value emitExp(Lanes &l, Value x) {
  return isF64(x) ? f64::exp(l, x) : expF32(l, x);
}

Value emitLog(Lanes &l, Value x) {
  return isF64(x) ? f64::log(l, x) : logF32(l, x);
}

/// log(u) for u = 1 + x as it is rounded, and log of what rounding dropped of
/// it: log(1 + c / u), which is c / u.
Value emitLog1p(Lanes &l, Value x) {
  Type type = x.getType();
  Value one = l.real(type, 1.0);
  Value u = l.add(one, x);
  Value y = emitLog(l, u);
  Value dropped = l.div(l.sub(x, l.sub(u, one)), u);
  // At 0, at infinity and of a NaN, log(u) is all there is to say.
  Value inside = l.logicalAnd(l.compare(FP::OGT, u, l.zero(type)),
                              l.compare(FP::OLT, u, l.real(type, INFINITY)));
  return l.select(inside, l.add(y, dropped), y);
}

/// exp(x) - 1 = 2^n t + (2^n - 1), with x = n ln 2 + r and t = exp(r) - 1 by
/// the polynomial of exp; computed with half of 2^n, so that it does not leave
/// the range. Below -30 the result is -1.
Value expm1F32(Lanes &l, Value x) {
  Type type = x.getType();
  Value high = l.real(type, 88.7228394f), low = l.real(type, -30.0);
  auto [n, r] = reduceExponent(l, clamp(l, x, low, high));
  Value q = l.polynomial(r, {1.37805939e-3, 8.37312452e-3, 4.16695364e-2,
                             1.66664720e-1, 4.99999851e-1});
  Value t = l.fma(l.mul(r, r), q, r);
  Type i32 = i32Like(l, x);
  Value whole = l.b.create<arith::FPToSIOp>(i32, n);
  Value half = powerOfTwo(l, type, l.sub(whole, l.integer(i32, 1)));
  Value y = l.fma(half, t, l.sub(half, l.real(type, 0.5)));
  y = l.add(y, y);
  // Half of the smallest numbers is none; and -0 stays.
  Value tiny =
      l.compare(FP::OLT, l.b.create<math::AbsFOp>(x), l.real(type, 1e-30));
  y = l.select(tiny, x, y);
  return l.select(l.compare(FP::OGT, x, high), l.real(type, INFINITY), y);
}

/// 1 / (1 + exp(-x)).
Value emitSigmoid(Lanes &l, Value x) {
  Value one = l.real(x.getType(), 1.0);
  Value e = emitExp(l, l.b.create<arith::NegFOp>(x));
  return l.div(one, l.add(one, e));
}

/// Computes tanh as 1 - 2 / (1 + exp(2|x|)), with the sign of x. Where x is so
/// small that this would lose digits, tanh is x, to 1e-4 of it.
Value approximateTanh(Lanes &l, Value x) {
  Type type = x.getType();
  Value a = l.b.create<math::AbsFOp>(x), one = l.real(type, 1.0);
  Value e = l.approximation->power(l, l.mul(a, l.real(type, 2.88539008)));
  Value half = l.approximation->reciprocal(l, l.add(one, e));
  Value big = l.fma(l.real(type, -2.0), half, one);
  big = l.b.create<math::CopySignOp>(big, x);
  return l.select(l.compare(FP::OLT, a, l.real(type, 0.015625)), x, big);
}

/// Returns a function of f32 as the device approximates it, or null.
Value approximate(Lanes &l, nn::UnaryKind kind, Value x) {
  Type type = x.getType();
  auto power = [&](double factor) {
    return l.approximation->power(l, l.mul(x, l.real(type, factor)));
  };
  switch (kind) {
  case nn::UnaryKind::exp:
    return power(1.44269504);
  case nn::UnaryKind::sigmoid:
    return l.approximation->reciprocal(
        l, l.add(l.real(type, 1.0), power(-1.44269504)));
  case nn::UnaryKind::tanh:
    return approximateTanh(l, x);
  case nn::UnaryKind::reciprocal:
    return l.approximation->reciprocal(l, x);
  default:
    return {};
  }
}

Value emitSign(Lanes &l, Value x) {
  Type type = x.getType();
  Value signedOne = l.b.create<math::CopySignOp>(l.real(type, 1.0), x);
  Value nonZero = l.compare(FP::ONE, x, l.zero(type)); // A NaN stays.
  return l.select(nonZero, signedOne, x);
}

/// Sine if `quarters` is 0, cosine if it is 1.
Value emitSine(Lanes &l, Value x, int64_t quarters) {
  return viaF64(l, x, [&](Value wide) { return f64::sine(l, wide, quarters); });
}

} // namespace

Value emit::emitFloatUnary(Lanes &l, nn::UnaryKind kind, Value x) {
  Type type = x.getType();
  if (l.approximation && !isF64(x)) {
    if (Value result = approximate(l, kind, x)) {
      return result;
    }
  }
  switch (kind) {
  case nn::UnaryKind::neg:
    return l.b.create<arith::NegFOp>(x);
  case nn::UnaryKind::abs:
    return l.b.create<math::AbsFOp>(x);
  case nn::UnaryKind::sign:
    return emitSign(l, x);
  case nn::UnaryKind::exp:
    return emitExp(l, x);
  case nn::UnaryKind::log:
    return emitLog(l, x);
  case nn::UnaryKind::log1p:
    return emitLog1p(l, x);
  case nn::UnaryKind::expm1:
    return isF64(x) ? f64::expm1(l, x) : expm1F32(l, x);
  case nn::UnaryKind::sqrt:
    return l.b.create<math::SqrtOp>(x);
  case nn::UnaryKind::reciprocal:
    return l.div(l.real(type, 1.0), x);
  case nn::UnaryKind::tanh:
    return isF64(x) ? f64::tanh(l, x) : tanhF32(l, x);
  case nn::UnaryKind::sigmoid:
    return emitSigmoid(l, x);
  case nn::UnaryKind::erf:
    return isF64(x) ? f64::erf(l, x) : erfF32(l, x);
  case nn::UnaryKind::sin:
    return emitSine(l, x, 0);
  case nn::UnaryKind::cos:
    return emitSine(l, x, 1);
  case nn::UnaryKind::floor:
    return l.b.create<math::FloorOp>(x);
  case nn::UnaryKind::ceil:
    return l.b.create<math::CeilOp>(x);
  case nn::UnaryKind::round:
    return l.b.create<math::RoundEvenOp>(x);
  case nn::UnaryKind::is_nan:
    return l.compare(FP::UNO, x, x);
  case nn::UnaryKind::is_inf:
    return l.compare(FP::OEQ, l.b.create<math::AbsFOp>(x),
                     l.real(type, INFINITY));
  case nn::UnaryKind::logical_not:
    break;
  }
  llvm_unreachable("the verifier admits logical_not on i1 alone");
}

Value emit::emitPow(Lanes &l, Value x, Value y) {
  return viaF64(l, x, [&](Value wide) {
    Value exponent =
        isF64(y) ? y : l.b.create<arith::ExtFOp>(wide.getType(), y).getResult();
    return f64::pow(l, wide, exponent);
  });
}
