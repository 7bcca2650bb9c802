//===- MathF64.cpp - expansions of exp, log, tanh, ... in f64 -------------===//
//
// Reductions and coefficients after fdlibm (log, sine, erf) and Cephes (tanh).
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Math.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;
using FP = arith::CmpFPredicate;

namespace {

Type i64Like(Lanes &l, Value x) {
  return l.like(x.getType(), l.b.getI64Type());
}

Value negate(Lanes &l, Value x) { return l.b.create<arith::NegFOp>(x); }

Value absolute(Lanes &l, Value x) { return l.b.create<math::AbsFOp>(x); }

/// A whole number of magnitude below 2^51 as an i64, by its bits: the
/// conversion instruction is AVX-512's alone.
Value wholeToInteger(Lanes &l, Value n) {
  Type i64 = i64Like(l, n);
  Value magic = l.real(n.getType(), 6755399441055744.0); // 1.5 * 2^52
  Value bits = l.b.create<arith::BitcastOp>(i64, l.add(n, magic));
  return l.sub(bits, l.integer(i64, 0x4338000000000000));
}

Value powerOfTwo(Lanes &l, Type type, Value e) {
  Value biased = l.add(e, l.integer(e.getType(), 1023));
  Value bits = l.b.create<arith::ShLIOp>(biased, l.integer(e.getType(), 52));
  return l.b.create<arith::BitcastOp>(type, bits);
}

/// x = n ln 2 + r with |r| <= ln 2 / 2.
struct Exponent {
  Value n, r;
};

Exponent reduceExponent(Lanes &l, Value x) {
  Type type = x.getType();
  Value n = l.b.create<math::RoundEvenOp>(
      l.mul(x, l.real(type, 1.44269504088896338700e+00)));
  Value r = l.fma(n, l.real(type, -6.93147180369123816490e-01), x);
  return {n, l.fma(n, l.real(type, -1.90821492927058770002e-10), r)};
}

/// Taylor's series of exp(r) from the term r^k on, divided by r^k: at
/// |r| <= 0.35 the first term left out is below 1e-18.
Value expSeries(Lanes &l, Value r, int k) {
  SmallVector<double> coefficients;
  double factorial = 6227020800.0; // 13!
  for (int i = 13; i >= std::max(k, 1); factorial /= i--) {
    coefficients.push_back(1.0 / factorial);
  }
  if (k == 0) {
    coefficients.push_back(1.0);
  }
  return l.polynomial(r, coefficients);
}

/// exp(x + tail) for a tail far below x.
Value expWithTail(Lanes &l, Value x, Value tail) {
  Type type = x.getType();
  Value high = l.real(type, 709.782712893384), low = l.real(type, -745.2);
  Value clamped = l.select(l.compare(FP::OLT, high, x), high, x);
  clamped = l.select(l.compare(FP::OGT, low, clamped), low, clamped);
  auto [n, r] = reduceExponent(l, clamped);
  if (tail) {
    r = l.add(r, tail);
  }
  Value p = expSeries(l, r, 0);
  Value whole = wholeToInteger(l, n);
  Type i64 = i64Like(l, x);
  // An arithmetic shift of i64 lanes is AVX-512's alone; this one is of a
  // number made positive.
  Value half = l.sub(l.b.create<arith::ShRUIOp>(
                         l.add(whole, l.integer(i64, 4096)), l.integer(i64, 1)),
                     l.integer(i64, 2048));
  Value y = l.mul(l.mul(p, powerOfTwo(l, type, half)),
                  powerOfTwo(l, type, l.sub(whole, half)));
  y = l.select(l.compare(FP::OLT, x, low), l.zero(type), y);
  return l.select(l.compare(FP::OGT, x, high), l.real(type, INFINITY), y);
}

/// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)): log(x) as a sum of
/// `head` and a `tail` far below it.
struct LogParts {
  Value head, tail;
};

LogParts logParts(Lanes &l, Value x) {
  Type type = x.getType(), i64 = i64Like(l, x);
  Value tiny = l.compare(FP::OLT, x, l.real(type, 2.2250738585072014e-308));
  Value scaled = l.select(tiny, l.mul(x, l.real(type, 18014398509481984.0)), x);
  Value bits = l.b.create<arith::BitcastOp>(i64, scaled);
  // The bits of sqrt(1/2): the difference's exponent field is k.
  Value shifted = l.sub(bits, l.integer(i64, 0x3fe6a09e667f3bcd));
  Value e = l.b.create<arith::AndIOp>(
      shifted, l.integer(i64, static_cast<int64_t>(0xfff0000000000000)));
  Value m = l.b.create<arith::BitcastOp>(type, l.sub(bits, e));
  Value k = l.sub(
      l.b.create<arith::ShRUIOp>(l.add(e, l.integer(i64, 0x4000000000000000)),
                                 l.integer(i64, 52)),
      l.integer(i64, 1024));
  // k back to a double by its bits, as above.
  Value magic = l.integer(i64, 0x4338000000000000);
  k = l.sub(l.b.create<arith::BitcastOp>(type, l.add(k, magic)),
            l.real(type, 6755399441055744.0));
  k = l.select(tiny, l.sub(k, l.real(type, 54.0)), k);
  Value f = l.sub(m, l.real(type, 1.0));
  Value s = l.div(f, l.add(l.real(type, 2.0), f));
  Value z = l.mul(s, s);
  Value r = l.polynomial(z, {1.479819860511658591e-01, 1.531383769920937332e-01,
                             1.818357216161805012e-01, 2.222219843214978396e-01,
                             2.857142874366239149e-01, 3.999999999940941908e-01,
                             6.666666666666735130e-01});
  r = l.mul(r, z);
  Value square = l.mul(l.mul(f, f), l.real(type, 0.5));
  // log(1 + f) = f - (f^2/2 - s (f^2/2 + r)); the parts of each sum that
  // rounding drops go to the tail.
  Value kHigh = l.mul(k, l.real(type, 6.93147180369123816490e-01));
  Value kLow = l.mul(k, l.real(type, 1.90821492927058770002e-10));
  Value sum = l.add(kHigh, f);
  Value lost = l.sub(f, l.sub(sum, kHigh));
  // If |f| > |kHigh| (k = 0), the sum is f itself and nothing is lost.
  Value exactLost = l.fma(l.mul(f, l.real(type, 0.5)), f, negate(l, square));
  Value head = l.sub(sum, square);
  Value headLost = l.sub(l.sub(sum, head), square);
  Value tail = l.add(l.mul(s, l.add(square, r)),
                     l.add(kLow, l.add(lost, l.sub(headLost, exactLost))));
  Value total = l.add(head, tail);
  return {total, l.sub(tail, l.sub(total, head))};
}

} // namespace

