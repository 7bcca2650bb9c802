//===- AttentionKernel.h - what attention and its gradient share ----------===//
//
// A thread computes a block of queries, of keys, or of the gradient of a bias:
// tiles of scores, keys by queries, in vectors of sixteen queries. The parts of
// queries, keys and values that it needs lie in tiles of its own, which fit in
// a cache.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONKERNEL_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONKERNEL_H

#include "codegen/host/forms/AttentionTiles.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::host {

/// Emits a kernel. Derived classes emit the work items of a call.
class AttentionKernel {
public:
  AttentionKernel(HostBody &body, AttentionLoops &loops, TileProducts products)
      : body(body), l(body.lanes), loops(loops), shape(loops.shape),
        tiles(body, loops.element, products, largestFactor(loops.shape)),
        q(body, loops.q, kLanes), k(body, loops.k, kLanes),
        v(body, loops.v, kLanes),
        queryCols(llvm::alignTo(std::min(shape.queries, kBlock), kLanes)),
        keyRows(std::min(shape.keys, kBlock)) {}
  virtual ~AttentionKernel() = default;

  /// Emits the function's body.
  void run();

protected:
  static constexpr int64_t kBlock = AttentionLoops::kBlock;

  /// Returns how many elements a factor of a product has at most: a block by
  /// another, or by the size of a head.
  static int64_t largestFactor(const nn::AttentionShape &shape) {
    int64_t side = std::max({kBlock, shape.size, shape.valueSize});
    return kBlock * int64_t(llvm::alignTo(side, 2 * kLanes));
  }

  /// Emits work items body.begin to body.end.
  virtual void emitItems() = 0;

  OperandRows queriesFrom(Value first) {
    return loops.queriesFrom(l, head, first);
  }
  OperandRows keysFrom(Value first) { return loops.keysFrom(l, head, first); }
  /// Returns which queries of a chunk exist; null: all.
  Value maskOf(Value query);
  /// Calls emit(key, first query, chunk) for each key of a block and each chunk
  /// of queries of another; the first query is counted within its block.
  void forScores(Value firstQuery, Value firstKey, Value keys,
                 llvm::function_ref<void(Value, int64_t, Chunk &)> emit);
  /// Multiplies a block of keys by a block of queries, transposed.
  void emitScores(const Tile &scores, const LeftFactor &keys,
                  const Tile &queries, int64_t size);
  /// Calls emit(first) for each block in [lo, hi) for which sees(first) holds
  /// or is null.
  void forBlocks(Value lo, Value hi, llvm::function_ref<Value(Value)> sees,
                 llvm::function_ref<void(Value)> emit);
  /// Returns whether all keys of some query of a block are masked. `maxima` has
  /// the greatest score of each query.
  Value anyMasked(const Tile &maxima, Value firstQuery);
  /// Stores the rows of a tile, or what `adjust` makes of each vector, as rows
  /// of a result.
  void storeRows(unsigned result, const Tile &tile, const OperandRows &rows,
                 int64_t size, llvm::function_ref<Value(Value, Value)> adjust);

  HostBody &body;
  Lanes &l;
  AttentionLoops &loops;
  const nn::AttentionShape &shape;
  AttentionTiles tiles;
  OperandReader q, k, v;
  /// Are the columns and rows of a tile of scores.
  int64_t queryCols, keyRows;
  Value head;
};

/// Emits a kernel of the gradient.
void emitAttentionGradient(HostBody &body, AttentionLoops &loops,
                           TileProducts products);

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONKERNEL_H
