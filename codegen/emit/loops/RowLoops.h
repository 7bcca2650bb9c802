//===- RowLoops.h - how a row of a kernel is computed ---------------------===//
//
// A reduction has nn::kRowChains partial results: column c belongs to the chain
// c mod kRowChains. A row of more than nn::kRowSegment columns is reduced
// segment by segment, each as a row of its own, and the segments' results are
// folded in order. Who computes a row decides nothing: one thread of sixteen
// lanes or a warp of one each has the same chains, and so have several warps
// that share its segments.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWLOOPS_H

#include "codegen/emit/loops/ElementLoops.h"

#include <map>

namespace mlir::zg::emit {

/// The threads that compute a row together. Each has as many neighbouring
/// columns of a chunk as the body has lanes: all of them or none, so that where
/// there are several threads the columns are a multiple of the lanes.
struct RowThreads {
  int64_t count = 1;
  /// The number of this one; null: the only one.
  Value number;
  /// So many groups of `count` threads share the segments of a row: segment s
  /// is computed by group s mod `groups`.
  int64_t groups = 1;
  /// The number of this one; null: the only one.
  Value group;
  /// Values that a sweep computes stay in registers for the sweeps after it,
  /// and the columns are no loop. Only rows of one segment can be kept.
  bool keepsRow = false;
};

class RowLoops {
public:
  RowLoops(Body &body, RowSweeps &sweeps, RowThreads threads = {});
  virtual ~RowLoops() = default;

  /// All sweeps over a row, and its results.
  void emitRow(Value row);

protected:
  using Combine = llvm::function_ref<Value(Value, Value)>;

  /// The chains of one reduction as one scalar, which every thread has. Chain c
  /// lies in lane c mod width of thread c / width mod threads, in chunk
  /// c / (threads * width). They combine
  /// with those 16 and then 32 further on, then 8, 4, 2 and 1.
  virtual Value combineChains(ArrayRef<Value> chains, Combine combine) = 0;
  /// Lets one thread do for all what `emit` emits, after all have read what
  /// they need.
  virtual void once(llvm::function_ref<void()> emit) { emit(); }
  /// Keeps, where there are groups, what the reductions of a sweep are in a
  /// segment that this one has computed, ...
  virtual void keepSegment(const Sweep &, Value /*segment*/,
                           ArrayRef<Value> /*totals*/) {}
  /// ... waits until all have, ...
  virtual void awaitSegments() {}
  /// ... and what was kept.
  virtual SmallVector<Value> keptSegment(const Sweep &, Value /*segment*/) {
    return {};
  }

  /// Segments of a row.
  int64_t segmentCount() const;

  Body &body;
  RowSweeps &sweeps;

private:
  /// The state of the reductions of a sweep.
  struct State {
    /// The chains of the current segment, `chunks` vectors a reduction.
    SmallVector<Value> partial;
    /// A scalar a reduction: the segments before it.
    SmallVector<Value> total;
  };

  void prepare(const Sweep &sweep);
  void emitSweep(const Sweep &sweep);
  void emitSegments(const Sweep &sweep, int64_t cols, State &state);
  void emitOwnSegments(const Sweep &sweep);
  void emitSharedSweep(const Sweep &sweep);
  void emitWholeSweep(const Sweep &sweep);
  /// Columns that whole turns of the unrolled loop handle.
  int64_t wholeTurns(const Sweep &sweep);
  void emitColumns(const Sweep &sweep, Value lo, Value hi,
                   SmallVectorImpl<Value> &partial);
  void emitChunk(const Sweep &sweep, Chunk &chunk,
                 SmallVectorImpl<Value> &partial, int64_t number);
  void emitKeptColumns(const Sweep &sweep, SmallVectorImpl<Value> &partial);
  void foldSegment(const Sweep &sweep, State &state);
  SmallVector<Value> totals(const Sweep &sweep, ArrayRef<Value> partial);
  SmallVector<Value> neutrals(const Sweep &sweep, bool vectors);
  Value combine(Node *reduction, Value x, Value y);
  /// The first column of this thread in the chunk that begins with `col`.
  Value ownColumn(Value col);
  /// This thread's columns below `rest`; null if all are.
  Value ownMask(int64_t rest);

  RowThreads threads;
  /// Columns of a chunk of all threads, and chunks that hold every chain.
  int64_t width, chunks;
  /// The row that `emitRow` emits, and its columns' values where they are kept.
  Value row;
  std::map<int64_t, Chunk> kept;
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWLOOPS_H
