//===- Backward.h - builds the backward graph of one block ----------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_BACKWARD_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_BACKWARD_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// The location of what is built for the gradient of an op or value at
/// `forward`: named "NODE.gradient", with the forward location inside.
Location gradientLocation(Location forward);

/// Builds, at the builder's point (at the end of `body`, before its
/// terminator), the gradients of `loss` with respect to `variables`, arguments
/// of `body`. Returns one value a variable, null where the loss does not
/// depend on it. Fails after a diagnostic on every op on a path from a variable
/// to the loss that cannot be differentiated.
///
/// Backward begins with `seed`, the gradient of `loss`; without one it begins
/// with 1, or, `scaled`, with the scalar "loss_scale".
///
/// Ops are visited from the last to the first. Contributions to a value with
/// several uses are added in the order of these uses.
FailureOr<SmallVector<Value>> buildBackward(OpBuilder &builder, Block &body,
                                            Value loss,
                                            ArrayRef<BlockArgument> variables,
                                            bool scaled = false,
                                            Value seed = {});

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_BACKWARD_H
