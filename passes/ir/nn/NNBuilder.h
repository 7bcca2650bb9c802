//===- NNBuilder.h - short names for building nn ops ----------------------===//

#ifndef ZEROGRAPH_PASSES_IR_NN_NNBUILDER_H
#define ZEROGRAPH_PASSES_IR_NN_NNBUILDER_H

#include "passes/ir/nn/NNDialect.h"

namespace mlir::zg::nn {

/// The shape of a value of the nn dialect.
ArrayRef<int64_t> shapeOf(Value value);
/// The element type of a value of the nn dialect.
Type elementOf(Value value);
/// Returns whether a value's elements are floating-point numbers.
bool isFloat(Value value);

/// Builds nn ops at one location, at the insertion point of an `OpBuilder`.
/// Result types follow from the operands. Nothing is folded: a term that is
/// built is there until canonicalization.
class NNBuilder {
public:
  NNBuilder(OpBuilder &builder, Location location)
      : builder(builder), location(location) {}

  /// Every element is `value`, rounded to the element type of `like`.
  Value splat(Value like, double value);
  Value splat(RankedTensorType type, double value);
  /// Element `i` along `dim` is `i`.
  Value iota(RankedTensorType type, int64_t dim);

  Value unary(UnaryKind kind, Value x);
  Value binary(BinaryKind kind, Value a, Value b);
  Value add(Value a, Value b) { return binary(BinaryKind::add, a, b); }
  Value sub(Value a, Value b) { return binary(BinaryKind::sub, a, b); }
  Value mul(Value a, Value b) { return binary(BinaryKind::mul, a, b); }
  Value div(Value a, Value b) { return binary(BinaryKind::div, a, b); }
  Value neg(Value x) { return unary(UnaryKind::neg, x); }
  /// `x` times, or plus, the same number everywhere.
  Value scale(Value x, double factor) { return mul(x, splat(x, factor)); }
  Value shift(Value x, double term) { return add(x, splat(x, term)); }

  Value compare(CompareKind kind, Value a, Value b);
  Value select(Value condition, Value onTrue, Value onFalse);
  /// `x` where the condition holds, otherwise zero; and the other way round.
  Value keepIf(Value condition, Value x);
  Value zeroIf(Value condition, Value x);
  Value convert(Value x, Type element);

  Value broadcast(Value x, ArrayRef<int64_t> shape);
  Value reshape(Value x, ArrayRef<int64_t> shape);
  Value transpose(Value x, ArrayRef<int64_t> permutation);
  Value slice(Value x, ArrayRef<int64_t> starts, ArrayRef<int64_t> steps,
              ArrayRef<int64_t> shape);
  /// `border`, by default zeros, around `x`.
  Value pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> shape,
            double border = 0);
  /// Tensors that differ in dimension `dim` alone, side by side along it.
  Value concat(ArrayRef<Value> parts, int64_t dim);
  /// `count` rows of what has bytes of its own, from `first` on, where they
  /// lie.
  Value takeRows(Value x, int64_t first, int64_t count);
  /// The rows of tensors that have one element type, one after the other.
  Value joinRows(ArrayRef<Value> parts);
  Value reduce(ReduceKind kind, Value x, ArrayRef<int64_t> dims);
  Value sum(Value x, ArrayRef<int64_t> dims) {
    return reduce(ReduceKind::sum, x, dims);
  }
  /// Sum along the last dimension, which stays with size 1.
  Value sumRows(Value x);
  /// exp((x - max) - logSum), each with one number a row: the softmax of x, if
  /// they are the maximum and the logarithm of the sum of exp(x - max).
  Value softmaxRows(Value x, Value max, Value logSum);
  /// Rows of `table`, by their numbers.
  Value gather(Value table, Value indices);
  Value matmul(Value a, Value b, bool transposeA, bool transposeB,
               Type resultType);
  /// One kind of the convolution that `like` is a kind of.
  Value convolution(ConvolutionOp like, ConvolutionKind kind, Value lhs,
                    Value rhs, Type resultType);

  OpBuilder &builder;
  Location location;
};

} // namespace mlir::zg::nn

#endif // ZEROGRAPH_PASSES_IR_NN_NNBUILDER_H
