//===- Loss.h - which output is minimized ---------------------------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_LOSS_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_LOSS_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// The `nn.output` of a result; empty where it has none.
StringRef outputName(ProgramOp func, unsigned result);

/// Returns whether a result goes with the loss: the count that divides it, or a
/// metric.
bool isBesideLoss(ProgramOp func, unsigned result);

/// The number of the result to minimize: the output `wanted`; where that is
/// empty the one named 'loss', otherwise the only floating-point scalar. Fails
/// with a diagnostic.
FailureOr<unsigned> findLoss(ProgramOp func, StringRef wanted);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_LOSS_H
