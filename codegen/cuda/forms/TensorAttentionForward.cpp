//===- TensorAttentionForward.cpp - attention, in one pass over keys ------===//

#include "codegen/cuda/forms/TensorAttention.h"
#include "codegen/cuda/forms/Together.h"
#include "codegen/emit/Math.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Computes a part of a block of queries. Its state is, for the thread's two
/// rows, the maximum so far and the thread's part of the sum; then what values
/// weigh.
class Forward final : public TensorAttention {
public:
  using TensorAttention::TensorAttention;

  void emit(Value item) {
    auto [number, ownPart] = l.divide(item, partsOf(shape.valueSize));
    part = ownPart;
    values = partOf(shape.valueSize, part);
    std::tie(head, query) = loops.placeOf(l, number, loops.queryBlocks());
    query = lastFirst(query);
    queries = bringRows(loops.q, loops.queriesFrom(l, head, query), shape.size,
                        columns);
    auto [lo, hi] = loops.keyBlocksOf(l, query);
    Values state = overBlocks(lo, hi);
    if (loops.mayMaskAll()) {
      state = body.either(
          someMasked(state), ValueRange(state).getTypes(),
          [&] { return overBlocks(l.index(0), l.index(loops.keyBlocks())); },
          [&] { return state; });
    }
    finish(state);
  }

private:
  Values overBlocks(Value lo, Value hi) {
    Values state = {number(-kInfinity), number(-kInfinity), number(0),
                    number(0)};
    llvm::append_range(state, zeros(values.count));
    return forTurns(
        lo, hi, state,
        [&](const Turn &keys) {
          OperandRows rows = loops.keysFrom(l, head, keys.first);
          bring(loops.k, rows, turn, keys.a, allOf(shape.size));
          bring(loops.v, rows, turn, keys.b, values);
        },
        [&](const Turn &keys, ValueRange carried) {
          return addKeys(keys, carried);
        });
  }
  Values emitScores(Value key, Values scores) {
    return ofTile(query, key, /*rowsAreKeys=*/false,
                  ValueRange(scores).getTypes(), [&](auto assume) {
                    Values x = scores;
                    forScores(query, key, /*rowsAreKeys=*/false,
                              [&](int64_t i, int64_t, Chunk &chunk) {
                                assume(chunk);
                                x[i] = loops.emitScores(body, chunk, x[i]);
                              });
                    return x;
                  });
  }
  /// Returns the state after a turn of keys.
  Values addKeys(const Turn &keys, ValueRange state) {
    Value key = keys.first;
    Values x = emitScores(key, multiply(queries, keys.a, padded(shape.size)));
    Values most = {state[0], state[1]};
    for (int64_t i = 0; i < int64_t(x.size()); ++i) {
      if (Value inside = isCol(key, i, shape.keys)) {
        x[i] = l.select(inside, x[i], number(-kInfinity));
      }
      Value &ofRow = most[i % kSums / 2];
      ofRow = l.max(ofRow, x[i]);
    }
    Values base, next, scales;
    for (int64_t row = 0; row < 2; ++row) {
      Value all =
          acrossRow(most[row], [&](Value a, Value b) { return l.max(a, b); });
      next.push_back(all);
      base.push_back(AttentionLoops::zeroIfEqual(l, all, -kInfinity, all));
      scales.push_back(power(state[row], base[row]));
    }
    Values sums = {l.mul(state[2], scales[0]), l.mul(state[3], scales[1])};
    forScores(query, key, /*rowsAreKeys=*/false,
              [&](int64_t i, int64_t row, Chunk &chunk) {
                Value weight = power(x[i], base[row]);
                sums[row] = l.add(sums[row], weight);
                x[i] = loops.emitWeighed(body, chunk, weight);
              });
    llvm::append_range(next, sums);
    Values out;
    for (auto [i, sum] : llvm::enumerate(state.drop_front(4))) {
      out.push_back(l.mul(sum, scales[i % kSums / 2]));
    }
    llvm::append_range(next, addProduct(out, x, keys.b, {{}, values.count}));
    return next;
  }
  /// Returns whether data mask all keys of some query of the block.
  Value someMasked(ValueRange state) {
    Value maxima = body.declareShared(name + "_maxima", loops.element, kBlock);
    Value isFirst =
        l.compare(arith::CmpIPredicate::eq, cores.ownCol, l.index(0));
    for (int64_t row = 0; row < 2; ++row) {
      body.store(maxima, rowOf(row), state[row], isFirst);
    }
    body.syncBlock();
    return anyMasked([&](Value place) {
      return loadTogether(l, maxima, place, loops.element, 1);
    });
  }
  void finish(ValueRange state) {
    Values inverses;
    for (int64_t row = 0; row < 2; ++row) {
      Value total = acrossRow(state[2 + row],
                              [&](Value a, Value b) { return l.add(a, b); });
      Value most = state[row];
      Value inverse = emit::emitFloatUnary(l, nn::UnaryKind::reciprocal, total);
      if (loops.forward.getZeroMasked()) {
        most = AttentionLoops::zeroIfEqual(l, most, -kInfinity, most);
        inverse = AttentionLoops::zeroIfEqual(l, total, 0, inverse);
      }
      inverses.push_back(inverse);
      Value own = l.add(query, rowOf(row));
      Value place = l.add(l.mul(head, l.index(shape.queries)), own);
      // One of the four threads of a row stores, in the first part.
      Value col = l.add(cores.ownCol, part);
      Value stores = l.logicalAnd(
          l.compare(arith::CmpIPredicate::slt, own, l.index(shape.queries)),
          l.compare(arith::CmpIPredicate::eq, col, l.index(0)));
      body.store(body.resultPointer(1), place, most, stores);
      body.store(body.resultPointer(2), place, inverse, stores);
    }
    storeRows(
        0, Values(state.drop_front(4)), loops.queriesFrom(l, head, query),
        shape.valueSize,
        [&](int64_t row, Value value) { return l.mul(value, inverses[row]); },
        values.first);
  }

  Value part, query;
  Columns values;
  Rows queries;
};

} // namespace

void cuda::emitTensorAttention(CudaBody &body, AttentionLoops &loops,
                               StringRef name, Value item) {
  Forward(body, loops, name).emit(item);
}
