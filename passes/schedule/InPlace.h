//===- InPlace.h - kernels that may write where they read -----------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H
#define ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::sched {

/// Returns whether result `result` of the kernel may have the storage of
/// operand `operand`: the kernel is elementwise and element i of the operand is
/// read only where element i of the result is computed, or the operand is the
/// table that a scatter goes into.
bool canShareStorage(nn::KernelOp kernel, unsigned operand, unsigned result);

/// The operand of the kernel whose storage its result should have, since the
/// kernel would copy it otherwise: the table that a scatter goes into, if
/// the kernel may write there.
OpOperand *tableOperand(nn::KernelOp kernel);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H
