//===- EmitterLayout.cpp - the same elements in another layout ------------===//

#include "frontend/emit/Emitter.h"

#include "frontend/base/Error.h"

#include <numeric>

using namespace mlir;

namespace zerograph::frontend {

Value Emitter::reshape(Value x, const Shape &shape) {
  if (elementCount(shape) != typeOf(x).getNumElements()) {
    fail("cannot reshape ", shapeText(shapeOf(x)), " to ", shapeText(shape));
  }
  return builder.createOrFold<nn::ReshapeOp>(
      location, tensorType(shape, elementOf(x)), x);
}

Value Emitter::broadcastTo(Value x, const Shape &shape) {
  Shape from = shapeOf(x);
  if (from == shape) {
    return x;
  }
  if (from.size() > shape.size() || broadcastShapes(from, shape) != shape) {
    fail("shape ", shapeText(from), " does not broadcast to ",
         shapeText(shape));
  }
  from.insert(from.begin(), shape.size() - from.size(), 1);
  return builder.createOrFold<nn::BroadcastOp>(
      location, tensorType(shape, elementOf(x)), reshape(x, from));
}

Value Emitter::transpose(Value x, const std::vector<int64_t> &permutation) {
  Shape from = shapeOf(x), to;
  std::vector<bool> used(from.size());
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= static_cast<int64_t>(from.size()) || used[dim]) {
      fail("[", shapeText(permutation), "] is not a permutation of the ",
           from.size(), " dimensions");
    }
    used[dim] = true;
    to.push_back(from[dim]);
  }
  if (to.size() != from.size()) {
    fail("the permutation has ", to.size(), " entries for ", from.size(),
         " dimensions");
  }
  return builder.createOrFold<nn::TransposeOp>(
      location, tensorType(to, elementOf(x)), x, permutation);
}

Value Emitter::moveAxis(Value x, int64_t from, int64_t to) {
  std::vector<int64_t> order(rankOf(x));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

Value Emitter::slice(Value x, const std::vector<int64_t> &starts,
                     const std::vector<int64_t> &steps, const Shape &shape) {
  return builder.createOrFold<nn::SliceOp>(
      location, tensorType(shape, elementOf(x)), x, starts, steps);
}

Value Emitter::sliceAxis(Value x, int64_t axis, int64_t start, int64_t size,
                         int64_t step) {
  Shape shape = shapeOf(x);
  std::vector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  starts[axis] = start;
  steps[axis] = step;
  shape[axis] = size;
  return slice(x, starts, steps, shape);
}

Value Emitter::pad(Value x, const std::vector<int64_t> &low, const Shape &shape,
                   double value) {
  if (shape == shapeOf(x)) {
    return x;
  }
  Type element = elementOf(x);
  TypedAttr filler;
  if (isa<FloatType>(element)) {
    filler = builder.getFloatAttr(element, value);
  } else {
    filler = builder.getIntegerAttr(
        element, APInt(element.getIntOrFloatBitWidth(), toInteger(value),
                       /*isSigned=*/true));
  }
  return builder.create<nn::PadOp>(location, tensorType(shape, element), x, low,
                                   filler);
}

Value Emitter::concat(const std::vector<Value> &parts, int64_t axis) {
  Shape shape = shapeOf(parts[0]);
  shape[axis] = 0;
  for (Value part : parts) {
    Shape own = shapeOf(part);
    if (own.size() != shape.size() || elementOf(part) != elementOf(parts[0])) {
      fail("cannot concatenate tensors of different rank or type");
    }
    for (size_t dim = 0; dim < own.size(); ++dim) {
      if (static_cast<int64_t>(dim) == axis) {
        shape[dim] += own[dim];
      } else if (own[dim] != shape[dim]) {
        fail("cannot concatenate shapes ", shapeText(shapeOf(parts[0])),
             " and ", shapeText(own), " along axis ", axis);
      }
    }
  }
  return builder.createOrFold<nn::ConcatOp>(
      location, tensorType(shape, elementOf(parts[0])), parts, axis);
}

} // namespace zerograph::frontend
