//===- Attention.cpp - attention by blocks of queries ---------------------===//

#include "codegen/cuda/forms/AttentionKernel.h"
#include "codegen/cuda/forms/Forms.h"
#include "codegen/cuda/forms/TensorAttention.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

/// Computes a block of queries, which sees all keys.
class Forward final : public AttentionKernel {
public:
  using AttentionKernel::AttentionKernel;

  void emit(Value item) {
    std::tie(head, firstQuery) = loops.placeOf(l, item, loops.queryBlocks());
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
    return loops.sees(l, firstQuery, firstKey, [&] { return all; });
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
    int64_t tiles = block.tilesOf(shape.valueSize);
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
  /// Returns `carried`, the chains of the sum and then the weighed values,
  /// after a block of keys.
  Sums weighBlock(Value firstKey, ValueRange carried) {
    Sums weights = scoresOf(firstKey), next;
    forScores(firstQuery, firstKey, [&](int64_t number, Chunk &chunk) {
      Value weight = exp(l.sub(weights[number], max[number % kOwn]));
      if (Value inside = isKey(firstKey, number / kOwn)) {
        weight = l.select(inside, weight, numberOf(0));
      }
      next.push_back(l.add(carried[number], weight));
      weights[number] = loops.emitWeighed(body, chunk, weight);
    });
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

} // namespace

FailureOr<CudaKernelInfo> cuda::emitAttention(ImplicitLocOpBuilder &b,
                                              nn::KernelOp kernel,
                                              StringRef name,
                                              bool tensorCores) {
  AttentionLoops loops;
  if (failed(loops.find(kernel))) {
    return failure();
  }
  bool tensor = tensorCores && TensorAttention::elementOf(loops);
  int64_t threads =
      tensor ? TensorAttention::kThreads : AttentionBlock::kThreads;
  CudaBody body(
      b, kernel, *loops.scores, name,
      {.block = threads,
       .blocksAtLeast = tensor ? TensorAttention::blocksOf(loops) : 1});
  body.enterKernel();
  Value item = blockOfGrid(body.lanes);
  if (tensor) {
    loops.isGradient() ? emitTensorAttentionGradient(body, loops, name, item)
                       : emitTensorAttention(body, loops, name, item);
  } else {
    loops.isGradient() ? emitAttentionGradient(body, loops, name, item)
                       : Forward(body, loops, name).emit(item);
  }
  body.finish();
  int64_t sharers = tensor ? TensorAttention::sharersOf(loops) : 1;
  CudaKernelInfo info =
      onlyLaunch({name.str(), loops.items() * sharers, threads});
  if (tensor) {
    info.multiplied = TensorAttention::elementOf(loops);
    info.repeated = TensorAttention::repeatedBy(loops);
  }
  return info;
}
