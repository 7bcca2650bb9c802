//===- AttentionGradient.cpp - the gradient of attention by blocks --------===//

#include "codegen/cuda/forms/AttentionKernel.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Computes the gradient of a block of queries by all keys, that of a block of
/// keys and values by all queries, or that of a block of a bias by all samples.
class Backward final : public AttentionKernel {
public:
  Backward(CudaBody &body, AttentionLoops &loops, StringRef name)
      : AttentionKernel(body, loops, name), dout(block.readerOf(loops.dout)) {}

  void emit(Value item) {
    loops.forItem(
        body, item,
        [&](Value number, Value query) {
          head = number;
          emitQueries(query);
        },
        [&](Value keyHead, Value key) {
          emitKeys(l.mul(keyHead, l.index(shape.group())), key);
        },
        [&](Value number, Value query, Value key) {
          emitBias(number, query, key);
        });
  }

private:
  void emitQueries(Value query) {
    bringRows(query);
    Sums dq = forBlocks(
        l.index(0), l.index(loops.keyBlocks()),
        block.zeros(block.tilesOf(shape.size)),
        [&](Value key) { return sees(query, key); },
        [&](Value key, ValueRange carried) {
          auto [weights, gradients] = computeGradients(query, key);
          block.share(gradients, /*transposed=*/false);
          return block.addProduct(carried, k, keysFrom(key), shape.size);
        });
    block.storeRows(0, dq, queriesFrom(query), shape.size, same);
  }
  /// Computes a block of keys, whose heads of queries begin with `first`.
  void emitKeys(Value first, Value key) {
    Sums sums =
        block.zeros(block.tilesOf(shape.size) + block.tilesOf(shape.valueSize));
    size_t ofKeys = block.tilesOf(shape.size) * kOwn * kOwn;
    sums = body.loop(l.index(0), l.index(shape.group()), 1, sums,
                     [&](Value member, ValueRange carried) {
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
  /// Computes a block of the bias of a head that each sample has.
  void emitBias(Value ofSample, Value query, Value key) {
    Sums sums = loops.addSamples(body, ofSample, block.zeros(),
                                 [&](Value number, ValueRange carried) {
                                   head = number;
                                   return addSample(query, key, carried);
                                 });
    block.storeRows(3, sums, loops.biasFrom(l, ofSample, key), shape.queries,
                    same, query);
  }
  /// Adds what a sample's head contributes to the gradient of the bias.
  Sums addSample(Value query, Value key, ValueRange sums) {
    bringRows(query);
    return ifSeen(sees(query, key), sums, [&] {
      auto [weights, gradients] =
          computeGradients(query, key, /*isOfBias=*/true);
      return AttentionLoops::added(l, sums, gradients);
    });
  }
  static Value same(int64_t, Value value) { return value; }
  Value sees(Value query, Value key) {
    return loops.sees(l, query, key, [&] { return anyMasked(); });
  }
  /// Shares the maxima, inverses and deltas of a block of queries.
  void bringRows(Value query) {
    once([&](Value thread) {
      Value place = l.min(l.add(query, thread), l.index(shape.queries - 1));
      auto bring = [&](AttentionOperand &operand, Value shared) {
        OperandReader reader(body, operand, /*width=*/1);
        reader.body.enterRow(head);
        reader.body.prepare(reader.node);
        Chunk chunk(place, {});
        block.store(shared, thread, reader.body.vector(reader.node, chunk));
      };
      bring(loops.max, block.maxima);
      bring(loops.inverse, block.sums);
      bring(loops.delta, block.deltas);
    });
  }
  /// Returns the probabilities, and the gradients of the scores or of the bias.
  std::pair<Sums, Sums> computeGradients(Value query, Value key,
                                         bool isOfBias = false) {
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
      gradients[number] =
          loops.emitGradient(body, chunk, l.mul(weight, above), isOfBias);
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
