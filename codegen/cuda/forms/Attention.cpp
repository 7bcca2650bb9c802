//===- Attention.cpp - attention and its gradient by blocks ---------------===//
//
// A block of threads computes a block of queries, or of keys. A tile of scores,
// keys by queries, is in the threads' registers; so are the sums that become
// the result. Probabilities pass through shared memory from one product to the
// next. Scores are multiplied again wherever they are needed.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/AttentionBlock.h"
#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

constexpr int64_t kTile = AttentionBlock::kTile;
constexpr int64_t kOwn = AttentionBlock::kOwn;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Has what forward and backward have in common.
class Blocks {
public:
  Blocks(CudaBody &body, AttentionLoops &loops, StringRef name)
      : body(body), l(body.lanes), loops(loops), shape(loops.shape),
        block(body, loops, name), q(body, loops.q), k(body, loops.k),
        v(body, loops.v) {}

protected:
  OperandRows queriesFrom(Value first) {
    return loops.queriesFrom(l, head, first);
  }
  OperandRows keysFrom(Value first) { return loops.keysFrom(l, head, first); }
  /// The number of a head and the place of the first query or key that a block
  /// of threads has.
  std::pair<Value, Value> headAndPlace(Value item, int64_t blocks) {
    auto [number, place] = divide(l, item, blocks);
    return {number, l.mul(place, l.index(kTile))};
  }
  Value numberOf(double number) { return l.real(loops.element, number); }

  /// emit(number, chunk) for each score of this thread, `number` from 0 on. One
  /// whose key or query there is not gets those of another.
  void forScores(Value firstQuery, Value firstKey,
                 llvm::function_ref<void(int64_t, Chunk &)> emit) {
    for (int64_t i = 0; i < kOwn; ++i) {
      Value key = l.min(keyOf(firstKey, i), l.index(shape.keys - 1));
      body.enterRow(l.add(l.mul(head, l.index(shape.keys)), key));
      for (int64_t j = 0; j < kOwn; ++j) {
        Chunk chunk(queryOf(firstQuery, j), {});
        emit(i * kOwn + j, chunk);
      }
    }
  }
  Value keyOf(Value firstKey, int64_t i) {
    return l.add(firstKey, l.add(block.ownRow, l.index(i)));
  }
  Value queryOf(Value firstQuery, int64_t j) {
    Value query = l.add(firstQuery, l.add(block.ownCol, l.index(j)));
    return l.min(query, l.index(shape.queries - 1));
  }
  /// Returns whether there is a key at a place of the block; null: at every
  /// one.
  Value isKey(Value firstKey, int64_t i) {
    return shape.keys % kTile == 0
               ? Value()
               : l.compare(arith::CmpIPredicate::slt, keyOf(firstKey, i),
                           l.index(shape.keys));
  }
  /// sums = emit(first, sums) for each block in [lo, hi) of which `sees` says
  /// so.
  SmallVector<Value>
  forBlocks(Value lo, Value hi, ValueRange sums,
            llvm::function_ref<Value(Value)> sees,
            llvm::function_ref<SmallVector<Value>(Value, ValueRange)> emit) {
    return body.loop(lo, hi, 1, sums, [&](Value number, ValueRange carried) {
      Value first = l.mul(number, l.index(kTile));
      Value seen = sees(first);
      return seen ? block.either(
                        seen, [&] { return emit(first, carried); }, carried)
                  : emit(first, carried);
    });
  }
  /// Returns whether all keys of some query are masked, whose maxima are
  /// shared.
  Value anyMasked() {
    Value least;
    for (int64_t i = 0; i < kTile; i += kOwn) {
      for (Value number : block.load(block.maxima, l.index(i))) {
        least = least ? l.min(least, number) : number;
      }
    }
    return loops.isMasked(l, least);
  }
  Value either(Value x, Value y) { return l.b.create<arith::OrIOp>(x, y); }
  Value exp(Value x) { return emitFloatUnary(l, nn::UnaryKind::exp, x); }
  /// Emits for the first thread of each of the tile's columns, which has the
  /// column's number, between waits for all.
  void once(llvm::function_ref<void(Value)> emit) {
    body.syncBlock();
    Value thread = threadOfBlock(l);
    body.when(l.compare(arith::CmpIPredicate::slt, thread, l.index(kTile)),
              [&] { emit(thread); });
    body.syncBlock();
  }

