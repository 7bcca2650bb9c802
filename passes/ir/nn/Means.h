//===- Means.h - sums that are divided by what they count -----------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_MEANS_H
#define ZEROGRAPH_PASSES_IR_NN_MEANS_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// Returns how many elements each sum adds up.
double countOf(ReduceOp sum);

/// Returns whether the op divides the sum, or a reshape of it, by the number of
/// elements that it adds up.
bool isMeanOf(BinaryOp op, ReduceOp sum);

/// Returns whether the value is x - mean(x) or mean(x) - x, the means along
/// these dimensions: then it adds up to 0 along them, but for rounding.
bool isCentered(Value value, llvm::ArrayRef<int64_t> dims);

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_MEANS_H
