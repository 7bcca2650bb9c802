//===- HeadViews.h - how heads lie in what they are views of --------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_HEADVIEWS_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_HEADVIEWS_H

#include "passes/ir/nn/NNBuilder.h"

namespace mlir::zg::nn {

/// Returns queries, keys or values, [batch, rows, heads, size], as a single
/// transposition and reshape of what they come from by several: exporters merge
/// batch and heads and split them again, between which no stride would lead
/// from one head to the next.
Value straightened(NNBuilder &b, Value heads);

/// Returns keys or values with each head once where a broadcast repeats it for
/// neighbouring heads; else `heads` itself.
Value withoutRepeatedHeads(NNBuilder &b, Value heads);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_HEADVIEWS_H
