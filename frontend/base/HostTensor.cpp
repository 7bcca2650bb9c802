//===- HostTensor.cpp - tensors computed while importing ------------------===//

#include "frontend/base/HostTensor.h"

#include "frontend/base/Error.h"

#include <algorithm>
#include <cstring>

using onnx::TensorProto;

namespace zerograph::frontend {

HostTensor::HostTensor(int32_t type, Shape shape)
    : elementType(type), dims(std::move(shape)), count(elementCount(dims)) {
  if (count > kMaxElements) {
    throw TooLarge();
  }
  if (isFloat()) {
    floats.resize(count);
  } else {
    integers.resize(count);
  }
}

HostTensor HostTensor::splat(int32_t type, Shape shape, double value) {
  HostTensor result;
  result.elementType = type;
  result.dims = std::move(shape);
  result.count = elementCount(result.dims);
  result.oneValue = true;
  if (result.isFloat()) {
    result.floats = {roundTo(type, value)};
  } else {
    result.integers = {saturateTo(type, value)};
  }
  return result;
}

HostTensor HostTensor::ints(const std::vector<int64_t> &values) {
  HostTensor result(TensorProto::INT64, {static_cast<int64_t>(values.size())});
  result.integers = values;
  result.compress();
  return result;
}

HostTensor HostTensor::scalar(int64_t value) {
  return ints({value}).reshaped({});
}

void HostTensor::failNoElement(int64_t i) const {
  fail("a constant of shape ", shapeText(dims), " has no element ", i);
}

void HostTensor::setInt(int64_t i, int64_t value) {
  if (isFloat()) {
    floats[i] = roundTo(elementType, static_cast<double>(value));
  } else {
    integers[i] = wrapTo(elementType, value);
  }
}

void HostTensor::setFloat(int64_t i, double value) {
  if (isFloat()) {
    floats[i] = roundTo(elementType, value);
  } else {
    integers[i] = saturateTo(elementType, value);
  }
}

void HostTensor::copyFrom(int64_t i, const HostTensor &from, int64_t k) {
  if (isFloat()) {
    floats[i] = from.floats[from.oneValue ? 0 : k];
  } else {
    integers[i] = from.integers[from.oneValue ? 0 : k];
  }
}

HostTensor HostTensor::reshaped(Shape shape) const {
  if (elementCount(shape) != count) {
    fail("cannot reshape ", shapeText(dims), " to ", shapeText(shape));
  }
  HostTensor result = *this;
  result.dims = std::move(shape);
  return result;
}

std::vector<int64_t> HostTensor::toInts() const {
  if (count > kMaxElements) {
    throw TooLarge();
  }
  std::vector<int64_t> result(count);
  for (int64_t i = 0; i < count; ++i) {
    result[i] = intAt(i);
  }
  return result;
}

void HostTensor::compress() {
  if (oneValue || count < 1) {
    return;
  }
  bool same;
  if (isFloat()) {
    same = std::all_of(floats.begin(), floats.end(), [&](double value) {
      return std::memcmp(&value, &floats[0], sizeof(double)) == 0;
    });
    if (same) {
      floats = {floats[0]};
    }
  } else {
    same = std::all_of(integers.begin(), integers.end(),
                       [&](int64_t value) { return value == integers[0]; });
    if (same) {
      integers = {integers[0]};
    }
  }
  oneValue = same;
}

void HostTensor::widen() {
  if (isHalfType(elementType)) {
    elementType = TensorProto::FLOAT;
  }
}

HostTensor remap(const HostTensor &from, const Shape &shape, int64_t base,
                 const std::vector<int64_t> &strides) {
  if (from.isSplat()) {
    HostTensor result = HostTensor::splat(from.type(), shape, 0);
    result.copyFrom(0, from, 0);
    return result;
  }
  HostTensor result(from.type(), shape);
  forEach(shape, strides, [&](int64_t i, int64_t offset) {
    result.copyFrom(i, from, base + offset);
  });
  result.compress();
  return result;
}

void place(HostTensor &into, int64_t base, const std::vector<int64_t> &strides,
           const HostTensor &from) {
  forEach(from.shape(), strides, [&](int64_t i, int64_t offset) {
    into.copyFrom(base + offset, from, i);
  });
}

HostTensor broadcastTo(const HostTensor &from, const Shape &shape) {
  if (broadcastShapes(from.shape(), shape) != shape) {
    fail("shape ", shapeText(from.shape()), " does not broadcast to ",
         shapeText(shape));
  }
  return from.shape() == shape
             ? from
             : remap(from, shape, 0, broadcastStrides(from.shape(), shape));
}

} // namespace zerograph::frontend
