//===- Random.cpp - counter-based random numbers on lanes -----------------===//

#include "codegen/host/emit/Random.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

/// The lower and upper halves of i64 values.
struct Halves {
  Value low, high;
};

Halves split(Lanes &l, Value wide) {
  Type narrow = l.like(wide.getType(), l.b.getI32Type());
  Value upper = l.b.create<arith::ShRUIOp>(wide, l.integer(wide.getType(), 32));
  return {l.b.create<arith::TruncIOp>(narrow, wide),
          l.b.create<arith::TruncIOp>(narrow, upper)};
}

Halves multiply(Lanes &l, Value x, int64_t factor) {
  auto product =
      l.b.create<arith::MulUIExtendedOp>(x, l.integer(x.getType(), factor));
  return {product.getLow(), product.getHigh()};
}

Value exclusiveOr(Lanes &l, Value x, Value y) {
  return l.b.create<arith::XOrIOp>(x, y);
}

/// The first word of Philox4x32 with 10 rounds; its twin is in
/// runtime/state/Philox.cpp.
Value philox(Lanes &l, std::array<Value, 4> counter, Halves key) {
  for (int round = 0; round < 10; ++round) {
    Halves first = multiply(l, counter[0], 0xD2511F53);
    Halves second = multiply(l, counter[2], 0xCD9E8D57);
    counter = {exclusiveOr(l, exclusiveOr(l, second.high, counter[1]), key.low),
               second.low,
               exclusiveOr(l, exclusiveOr(l, first.high, counter[3]), key.high),
               first.low};
    key.low = l.add(key.low, l.integer(key.low.getType(), 0x9E3779B9));
    key.high = l.add(key.high, l.integer(key.high.getType(), 0xBB67AE85));
  }
  return counter[0];
}

} // namespace

Value host::emitUniform(Lanes &l, Value seed, Value step, Value index,
                        int64_t number) {
  Halves place = split(l, index);
  Type word = place.low.getType();
  Value bits = philox(
      l, {place.low, place.high, l.integer(word, number), split(l, step).low},
      split(l, seed));
  // 24 bits are exact in f32, and never 1.
  Value upper = l.b.create<arith::ShRUIOp>(bits, l.integer(word, 8));
  Type real = l.like(word, l.b.getF32Type());
  Value whole = l.b.create<arith::SIToFPOp>(real, upper);
  return l.mul(whole, l.real(real, 0x1p-24));
}
