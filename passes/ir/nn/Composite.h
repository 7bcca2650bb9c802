//===- Composite.h - what a device may compute whole ----------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_COMPOSITE_H
#define ZEROGRAPH_PASSES_IR_NN_COMPOSITE_H

namespace mlir::zg::nn {

/// Ops that stay whole until a device has been asked whether it keeps them,
/// each together with its gradient op.
enum class Composite { softmax, layer_norm, softmax_cross_entropy, attention };

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_COMPOSITE_H
