//===- RandomNumbers.h - random numbers of a step -------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_RANDOMNUMBERS_H
#define ZEROGRAPH_PASSES_IR_NN_RANDOMNUMBERS_H

#include "passes/ir/nn/NNBuilder.h"

namespace mlir::zg::nn {

/// Decides random numbers, with their places: a tensor<1xi64> each.
struct RandomScalars {
  Value seed, step, sampleBase;
};
/// Asks the runtime for them.
RandomScalars randomScalars(NNBuilder &b);

/// Returns an f32 in [0, 1) for each element of `shape`. `samples` and `number`
/// are those of `nn.dropout`, where the index is told.
Value randomUniform(NNBuilder &b, ArrayRef<int64_t> shape,
                    ArrayRef<int64_t> samples, int64_t number,
                    const RandomScalars &scalars);

/// Returns whether a dropout keeps each element, which has these samples.
Value keptElements(NNBuilder &b, DropoutOp dropout, ArrayRef<int64_t> samples,
                   const RandomScalars &scalars);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_RANDOMNUMBERS_H
