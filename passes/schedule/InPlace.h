//===- InPlace.h - kernels that may write where they read -----------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H
#define ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::sched {

/// Returns whether result `result` of a kernel or product may have the storage
/// of operand `operand` (where none may, CUDA's kernels read it as a constant):
/// in a kernel over rows or columns, element i of the operand is read only
/// where element i of the result is computed, or for a number of its row, which
/// is known before; or it is the `sharedOperand`. False of any other op.
bool canShareStorage(Operation *op, unsigned operand, unsigned result);

/// Returns the operand whose storage the first result of an op should have,
/// since it would be copied otherwise: the table that a kernel scatters into,
/// if the kernel may write there, and what a product is added to. Null: none.
OpOperand *sharedOperand(Operation *op);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H
