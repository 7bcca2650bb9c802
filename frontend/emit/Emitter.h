//===- Emitter.h - builds nn ops with ONNX's conveniences -----------------===//

#ifndef ZEROGRAPH_FRONTEND_EMIT_EMITTER_H
#define ZEROGRAPH_FRONTEND_EMIT_EMITTER_H

#include "frontend/base/HostTensor.h"

#include "passes/ir/nn/NNDialect.h"

#include <optional>

namespace zerograph::frontend {

namespace nn = mlir::zg::nn;

/// Returns the MLIR element type of an ONNX type; fails on one that nn lacks.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int32_t onnxType);
/// Returns the ONNX type of an element type of MLIR.
int32_t onnxTypeOf(mlir::Type elementType);

/// Builds nn ops at the end of a block. nn ops never broadcast; these functions
/// do. They check everything that user input decides, so no verifier or assert
/// of MLIR meets a bad op.
class Emitter {
public:
  using Value = mlir::Value;

  Emitter(mlir::OpBuilder &builder, mlir::Location location)
      : builder(builder), location(location) {}

  static mlir::RankedTensorType typeOf(Value value);
  static Shape shapeOf(Value value);
  static int64_t rankOf(Value value) { return typeOf(value).getRank(); }
  static mlir::Type elementOf(Value value) {
    return typeOf(value).getElementType();
  }
  static bool isFloat(Value value) {
    return mlir::isa<mlir::FloatType>(elementOf(value));
  }
  /// Returns the number that every element of a float value is, if it is known.
  static std::optional<double> splatOf(Value value);
  /// Returns a tensor type; fails on empty dims and on overflow.
  mlir::RankedTensorType tensorType(const Shape &shape, mlir::Type element);

  /// Emits a constant; `tensor` must be a splat or at most kMaxConstantBytes.
  Value constant(const HostTensor &tensor);
  Value splat(double value, const Shape &shape, mlir::Type element);
  /// Emits a splat of the type of `like`.
  Value splatLike(double value, Value like);
  Value iota(int64_t dim, const Shape &shape, mlir::Type element);

  Value unary(nn::UnaryKind kind, Value x);
  Value binary(nn::BinaryKind kind, Value x, Value y);
  Value binary(nn::BinaryKind kind, Value x, double y);
  Value add(Value x, Value y) { return binary(nn::BinaryKind::add, x, y); }
  Value sub(Value x, Value y) { return binary(nn::BinaryKind::sub, x, y); }
  Value mul(Value x, Value y) { return binary(nn::BinaryKind::mul, x, y); }
  Value div(Value x, Value y) { return binary(nn::BinaryKind::div, x, y); }
  Value mul(Value x, double y) { return binary(nn::BinaryKind::mul, x, y); }
  Value add(Value x, double y) { return binary(nn::BinaryKind::add, x, y); }
  Value compare(nn::CompareKind kind, Value x, Value y);
  Value compare(nn::CompareKind kind, Value x, double y);
  Value select(Value condition, Value onTrue, Value onFalse);
  Value convert(Value x, mlir::Type element);
  Value stopGradient(Value x);

  Value reshape(Value x, const Shape &shape);
  Value broadcastTo(Value x, const Shape &shape);
  Value transpose(Value x, const std::vector<int64_t> &permutation);
  /// Moves one axis to another place; the others keep their order.
  Value moveAxis(Value x, int64_t from, int64_t to);
  Value slice(Value x, const std::vector<int64_t> &starts,
              const std::vector<int64_t> &steps, const Shape &shape);
  /// Takes `size` elements from `start` along one axis.
  Value sliceAxis(Value x, int64_t axis, int64_t start, int64_t size,
                  int64_t step = 1);
  Value pad(Value x, const std::vector<int64_t> &low, const Shape &shape,
            double value);
  Value concat(const std::vector<Value> &parts, int64_t axis);

  /// Reduces; if `first`, the first of equal extremes gets the gradient.
  Value reduce(nn::ReduceKind kind, Value x, std::vector<int64_t> axes,
               bool keepDims, bool first = false);
  /// Multiplies `[..., M, K] x [..., K, N]`; batches broadcast. An operand
  /// whose last two dims were just transposed is taken from before that.
  Value matmul(Value a, Value b, bool transposeA = false,
               bool transposeB = false);
  Value gather(Value table, Value indices);
  Value softmax(Value x);

  mlir::OpBuilder &builder;
  mlir::Location location;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_EMIT_EMITTER_H