Value emit::f64::exp(Lanes &l, Value x) { return expWithTail(l, x, {}); }

// As in f32 (Math.cpp). Below -40 the result is -1.
Value emit::f64::expm1(Lanes &l, Value x) {
  Type type = x.getType(), i64 = i64Like(l, x);
  Value high = l.real(type, 709.782712893384), low = l.real(type, -40.0);
  Value clamped = l.select(l.compare(FP::OLT, high, x), high, x);
  clamped = l.select(l.compare(FP::OGT, low, clamped), low, clamped);
  auto [n, r] = reduceExponent(l, clamped);
  Value t = l.fma(l.mul(r, r), expSeries(l, r, 2), r);
  Value half =
      powerOfTwo(l, type, l.sub(wholeToInteger(l, n), l.integer(i64, 1)));
  Value y = l.fma(half, t, l.sub(half, l.real(type, 0.5)));
  y = l.add(y, y);
  y = l.select(l.compare(FP::OLT, absolute(l, x), l.real(type, 1e-290)), x, y);
  return l.select(l.compare(FP::OGT, x, high), l.real(type, INFINITY), y);
}

Value emit::f64::log(Lanes &l, Value x) {
  Type type = x.getType();
  Value y = logParts(l, x).head;
  Value zero = l.zero(type);
  y = l.select(l.compare(FP::ULT, x, l.real(type, INFINITY)), y, x);
  y = l.select(l.compare(FP::OLT, x, zero), l.real(type, NAN), y);
  y = l.select(l.compare(FP::OEQ, x, zero), l.real(type, -INFINITY), y);
  return l.select(l.compare(FP::UNO, x, x), x, y);
}

Value emit::f64::tanh(Lanes &l, Value x) {
  Type type = x.getType();
  Value a = absolute(l, x), one = l.real(type, 1.0);
  Value twice = l.add(a, a), limit = l.real(type, 60.0);
  twice = l.select(l.compare(FP::OLT, limit, twice), limit, twice);
  Value e = f64::exp(l, twice);
  Value big = l.sub(one, l.div(l.real(type, 2.0), l.add(e, one)));
  big = l.b.create<math::CopySignOp>(big, x);
  Value z = l.mul(x, x);
  Value p =
      l.polynomial(z, {-9.64399179425052238628e-1, -9.92877231001918586564e1,
                       -1.61468768441708447952e3});
  Value q =
      l.polynomial(z, {1.0, 1.12811678491632931402e2, 2.23548839060100448583e3,
                       4.84406305325125486048e3});
  Value small = l.fma(l.mul(l.div(p, q), z), x, x);
  return l.select(l.compare(FP::OLT, a, l.real(type, 0.625)), small, big);
}

