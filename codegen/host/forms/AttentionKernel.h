//===- AttentionKernel.h - what attention and its gradient share ----------===//
//
// A thread computes a block of queries, or of keys: tiles of scores, keys by
// queries, in vectors of sixteen queries. The parts of queries, keys and values
// that it needs lie in tiles of its own, which fit in a cache.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONKERNEL_H
#define ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONKERNEL_H

#include "codegen/host/forms/AttentionTiles.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::zg::host {

/// Emits the values of an operand.
struct OperandReader {
  OperandReader(HostBody &body, AttentionOperand &operand, unsigned results)
      : node(operand.node),
        body(body.lanes.b, *operand.graph,
             SmallVector<Value>(body.bufferPointers()), results, kLanes) {
    this->body.enterKernel();
  }

  Node *node;
  Body body;
};

/// Has what attention and its gradient have in common. A derived class emits
/// one work item.
class AttentionKernel {
public:
  AttentionKernel(HostBody &body, AttentionLoops &loops, unsigned results,
                  int64_t vectors)
      : body(body), l(body.lanes), loops(loops), shape(loops.shape),
        tiles(body, loops.element, vectors), q(body, loops.q, results),
        k(body, loops.k, results), v(body, loops.v, results),
        queryCols(llvm::alignTo(std::min(shape.queries, kBlock), kLanes)),
        keyRows(std::min(shape.keys, kBlock)) {}

protected:
  static constexpr int64_t kBlock = AttentionLoops::kBlock;

  Value quotient(Value x, int64_t by) {
    return l.b.create<arith::DivUIOp>(x, l.index(by));
  }
  Value remainder(Value x, int64_t by) {
    return l.b.create<arith::RemUIOp>(x, l.index(by));
  }
  OperandRows queriesFrom(Value first) {
    return loops.queriesFrom(l, head, first);
  }
  OperandRows keysFrom(Value first) { return loops.keysFrom(l, head, first); }
  /// The queries of a chunk that there are; null: all.
  Value maskOf(Value query);
  /// emit(key, chunk's first query within the block, chunk) for each key of a
  /// block and the queries of another.
  void forScores(Value firstQuery, Value firstKey, Value keys,
                 llvm::function_ref<void(Value, int64_t, Chunk &)> emit);
  /// Scores of a block of queries, transposed, by a block of keys.
  void emitScores(const Tile &scores, const Tile &keys, const Tile &queries,
                  int64_t size);
  /// emit(first) for each block in [lo, hi) of which `sees` says so.
  void forBlocks(Value lo, Value hi, llvm::function_ref<Value(Value)> sees,
                 llvm::function_ref<void(Value)> emit);
  /// Returns whether all keys of some query of the block are masked, whose
  /// maxima these are.
  Value anyMasked(const Tile &rows, Value firstQuery);
  Value either(Value x, Value y) { return l.b.create<arith::OrIOp>(x, y); }
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
  /// Columns and rows of a tile of scores.
  int64_t queryCols, keyRows;
  Value head;
};

/// Emits all work items of a kernel of the gradient.
void emitAttentionGradient(HostBody &body, AttentionLoops &loops,
                           unsigned results, int64_t vectors);

} // namespace mlir::zg::host

#endif // ZEROGRAPH_CODEGEN_HOST_FORMS_ATTENTIONKERNEL_H
