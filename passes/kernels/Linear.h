//===- Linear.h - the operands that a kernel adds up ----------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_LINEAR_H
#define ZEROGRAPH_PASSES_KERNELS_LINEAR_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::kernels {

/// Returns operands in which a result of a kernel or product is linear,
/// together: it is a linear function of them and other operands, plus what does
/// not depend on them. So what adds to a sum is linear in it. Rounding counts
/// as linear. Of operands that are multiplied, the first is among them.
SmallVector<unsigned> linearOperands(Operation *op, unsigned result);

} // namespace mlir::zg::kernels

#endif // ZEROGRAPH_PASSES_KERNELS_LINEAR_H