Value emit::f64::erf(Lanes &l, Value x) {
  Type type = x.getType();
  Value a = absolute(l, x), one = l.real(type, 1.0), z = l.mul(x, x);
  Value p =
      l.polynomial(z, {-2.37630166566501626084e-05, -5.77027029648944159157e-03,
                       -2.84817495755985104766e-02, -3.25042107247001499370e-01,
                       1.28379167095512558561e-01});
  Value q =
      l.polynomial(z, {-3.96022827877536812320e-06, 1.32494738004321644526e-04,
                       5.08130628187576562776e-03, 6.50222499887672944485e-02,
                       3.97917223959155352819e-01, 1.0});
  Value result = l.fma(x, l.div(p, q), x);

  // [0.84375, 1.25): erx + P(|x| - 1) / Q(|x| - 1)
  Value s = l.sub(a, one);
  p = l.polynomial(s, {-2.16637559486879084300e-03, 3.54783043256182359371e-02,
                       -1.10894694282396677476e-01, 3.18346619901161753674e-01,
                       -3.72207876035701323847e-01, 4.14856118683748331666e-01,
                       -2.36211856075265944077e-03});
  q = l.polynomial(s, {1.19844998467991074170e-02, 1.36370839120290507362e-02,
                       1.26171219808761642112e-01, 7.18286544141962662868e-02,
                       5.40397917702171048937e-01, 1.06420880400844228286e-01,
                       1.0});
  Value middle = l.add(l.real(type, 8.45062911510467529297e-01), l.div(p, q));

  // [1.25, 6): 1 - exp(-x^2 - 0.5625 + R/S) / |x|
  Value t =
      l.select(l.compare(FP::OLT, l.real(type, 6.0), a), l.real(type, 6.0), a);
  Value w = l.div(one, l.mul(t, t));
  Value pa = l.polynomial(
      w, {-9.81432934416914548592e+00, -8.12874355063065934246e+01,
          -1.84605092906711035994e+02, -1.62396669462573470355e+02,
          -6.23753324503260060396e+01, -1.05586262253232909814e+01,
          -6.93858572707181764372e-01, -9.86494403484714822705e-03});
  Value qa = l.polynomial(
      w, {-6.04244152148580987438e-02, 6.57024977031928170135e+00,
          1.08635005541779435134e+02, 4.29008140027567833386e+02,
          6.45387271733267880336e+02, 4.34565877475229228821e+02,
          1.37657754143519042600e+02, 1.96512716674392571292e+01, 1.0});
  Value pb =
      l.polynomial(w, {-4.83519191608651397019e+02, -1.02509513161107724954e+03,
                       -6.37566443368389627722e+02, -1.60636384855821916062e+02,
                       -1.77579549177547519889e+01, -7.99283237680523006574e-01,
                       -9.86494292470009928597e-03});
  Value qb =
      l.polynomial(w, {-2.24409524465858183362e+01, 4.74528541206955367215e+02,
                       2.55305040643316442583e+03, 3.19985821950859553908e+03,
                       1.53672958608443695994e+03, 3.25792512996573918826e+02,
                       3.03380607434824582924e+01, 1.0});
  Value nearer = l.compare(FP::OLT, t, l.real(type, 2.857142857142857));
  Value ratio = l.div(l.select(nearer, pa, pb), l.select(nearer, qa, qb));
  // -t^2 exactly: the rounded product and what rounding dropped.
  Value square = l.mul(t, t);
  Value lost = l.fma(t, t, negate(l, square));
  Value exponent = l.sub(l.real(type, -0.5625), square);
  Value exponentLost = l.sub(l.sub(l.real(type, -0.5625), exponent), square);
  Value e = expWithTail(l, exponent, l.add(l.sub(exponentLost, lost), ratio));
  Value far = l.sub(one, l.div(e, t));

  Value big = l.select(l.compare(FP::OLT, t, l.real(type, 1.25)), middle, far);
  big = l.b.create<math::CopySignOp>(big, x);
  return l.select(l.compare(FP::OGE, t, l.real(type, 0.84375)), big, result);
}

