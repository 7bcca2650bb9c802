//===- Exponentials.cpp - logarithms of sums of exponentials --------------===//

#include "frontend/emit/Exponentials.h"

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

/// exp(-|x|), which is at most 1.
static Value vanishing(Emitter &emit, Value x) {
  Value magnitude = emit.unary(UnaryKind::abs, x);
  return emit.unary(UnaryKind::exp, emit.unary(UnaryKind::neg, magnitude));
}

Value softplus(Emitter &emit, Value x) {
  // At 0 each term gives half of the gradient, or none: one half, as it is.
  return emit.add(emit.binary(BinaryKind::max, x, 0.0),
                  emit.unary(UnaryKind::log1p, vanishing(emit, x)));
}

Value logSoftmax(Emitter &emit, Value x) {
  int64_t last = Emitter::rankOf(x) - 1;
  Value shifted = emit.sub(x, emit.reduce(ReduceKind::max, x, {last}, true));
  Value sum = emit.reduce(ReduceKind::sum, emit.unary(UnaryKind::exp, shifted),
                          {last}, true);
  return emit.sub(shifted, emit.unary(UnaryKind::log, sum));
}

Value logSumExp(Emitter &emit, Value x, const std::vector<int64_t> &axes,
                bool keepDims) {
  Value top = emit.reduce(ReduceKind::max, x, axes, true);
  // If the maximum is infinite, x - top would be NaN.
  top = emit.select(emit.unary(UnaryKind::is_inf, top), emit.splatLike(0, top),
                    top);
  Value sum =
      emit.reduce(ReduceKind::sum, emit.unary(UnaryKind::exp, emit.sub(x, top)),
                  axes, true);
  Value result = emit.add(top, emit.unary(UnaryKind::log, sum));
  Shape shape =
      Emitter::shapeOf(emit.reduce(ReduceKind::max, x, axes, keepDims));
  return emit.reshape(result, shape);
}

Value logAddExp(Emitter &emit, Value x, Value y) {
  // The difference of two equal infinities would be NaN.
  Value equal = emit.compare(CompareKind::eq, x, y);
  Value apart = emit.sub(x, y);
  apart = emit.select(equal, emit.splatLike(0, apart), apart);
  return emit.add(emit.binary(BinaryKind::max, x, y),
                  emit.unary(UnaryKind::log1p, vanishing(emit, apart)));
}

} // namespace zerograph::frontend
