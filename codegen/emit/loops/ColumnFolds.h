//===- ColumnFolds.h - what a kernel over columns reduces -----------------===//
//
// Each of the O runs of R rows of a shape [O, R, C] has columns of its own: a
// kernel has O x C columns.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_COLUMNFOLDS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_COLUMNFOLDS_H

#include "codegen/emit/loops/RowResult.h"

#include <optional>

namespace mlir::zg::emit {

/// A kernel over columns; nodes are those of its graph, which stays where it
/// is.
struct ColumnFolds {
  Domain domain;
  std::optional<Graph> graph;
  SmallVector<Node *> reductions;
  /// The results that have one element a column.
  SmallVector<RowResult> results;
  /// The results that are as large as what the kernel goes over.
  SmallVector<RowResult> stored;

  /// Once. An error names the op that cannot be in the kernel.
  LogicalResult find(nn::KernelOp kernel);

  /// Rows that a column reduces.
  int64_t length() const { return domain.rows / domain.runs; }
  int64_t columns() const { return domain.runs * domain.cols; }

private:
  LogicalResult findDomain(nn::KernelOp kernel);
  LogicalResult findResults(nn::KernelOp kernel);
  LogicalResult findReductions(nn::KernelOp kernel);
};

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_COLUMNFOLDS_H
