//===- Random.h - random numbers and what they are counted by -------------===//

#ifndef ZEROGRAPH_PASSES_DIFFERENTIATE_RANDOM_H
#define ZEROGRAPH_PASSES_DIFFERENTIATE_RANDOM_H

#include "passes/differentiate/NNBuilder.h"

namespace mlir::zg::nn {

/// An f32 in [0, 1) for each element of `shape`. `samples` and `number` are
/// those of `nn.dropout`, where the index is told.
Value randomUniform(NNBuilder &b, ArrayRef<int64_t> shape,
                    ArrayRef<int64_t> samples, int64_t number);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_DIFFERENTIATE_RANDOM_H
