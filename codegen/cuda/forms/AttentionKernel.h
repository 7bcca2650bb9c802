//===- AttentionKernel.h - what attention and its gradient share ----------===//
//
// A block of threads computes a block of queries, of keys, or of a bias. A tile
// of scores, keys by queries, is in the threads' registers; so are the sums
// that become the result. Probabilities pass through shared memory from one
// product to the next. Scores are multiplied again wherever they are needed.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONKERNEL_H
#define ZEROGRAPH_CODEGEN_CUDA_FORMS_ATTENTIONKERNEL_H

#include "codegen/cuda/forms/AttentionBlock.h"
#include "codegen/emit/Math.h"

namespace mlir::zg::cuda {

/// Emits a kernel. Derived classes emit the work of a block of threads.
class AttentionKernel {
public:
  AttentionKernel(CudaBody &body, AttentionLoops &loops, StringRef name)
      : body(body), l(body.lanes), loops(loops), shape(loops.shape),
        block(body, loops, name), q(block.readerOf(loops.q)),
        k(block.readerOf(loops.k)), v(block.readerOf(loops.v)) {}

protected:
  static constexpr int64_t kTile = AttentionBlock::kTile;
  static constexpr int64_t kOwn = AttentionBlock::kOwn;

  OperandRows queriesFrom(Value first) {
    return loops.queriesFrom(l, head, first);
  }
  OperandRows keysFrom(Value first) { return loops.keysFrom(l, head, first); }
  Value numberOf(double number) { return l.real(loops.element, number); }

  /// Calls emit(number, chunk) for each score of this thread, `number` from 0
  /// on. A score beyond the last key or query has the place of the last.
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
  /// Returns the sums after sums = emit(first, sums) for each block in [lo, hi)
  /// for which sees(first) holds or is null.
  SmallVector<Value>
  forBlocks(Value lo, Value hi, ValueRange sums,
            llvm::function_ref<Value(Value)> sees,
            llvm::function_ref<SmallVector<Value>(Value, ValueRange)> emit) {
    return body.loop(lo, hi, 1, sums, [&](Value number, ValueRange carried) {
      Value first = l.mul(number, l.index(kTile));
      return ifSeen(sees(first), carried, [&] { return emit(first, carried); });
    });
  }
  /// Returns what `emit` does where `seen` holds or is null, else `carried`.
  SmallVector<Value> ifSeen(Value seen, ValueRange carried,
                            llvm::function_ref<SmallVector<Value>()> emit) {
    return seen ? body.either(seen, carried.getTypes(), emit,
                              [&] { return SmallVector<Value>(carried); })
                : emit();
  }
  /// Returns whether all keys of some query are masked, by the shared maxima.
  Value anyMasked() {
    Value least;
    for (int64_t i = 0; i < kTile; i += kOwn) {
      for (Value number : block.load(block.maxima, l.index(i))) {
        least = least ? l.min(least, number) : number;
      }
    }
    return loops.isMasked(l, least);
  }
  Value exp(Value x) { return emit::emitFloatUnary(l, nn::UnaryKind::exp, x); }
  /// Emits for one thread a column of the tile, whose number is the column's,
  /// between two barriers.
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
