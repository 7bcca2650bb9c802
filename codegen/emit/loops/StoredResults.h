//===- StoredResults.h - where kernels of attention store results ---------===//

#ifndef ZEROGRAPH_CODEGEN_EMIT_LOOPS_STOREDRESULTS_H
#define ZEROGRAPH_CODEGEN_EMIT_LOOPS_STOREDRESULTS_H

#include "codegen/emit/Lanes.h"
#include "passes/ir/nn/PackedGradients.h"

#include <optional>

namespace mlir::zg::emit {

/// Says which rows of an operand or a result a block has: `count` of them from
/// `first` on, `step` apart.
struct OperandRows {
  Value first;
  int64_t step = 1;
  Value count;
};

/// Says at which elements of a buffer the rows of a block begin.
struct StoredRows {
  Value first;
  int64_t apart = 0;
};

/// Says where a kernel stores a result of its op.
struct StoredResult {
  unsigned result = 0;        ///< of the kernel
  nn::ConvertOp convert = {}; ///< rounds what is stored; null: nothing does
  /// Says where it lies in the kernel's, if that has several.
  std::optional<nn::PackedPlace> place = {};

  /// Returns where rows of `size` elements each begin.
  StoredRows rowsOf(Lanes &lanes, const OperandRows &rows, int64_t size) const;
  /// Returns a value as it is stored.
  Value round(Lanes &lanes, Value value) const;
};

/// Returns an entry for each result of `op`, the attention of `kernel` or its
/// gradient.
SmallVector<StoredResult> storedResultsOf(nn::KernelOp kernel, Operation *op);

} // namespace mlir::zg::emit

#endif // ZEROGRAPH_CODEGEN_EMIT_LOOPS_STOREDRESULTS_H
