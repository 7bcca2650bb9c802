//===- ColumnLoops.h - how columns of a kernel are computed ---------------===//
//
// Rows are combined in order within blocks of nn::kRowBlock, then the blocks'
// results in order: the bits depend on the shape alone, whoever computes a
// block.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_COLUMNLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_COLUMNLOOPS_H

#include "codegen/emit/Body.h"
#include "codegen/emit/loops/ColumnFolds.h"

namespace mlir::zg::emit {

/// Neighbouring columns of one run: `chunks` times as many as there are lanes.
struct ColumnGroup {
  /// Null: there is but one run.
  Value run;
  /// The first, within its run.
  Value col;
  int64_t chunks = 1;
  /// Null: all of them.
  Value mask;
};

class ColumnLoops {
public:
  /// `rowsTogether`: what so many rows need is read before any of it is added,
  /// which changes no bits; a divisor of nn::kRowBlock.
  ColumnLoops(Body &body, ColumnFolds &folds, int64_t rowsTogether = 1)
      : body(body), folds(folds), rowsTogether(rowsTogether) {}

  /// The columns of a group, from the first row to the results.
  void emitGroup(const ColumnGroup &group);

  /// Or in parts. What each reduction begins with in each chunk, ...
  SmallVector<Value> neutrals(int64_t chunks);
  /// ... `sums` and rows [lo, hi) of the group's run, in order, ...
  SmallVector<Value> emitRows(const ColumnGroup &group, Value lo, Value hi,
                              ValueRange sums);
  /// ... one block's sums after those before it, ...
  void combineInto(SmallVectorImpl<Value> &sums, ValueRange block,
                   int64_t chunks);
  /// ... and the results.
  void emitResults(const ColumnGroup &group, ArrayRef<Value> sums);

private:
  Chunk chunkOf(const ColumnGroup &group, int64_t number);
  /// Has the values of a row.
  struct Row {
    Value number; ///< counted over all runs
    /// Are added to each reduction, in each chunk.
    SmallVector<Value> added;
    /// Are stored of each chunk.
    SmallVector<SmallVector<Value>> stored;
  };
  Row valuesOf(const ColumnGroup &group, Value number);
  void store(const ColumnGroup &group, const Row &row);

  Body &body;
  ColumnFolds &folds;
  int64_t rowsTogether;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_COLUMNLOOPS_H
