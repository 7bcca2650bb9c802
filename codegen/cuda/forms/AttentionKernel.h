//===- AttentionKernel.h - what attention and its gradient share ----------===//
//
// A block of threads computes a block of queries, or of keys. A tile of scores,
// keys by queries, is in the threads' registers; so are the sums that become
// the result. Probabilities pass through shared memory from one product to the
// next. Scores are multiplied again wherever they are needed.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONKERNEL_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONKERNEL_H

#include "codegen/cuda/forms/AttentionBlock.h"
#include "codegen/emit/Math.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::cuda {

/// Has what attention and its gradient have in common. A derived class emits
/// what a block of threads computes.
class AttentionKernel {
public:
  AttentionKernel(CudaBody &body, AttentionLoops &loops, StringRef name)
      : body(body), l(body.lanes), loops(loops), shape(loops.shape),
        block(body, loops, name), q(body, loops.q), k(body, loops.k),
        v(body, loops.v) {}

protected:
  static constexpr int64_t kTile = AttentionBlock::kTile;
  static constexpr int64_t kOwn = AttentionBlock::kOwn;

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
  Value exp(Value x) { return emit::emitFloatUnary(l, nn::UnaryKind::exp, x); }
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

/// Emits a kernel of the gradient, for the block of threads `item`.
void emitAttentionGradient(CudaBody &body, AttentionLoops &loops,
                           StringRef name, Value item);

} // namespace mlir::zg::cuda

#endif // ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONKERNEL_H
