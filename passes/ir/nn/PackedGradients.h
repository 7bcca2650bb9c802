//===- PackedGradients.h - gradients of attention side by side ------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_PACKEDGRADIENTS_H
#define ZEROGRAPH_PASSES_IR_NN_PACKEDGRADIENTS_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// Says which elements of a value are those of a gradient of queries, keys or
/// values, `[batch, rows, heads, size]`: one after the other along the size,
/// and so far apart from one to the next along the others.
struct PackedPlace {
  OpResult gradient;
  int64_t begin = 0, batch = 0, row = 0, head = 0;
};

/// Holds gradients of one `nn.attention_grad` that lie side by side in `whole`,
/// as queries, keys and values lie in the product that gave all three.
struct PackedGradients {
  Value whole;
  SmallVector<PackedPlace, 3> places;
};

/// Returns what a concatenation puts side by side, if an attention's kernel can
/// write it there: nothing else reads the parts. `whole` is the concatenation,
/// or the last of the reshapes and transpositions of it where this holds. Null
/// for any other concatenation.
PackedGradients packedGradients(ConcatOp concat);

/// Returns the concatenation that a value is, or is a view of; null if it is
/// none.
ConcatOp concatUnder(Value value);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_PACKEDGRADIENTS_H