  CudaBody &body;
  Lanes &l;
  AttentionLoops &loops;
  const nn::AttentionShape &shape;
  AttentionBlock block;
  OperandReader q, k, v;
  Value head;
};

class Forward : public Blocks {
public:
  using Blocks::Blocks;

  void emit(Value item) {
    std::tie(head, firstQuery) = headAndPlace(item, loops.queryBlocks());
    findMax();
    Value all = loops.window.isWhole() ? Value() : anyMasked();
    max = block.load(block.maxima, block.ownCol);
    if (loops.forward.getZeroMasked()) {
      for (Value &number : max) {
        number = AttentionLoops::zeroIfEqual(l, number, -kInfinity, number);
      }
    }
    finish(weigh(all));
  }

private:
  Value sees(Value firstKey, Value all) {
    Value seen = loops.sees(l, firstQuery, firstKey);
    return seen ? either(seen, all) : seen;
  }
  Sums scoresOf(Value firstKey) {
    Sums scores = block.multiplyRows(k, keysFrom(firstKey), q,
                                     queriesFrom(firstQuery), shape.size);
    forScores(firstQuery, firstKey, [&](int64_t number, Chunk &chunk) {
      scores[number] = loops.emitScores(body, chunk, scores[number]);
    });
    return scores;
  }
  /// Shares the maximum of each query; once more over all keys if those that
  /// the mask leaves by its structure turn out to be masked by data.
  void findMax() {
    once([&](Value thread) {
      block.store(block.maxima, thread, numberOf(-kInfinity));
    });
    if (loops.window.isWhole()) {
      sharedMax({});
      return;
    }
    body.loop(l.index(0), l.index(2), 1, {}, [&](Value turn, ValueRange) {
      body.when(anyMasked(), [&] {
        sharedMax(l.compare(arith::CmpIPredicate::ne, turn, l.index(0)));
      });
      return SmallVector<Value>();
    });
  }
  void sharedMax(Value all) {
    Sums none(kOwn, numberOf(-kInfinity));
    Sums own = forBlocks(
        l.index(0), l.index(loops.keyBlocks()), none,
        [&](Value firstKey) { return sees(firstKey, all); },
        [&](Value firstKey, ValueRange carried) {
          Sums scores = scoresOf(firstKey), next(carried);
          for (int64_t number = 0; number < kOwn * kOwn; ++number) {
            Value score = scores[number];
            if (Value inside = isKey(firstKey, number / kOwn)) {
              score = l.select(inside, score, numberOf(-kInfinity));
            }
            Value &most = next[number % kOwn];
            most = l.max(most, score);
          }
          return next;
        });
    Value line = l.b.create<arith::DivUIOp>(block.ownRow, l.index(kOwn));
    body.syncBlock();
    block.store(block.tile,
                l.add(l.mul(line, l.index(block.kPitch)), block.ownCol), own);
    once([&](Value thread) {
      Value most = block.load(block.tile, thread, 1).front();
      for (int64_t i = 1; i < block.kAcross; ++i) {
        Value place = l.add(thread, l.index(i * block.kPitch));
        most = l.max(most, block.load(block.tile, place, 1).front());
      }
      block.store(block.maxima, thread, most);
    });
  }
  /// Weighs the values of the keys by exponentials, whose sums it shares.
  Sums weigh(Value all) {
    once([&](Value thread) { block.store(block.sums, thread, numberOf(0)); });
    int64_t tiles = llvm::divideCeil(shape.valueSize, kTile);
    int64_t together = nn::kRowSegment / kTile, blocks = loops.keyBlocks();
    return body.loop(
        l.index(0), l.index(blocks), together, block.zeros(tiles),
        [&](Value lo, ValueRange weighed) {
          Sums sums = block.zeros();
          llvm::append_range(sums, weighed);
          Value hi = l.min(l.add(lo, l.index(together)), l.index(blocks));
          sums = forBlocks(
              lo, hi, sums, [&](Value firstKey) { return sees(firstKey, all); },
              [&](Value firstKey, ValueRange carried) {
                return weighBlock(firstKey, carried);
              });
          ArrayRef<Value> chains = ArrayRef(sums).take_front(kOwn * kOwn);
          foldChains(chains);
          return Sums(ArrayRef(sums).drop_front(kOwn * kOwn));
        });
  }
  /// `carried`: the chains of the sum, then what is weighed.
  Sums weighBlock(Value firstKey, ValueRange carried) {
    Sums weights = scoresOf(firstKey), next;
    for (int64_t number = 0; number < kOwn * kOwn; ++number) {
      Value weight = exp(l.sub(weights[number], max[number % kOwn]));
      if (Value inside = isKey(firstKey, number / kOwn)) {
        weight = l.select(inside, weight, numberOf(0));
      }
      weights[number] = weight;
      next.push_back(l.add(carried[number], weight));
    }
    block.share(weights, /*transposed=*/false);
    llvm::append_range(next,
                       block.addProduct(carried.drop_front(kOwn * kOwn), v,
                                        keysFrom(firstKey), shape.valueSize));
    return next;
  }
  void foldChains(ArrayRef<Value> chains) {
    block.share(chains, /*transposed=*/false);
    once([&](Value thread) {
      Value sum = AttentionLoops::foldChains(l, [&](int64_t chain) {
        Value place = l.add(thread, l.index(chain * block.kPitch));
        return block.load(block.tile, place, 1).front();
      });
      Value old = block.load(block.sums, thread, 1).front();
      block.store(block.sums, thread, l.add(old, sum));
    });
  }
  void finish(ArrayRef<Value> weighed) {
    bool zeroMasked = loops.forward.getZeroMasked();
    once([&](Value thread) {
      Value total = block.load(block.sums, thread, 1).front();
      Value most = block.load(block.maxima, thread, 1).front();
      Value inverse = emitFloatUnary(l, nn::UnaryKind::reciprocal, total);
      if (zeroMasked) {
        most = AttentionLoops::zeroIfEqual(l, most, -kInfinity, most);
        inverse = AttentionLoops::zeroIfEqual(l, total, 0, inverse);
      }
      block.store(block.sums, thread, inverse);
      Value query = l.add(firstQuery, thread);
      Value place = l.add(l.mul(head, l.index(shape.queries)), query);
      Value inside =
          l.compare(arith::CmpIPredicate::slt, query, l.index(shape.queries));
      body.store(body.resultPointer(1), place, most, inside);
      body.store(body.resultPointer(2), place, inverse, inside);
    });
    Sums inverses = block.load(block.sums, block.ownRow);
    block.storeRows(
        0, weighed, queriesFrom(firstQuery), shape.valueSize,
        [&](int64_t row, Value value) { return l.mul(value, inverses[row]); });
  }

