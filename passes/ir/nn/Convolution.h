//===- Convolution.h - which element meets which in a convolution ---------===//
//
// A convolution ties three tensors: the input [N, C, places...], the weights
// [K, C / groups, window...] and the output [N, K, places...], where
//   output[n, k, o] += input[n, c, o * stride - low + w * dilation]
//                      * weights[k, c, w].
// It is linear in the input and in the weights, so the two gradients tie the
// same tensors: each of the three kinds computes one of them from the others.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_CONVOLUTION_H
#define ZEROGRAPH_PASSES_IR_NN_CONVOLUTION_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// Refers to the attributes of the op it was made from.
struct Convolution {
  ConvolutionKind kind;
  RankedTensorType input, weights, output;
  llvm::ArrayRef<int64_t> strides, low, dilations; // one a place dimension
  int64_t groups;

  /// By the types of the op's operands and result.
  Convolution(ConvolutionKind kind, Type lhs, Type rhs, Type result,
              llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> low,
              llvm::ArrayRef<int64_t> dilations, int64_t groups);
  explicit Convolution(ConvolutionOp op);

  unsigned places() const { return input.getRank() - 2; }
  int64_t samples() const { return input.getDimSize(0); }
  int64_t channels() const { return input.getDimSize(1); }
  int64_t features() const { return output.getDimSize(1); }
  /// Zeros after the input that the last window reaches; none where it ends
  /// before the input does.
  int64_t high(unsigned place) const;

  /// Returns the tensor that is computed from the other two.
  const RankedTensorType &result() const;

  /// Checks that all fits; what does not is an error of `op`. The operands have
  /// one element type, and so has the result, or f32 where theirs has 16 bits.
  LogicalResult verify(Operation *op) const;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_CONVOLUTION_H
