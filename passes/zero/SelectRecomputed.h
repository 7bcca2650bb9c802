//===- SelectRecomputed.h - the cheap ops that are worth repeating --------===//

#ifndef ZEROGRAPH_PASSES_ZERO_SELECTRECOMPUTED_H
#define ZEROGRAPH_PASSES_ZERO_SELECTRECOMPUTED_H

#include "passes/ir/nn/NNDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::zg::zero {

/// Returns whether an op costs about as much as reading its operands: an
/// elementwise function, view, reduction or norm, but no random number.
bool isCheap(Operation *op);

/// Returns the ops that backward computes again so that the fewest bytes are
/// kept from forward to backward, and of several choices as few ops as
/// possible. Only cheap ops are among them. `needed` is what backward reads.
/// `isThere` says what is in memory then, whatever is chosen, or needs none;
/// `mayRepeat` says of the others whether they can be computed again.
DenseSet<Operation *> selectRecomputed(ArrayRef<Value> needed,
                                       function_ref<bool(Value)> isThere,
                                       function_ref<bool(Value)> mayRepeat);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_SELECTRECOMPUTED_H
