//===- JoinKernels.h - one kernel that does what two do -------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_JOINKERNELS_H
#define ZEROGRAPH_PASSES_KERNELS_JOINKERNELS_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::kernels {

/// Replaces two kernels of one block, of which the second, a kernel over
/// columns, may read what the first makes, by one over columns that does what
/// both do, before `place`: there all that they read must be there, and nothing
/// before it may read what they make. Returns null, and changes nothing, where
/// it could not read what the two read apart.
nn::KernelOp joinKernels(nn::KernelOp first, nn::KernelOp second,
                         Operation *place);

/// Erases the names of buffers that only joined kernels have read.
void eraseUnreadNames(nn::ProgramOp program);

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_JOINKERNELS_H
