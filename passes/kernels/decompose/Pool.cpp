//===- Pool.cpp - windows by the slices that their elements are -----------===//
//
// Element t of every window is one strided slice, so a window of n elements is
// n slices, combined element by element and in order.
//
//===----------------------------------------------------------------------===//

#include "passes/kernels/decompose/Decomposition.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// The smallest number of a type.
double lowest(Type element) {
  if (isa<FloatType>(element)) {
    return -std::numeric_limits<double>::infinity();
  }
  return element.isUnsignedInteger()
             ? 0
             : -std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
}

/// Elements 0, 1, ... of every window.
SmallVector<Value> elementsOf(PoolOp op, NNBuilder &b) {
  Value x = op.getOperand();
  int64_t dim = op.getDim();
  SmallVector<int64_t> shape(shapeOf(x)), zeros(shape.size(), 0);
  SmallVector<int64_t> low = zeros, steps(shape.size(), 1);
  low[dim] = op.getLow();
  steps[dim] = op.getStride();
  shape[dim] = op.getPaddedSize();
  x = b.pad(x, low, shape,
            op.getKind() == ReduceKind::max ? lowest(elementOf(x)) : 0);
  SmallVector<Value> elements;
  SmallVector<int64_t> starts = zeros;
  for (int64_t t = 0, size = op.getWindow(); t < size; ++t) {
    starts[dim] = t * op.getDilation();
    elements.push_back(b.slice(x, starts, steps, shapeOf(op.getResult())));
  }
  return elements;
}

/// The place of each window's first element that is not outside.
Value firstPlaces(PoolOp op, NNBuilder &b) {
  auto type = cast<RankedTensorType>(op.getPlace().getType());
  if (op.getLow() == 0) {
    return b.splat(type, 0);
  }
  double stride = op.getStride(), dilation = op.getDilation();
  Value window = b.iota(type.clone(b.builder.getI32Type()), op.getDim());
  Value place = b.shift(b.scale(window, -stride), op.getLow());
  place = b.binary(BinaryKind::max, place, b.splat(place, 0));
  if (dilation != 1) {
    place = b.div(b.shift(place, dilation - 1), b.splat(place, dilation));
    place = b.scale(place, dilation);
  }
  place = b.binary(BinaryKind::min, place, b.splat(place, op.getLastPlace()));
  return b.convert(place, type.getElementType());
}

Replacement pool(PoolOp op, NNBuilder &b) {
  SmallVector<Value> elements = elementsOf(op, b);
  Value result = elements.front();
  if (op.getKind() == ReduceKind::sum) {
    for (Value element : ArrayRef(elements).drop_front()) {
      result = b.add(result, element);
    }
    return {result};
  }
  auto placeType = cast<RankedTensorType>(op.getPlace().getType());
  Value place = firstPlaces(op, b);
  for (int64_t t = 1, size = elements.size(); t < size; ++t) {
    Value take = b.compare(CompareKind::gt, elements[t], result);
    if (isFloat(result)) {
      take = b.binary(BinaryKind::logical_or, take,
                      b.unary(UnaryKind::is_nan, elements[t]));
    }
    result = b.select(take, elements[t], result);
    place = b.select(take, b.splat(placeType, t * op.getDilation()), place);
  }
  return {result, place};
}

} // namespace

void mlir::zg::nn::addPoolDecompositions(RewritePatternSet &patterns,
                                         const TargetInfo &target) {
  addDecomposition<PoolOp, pool>(patterns, target);
}