  Value firstQuery;
  Sums max;
};

/// First the gradient of queries, a block of them by all keys; then that of
/// keys and values, a block of them by all queries.
class Backward : public Blocks {
public:
  Backward(CudaBody &body, AttentionLoops &loops, StringRef name)
      : Blocks(body, loops, name), dout(body, loops.dout) {}

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
      Value above = l.sub(gradients[number], deltas[number % kOwn]);
      weights[number] = weight;
      gradients[number] = loops.emitGradient(body, chunk, l.mul(weight, above));
    });
    return {weights, gradients};
  }

  OperandReader dout;
};

} // namespace

FailureOr<CudaKernelInfo> cuda::emitAttention(ImplicitLocOpBuilder &b,
                                              nn::KernelOp kernel,
                                              StringRef name) {
  AttentionLoops loops;
  if (failed(loops.find(kernel))) {
    return failure();
  }
  CudaBody body(b, kernel, *loops.scores, name,
                {.block = AttentionBlock::kThreads, .manyRegisters = true});
  body.enterKernel();
  Value item = blockOfGrid(body.lanes);
  loops.isGradient() ? Backward(body, loops, name).emit(item)
                     : Forward(body, loops, name).emit(item);
  body.finish();
  return onlyLaunch({name.str(), loops.items(), AttentionBlock::kThreads});
}
