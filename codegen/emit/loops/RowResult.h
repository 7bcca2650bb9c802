//===- RowResult.h - results as wide as the rows of a kernel --------------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWRESULT_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWRESULT_H

#include "codegen/emit/Body.h"

namespace mlir::zg::emit {

/// A result of a kernel, and what its elements are.
struct RowResult {
  unsigned number;
  Node *node;
  /// The result's rows begin so many elements apart.
  int64_t stride = 1;
};

/// Sets how far apart the rows of `cols` elements begin. An error names the
/// kernel where rows that lie apart are others than these.
LogicalResult setStride(nn::KernelOp kernel, RowResult &result, int64_t cols);

/// Returns what the results have in a chunk of the row that was entered.
SmallVector<Value> valuesOf(Body &body, ArrayRef<RowResult> results,
                            Chunk &chunk);
/// Stores them in the same chunk of the same row. A result may lie on an
/// operand: all values of the chunk are computed before.
void storeValues(Body &body, const Domain &domain, ArrayRef<RowResult> results,
                 Value row, const Chunk &chunk, ValueRange values);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_ROWRESULT_H
