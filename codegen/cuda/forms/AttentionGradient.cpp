//===- AttentionGradient.cpp - the gradient of attention by blocks --------===//

#include "codegen/cuda/forms/AttentionKernel.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// First the gradient of queries, a block of them by all keys; then that of
/// keys and values, a block of them by all queries.
class Backward final : public AttentionKernel {
public:
  Backward(CudaBody &body, AttentionLoops &loops, StringRef name)
      : AttentionKernel(body, loops, name), dout(body, loops.dout) {}

  void emit(Value item) {
    Value ofQueries = l.index(loops.allQueryBlocks());
    body.when(l.compare(arith::CmpIPredicate::slt, item, ofQueries),
              [&] { emitQueries(item); });
    body.when(l.compare(arith::CmpIPredicate::sge, item, ofQueries),
              [&] { emitKeys(l.sub(item, ofQueries)); });
  }

private:
  static int64_t tilesOf(int64_t size) {
    return int64_t(llvm::divideCeil(size, kTile));
  }
  void emitQueries(Value item) {
    Value query;
    std::tie(head, query) = headAndPlace(item, loops.queryBlocks());
    bringRows(query);
    Sums dq = forBlocks(
        l.index(0), l.index(loops.keyBlocks()),
        block.zeros(tilesOf(shape.size)),
        [&](Value key) { return sees(query, key); },
        [&](Value key, ValueRange carried) {
          auto [weights, gradients] = computeGradients(query, key);
          block.share(gradients, /*transposed=*/false);
          return block.addProduct(carried, k, keysFrom(key), shape.size);
        });
    block.storeRows(0, dq, queriesFrom(query), shape.size, same);
  }
  void emitKeys(Value item) {
    auto [keyHead, key] = headAndPlace(item, loops.keyBlocks());
    Value first = l.mul(keyHead, l.index(shape.group()));
    Sums sums = block.zeros(tilesOf(shape.size) + tilesOf(shape.valueSize));
    size_t ofKeys = tilesOf(shape.size) * kOwn * kOwn;
    sums = body.loop(l.index(0), l.index(shape.group()), 1, sums,
                     [&, key = key](Value member, ValueRange carried) {
                       head = l.add(first, member);
                       return addQueries(key, ofKeys, carried);
                     });
    head = first;
    OperandRows rows = keysFrom(key);
    block.storeRows(1, ArrayRef(sums).take_front(ofKeys), rows, shape.size,
                    same);
    block.storeRows(2, ArrayRef(sums).drop_front(ofKeys), rows, shape.valueSize,
                    same);
  }
  /// Adds what the queries of a head contribute to the gradients of keys, the
  /// first `ofKeys` sums, and of values.
  Sums addQueries(Value key, size_t ofKeys, ValueRange sums) {
    return forBlocks(
        l.index(0), l.index(loops.queryBlocks()), sums,
        [&](Value query) {
          bringRows(query);
          return sees(query, key);
        },
        [&](Value query, ValueRange carried) {
          OperandRows rows = queriesFrom(query);
          auto [weights, gradients] = computeGradients(query, key);
          block.share(weights, /*transposed=*/true);
          Sums dv = block.addProduct(carried.drop_front(ofKeys), dout, rows,
                                     shape.valueSize);
          block.share(gradients, /*transposed=*/true);
          Sums next =
              block.addProduct(carried.take_front(ofKeys), q, rows, shape.size);
          llvm::append_range(next, dv);
          return next;
        });
  }
  static Value same(int64_t, Value value) { return value; }
  Value sees(Value query, Value key) {
    Value seen = loops.sees(l, query, key);
    return seen ? either(seen, anyMasked()) : seen;
  }
  /// Shares what there is one number of a query.
  void bringRows(Value query) {
    once([&](Value thread) {
      Value place = l.min(l.add(query, thread), l.index(shape.queries - 1));
      auto bring = [&](AttentionOperand &operand, Value shared) {
        Body single(l.b, *operand.graph,
                    SmallVector<Value>(body.bufferPointers()),
                    /*resultCount=*/0, /*width=*/1, kAccessBytes,
                    l.indexType.getWidth());
        single.enterKernel();
        single.enterRow(head);
        single.prepare(operand.node);
        Chunk chunk(place, {});
        block.store(shared, thread, single.vector(operand.node, chunk));
      };
      bring(loops.max, block.maxima);
      bring(loops.inverse, block.sums);
      bring(loops.delta, block.deltas);
    });
  }
  /// Returns the probabilities, and the gradients of the scores.
  std::pair<Sums, Sums> computeGradients(Value query, Value key) {
    OperandRows keys = keysFrom(key);
    OperandRows queries = queriesFrom(query);
    Sums weights = block.multiplyRows(k, keys, q, queries, shape.size);
    Sums gradients =
        block.multiplyRows(v, keys, dout, queries, shape.valueSize);
    Sums maxima = block.load(block.maxima, block.ownCol);
    Sums inverses = block.load(block.sums, block.ownCol);
    Sums deltas = block.load(block.deltas, block.ownCol);
    forScores(query, key, [&](int64_t number, Chunk &chunk) {
      Value x = loops.emitScores(body, chunk, weights[number]);
      Value weight =
          l.mul(exp(l.sub(x, maxima[number % kOwn])), inverses[number % kOwn]);
      Value above = l.sub(loops.emitWeighed(body, chunk, gradients[number]),
                          deltas[number % kOwn]);
      weights[number] = loops.emitWeighed(body, chunk, weight);
      gradients[number] = loops.emitGradient(body, chunk, l.mul(weight, above));
    });
    return {weights, gradients};
  }

  OperandReader dout;
};

} // namespace

void cuda::emitAttentionGradient(CudaBody &body, AttentionLoops &loops,
                                 StringRef name, Value item) {
  Backward(body, loops, name).emit(item);
}
