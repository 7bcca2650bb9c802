//===- ScatterLoops.h - how rows go into a table --------------------------===//
//
// Every element of the table is set and then updated by one thread, in the
// order of the updates.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCATTERLOOPS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCATTERLOOPS_H

#include "codegen/emit/Body.h"

#include <optional>

namespace mlir::zg::emit {

/// A kernel of a scatter. Row of its domain: an update.
struct ScatterLoops {
  nn::ScatterOp scatter;
  /// The argument that the scatter goes into; null: into zeros.
  BlockArgument table;
  int64_t tableRows = 1, cols = 1, updates = 1;
  std::optional<Graph> graph;
  Node *index = nullptr, *update = nullptr;

  /// Once. An error names the op that cannot be in the kernel.
  LogicalResult find(nn::KernelOp kernel);

  /// Enters an update: the row of the table that it changes.
  Value enterUpdate(Body &body, Value number);
  /// The columns from `col` on of the entered update, into a row of the table
  /// whose elements begin at `start`.
  void emitUpdate(Body &body, Value start, Value col, Value mask);

  /// Or in parts: the table's elements from `offset` on, a multiple of
  /// `together`, and what the columns of the entered update make of them.
  Value loadOld(Body &body, Value offset, Value mask, int64_t together = 1);
  Value updated(Body &body, Value old, Value col, Value mask);

  /// The rows of the table that must be set before any is updated: none where
  /// the result has the bytes of the table that it begins as.
  Value rowsToSet(Body &body);
  /// Sets the elements from `offset` on, a multiple of `together`.
  void emitSet(Body &body, Value offset, Value mask, int64_t together = 1);

private:
  Value combined(Body &body, Value old, Value value);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_SCATTERLOOPS_H
