//===- InPlace.h - kernels that may write where they read -----------------===//

#ifndef ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H
#define ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::sched {

/// Whether result `result` of the kernel may have the storage of operand
/// `operand`: the kernel is elementwise and element i of the operand is read
/// only where element i of the result is computed.
bool canShareStorage(nn::KernelOp kernel, unsigned operand, unsigned result);

} // namespace mlir::zg::sched

#endif // ZEROGRAPH_PASSES_SCHEDULE_INPLACE_H
