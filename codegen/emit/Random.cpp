//===- Random.cpp - counter-based random numbers on lanes -----------------===//

#include "codegen/emit/Random.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

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

/// The words that a round works on: the counter's four, then the key's two.
using State = std::array<Value, 6>;

State round(Lanes &l, const State &s) {
  Halves first = multiply(l, s[0], 0xD2511F53);
  Halves second = multiply(l, s[2], 0xCD9E8D57);
  Type word = s[0].getType();
  return {exclusiveOr(l, exclusiveOr(l, second.high, s[1]), s[4]),
          second.low,
          exclusiveOr(l, exclusiveOr(l, first.high, s[3]), s[5]),
          first.low,
          l.add(s[4], l.integer(word, 0x9E3779B9)),
          l.add(s[5], l.integer(word, 0xBB67AE85))};
}

/// The first word of Philox4x32 with 10 rounds; its twin is in
/// runtime/state/Philox.cpp. A loop, two rounds at a time: each op has a kernel
/// of its own because of its number, and unrolled they take long to compile.
Value philox(Lanes &l, const State &start) {
  ImplicitLocOpBuilder &b = l.b;
  auto loop = b.create<scf::ForOp>(l.index(0), l.index(5), l.index(1), start);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  State state;
  llvm::copy(loop.getRegionIterArgs(), state.begin());
  state = round(l, round(l, state));
  b.create<scf::YieldOp>(state);
  return loop.getResult(0);
}

} // namespace

Value emit::emitUniform(Lanes &l, Value seed, Value step, Value index,
                        int64_t number) {
  Halves place = split(l, index);
  Type word = place.low.getType();
  Halves key = split(l, seed);
  Value bits = philox(l, {place.low, place.high, l.integer(word, number),
                          split(l, step).low, key.low, key.high});
  // 24 bits are exact in f32, and never 1.
  Value upper = l.b.create<arith::ShRUIOp>(bits, l.integer(word, 8));
  Type real = l.like(word, l.b.getF32Type());
  Value whole = l.b.create<arith::SIToFPOp>(real, upper);
  return l.mul(whole, l.real(real, 0x1p-24));
}
