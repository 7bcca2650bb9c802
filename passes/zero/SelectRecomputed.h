//===- SelectRecomputed.h - the cheap ops that are worth repeating --------===//

#ifndef ZEROGRAPH_PASSES_ZERO_SELECTRECOMPUTED_H
#define ZEROGRAPH_PASSES_ZERO_SELECTRECOMPUTED_H

#include "passes/ir/nn/NNDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::zg::zero {

/// Returns whether each element of the result is a function of one element of
/// each operand, or is one: an elementwise function or a view, but no random
/// number.
bool isFunctionOfElements(Operation *op);

/// Returns whether an op costs about as much as reading its operands: a
/// function of elements, a reduction or a norm.
bool isCheap(Operation *op);

/// Returns the ops that backward computes again so that the fewest bytes are
/// kept from forward to backward, and of several choices as few ops as
/// possible. With `sparesWrites`, of choices that keep about as many bytes
/// those come first for which least is written that no library writes or reads.
/// `needed` is what backward reads.
/// `isThere` says what is in memory then, whatever is chosen, or needs none;
/// `mayRepeat` says of the others whether they can be computed again.
DenseSet<Operation *> selectRecomputed(ArrayRef<Value> needed,
                                       bool sparesWrites,
                                       function_ref<bool(Value)> isThere,
                                       function_ref<bool(Value)> mayRepeat);

} // namespace mlir::zg::zero

#endif // ZEROGRAPH_PASSES_ZERO_SELECTRECOMPUTED_H