Value emit::f64::sine(Lanes &l, Value x, int64_t quarters) {
  Type type = x.getType(), i64 = i64Like(l, x);
  // x = n pi/2 + r; beyond 2^50 there is no fraction left to speak of.
  Value n = l.b.create<math::RoundEvenOp>(
      l.mul(x, l.real(type, 6.36619772367581382433e-01)));
  Value r = l.fma(n, l.real(type, -1.5707963267948966), x);
  r = l.fma(n, l.real(type, -6.123233995736766e-17), r);
  r = l.fma(n, l.real(type, 1.4973849048591833e-33), r);
  Value z = l.mul(r, r);
  Value sine = l.polynomial(
      z, {1.58969099521155010221e-10, -2.50507602534068634195e-08,
          2.75573137070700676789e-06, -1.98412698298579493134e-04,
          8.33333333332248946124e-03, -1.66666666666666324348e-01});
  sine = l.fma(l.mul(sine, z), r, r);
  Value cosine = l.polynomial(
      z, {-1.13596475577881948265e-11, 2.08757232129817482790e-09,
          -2.75573143513906633035e-07, 2.48015872894767294178e-05,
          -1.38888888888741095749e-03, 4.16666666666666019037e-02});
  Value half = l.mul(z, l.real(type, 0.5)), one = l.real(type, 1.0);
  Value w = l.sub(one, half);
  cosine = l.add(w, l.fma(l.mul(z, z), cosine, l.sub(l.sub(one, w), half)));
  Value quadrant = l.add(wholeToInteger(l, n), l.integer(i64, quarters));
  auto bit = [&](int64_t mask) {
    Value masked = l.b.create<arith::AndIOp>(quadrant, l.integer(i64, mask));
    return l.compare(arith::CmpIPredicate::ne, masked, l.integer(i64, 0));
  };
  Value y = l.select(bit(1), cosine, sine);
  return l.select(bit(2), negate(l, y), y);
}

Value emit::f64::pow(Lanes &l, Value x, Value y) {
  Type type = x.getType();
  Value a = absolute(l, x), zero = l.zero(type), one = l.real(type, 1.0);
  Value infinity = l.real(type, INFINITY);
  // exp(y log|x|) with the product to twice the precision.
  LogParts log = logParts(l, a);
  Value product = l.mul(y, log.head);
  Value lost = l.fma(y, log.head, negate(l, product));
  Value tail = l.fma(y, log.tail, lost);
  // An overflowing product is decided by its sign alone.
  Value finite = l.compare(FP::OLT, absolute(l, product), l.real(type, 1000.0));
  Value result = expWithTail(l, product, l.select(finite, tail, zero));

  Value positive = l.compare(FP::OGT, y, zero);
  Value atZero = l.select(positive, zero, infinity);
  result = l.select(l.compare(FP::OEQ, a, zero), atZero, result);
  Value atInfinity = l.select(positive, infinity, zero);
  result = l.select(l.compare(FP::OEQ, a, infinity), atInfinity, result);

  // A negative base: whole exponents alone; odd ones keep the sign.
  Value whole = l.compare(FP::OEQ, l.b.create<math::FloorOp>(y), y);
  Value halved = l.mul(y, l.real(type, 0.5));
  Value evenHalf =
      l.compare(FP::OEQ, l.b.create<math::FloorOp>(halved), halved);
  Value signedResult = l.b.create<math::CopySignOp>(result, x);
  Value odd = l.select(evenHalf, result, signedResult);
  Value wholeResult = l.select(whole, odd, result);
  Value invalid = l.logicalAnd(
      l.compare(FP::OLT, x, zero),
      l.b.create<arith::XOrIOp>(whole, l.integer(whole.getType(), -1)));
  Value minusInfinity = l.compare(FP::OEQ, x, l.real(type, -INFINITY));
  invalid = l.logicalAnd(
      invalid,
      l.b.create<arith::XOrIOp>(minusInfinity, l.integer(whole.getType(), -1)));
  result = l.select(invalid, l.real(type, NAN), wholeResult);

  Value yInfinite = l.compare(FP::OEQ, absolute(l, y), infinity);
  Value grows = l.b.create<arith::XOrIOp>(l.compare(FP::OGT, a, one),
                                          l.compare(FP::OLT, y, zero));
  Value atYInfinite = l.select(l.compare(FP::OEQ, a, one), one,
                               l.select(grows, infinity, zero));
  result = l.select(yInfinite, atYInfinite, result);
  Value nan = l.compare(FP::UNO, x, y);
  result = l.select(nan, l.real(type, NAN), result);
  Value isOne = l.b.create<arith::OrIOp>(l.compare(FP::OEQ, y, zero),
                                         l.compare(FP::OEQ, x, one));
  return l.select(isOne, one, result);
}
