//===- HostTensor.cpp - tensors computed while importing ------------------===//

#include "frontend/base/HostTensor.h"

#include "frontend/base/Error.h"

#include "absl/strings/str_join.h"
#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using onnx::TensorProto;

namespace zerograph::frontend {

/// Of one value: more than any machine holds, and so few that sizes in bytes,
/// and sums of many of them, are far from overflow.
constexpr int64_t kMostElements = int64_t(1) << 38;

std::string shapeText(const Shape &shape) {
  return shape.empty() ? "scalar" : absl::StrJoin(shape, "x");
}

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  bool empty = false;
  for (int64_t dim : shape) {
    if (dim < 0) {
      fail("shape ", shapeText(shape), " has a negative dimension");
    }
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, dim, &count) ||
               count > kMostElements) {
      fail("shape ", shapeText(shape), " has more than 2^38 elements");
    }
  }
  return empty ? 0 : count;
}

Shape broadcastShapes(const Shape &a, const Shape &b) {
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail("shapes ", shapeText(a), " and ", shapeText(b),
           " do not broadcast to one shape");
    }
    result[result.size() - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

int64_t normalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail("axis ", axis, " is not an axis of a tensor of rank ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

bool isFloatType(int32_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
         type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

int64_t toInteger(double value) {
  constexpr double limit = 0x1p63;
  if (value != value) {
    return 0;
  }
  return value >= limit   ? std::numeric_limits<int64_t>::max()
         : value < -limit ? std::numeric_limits<int64_t>::min()
                          : static_cast<int64_t>(value);
}

double maximum(double a, double b) {
  if (a != a || b != b) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return a == b && std::signbit(a) ? b : std::max(a, b);
}

double minimum(double a, double b) { return -maximum(-a, -b); }

int64_t typeBytes(int32_t type) {
  switch (type) {
  case TensorProto::DOUBLE:
  case TensorProto::INT64:
    return 8;
  case TensorProto::FLOAT:
  case TensorProto::INT32:
    return 4;
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
  case TensorProto::INT16:
    return 2;
  case TensorProto::INT8:
  case TensorProto::UINT8:
  case TensorProto::BOOL:
    return 1;
  default:
    return 0;
  }
}

std::string typeName(int32_t type) {
  return TensorProto::DataType_IsValid(type)
             ? TensorProto::DataType_Name(
                   static_cast<TensorProto::DataType>(type))
             : absl::StrCat("type ", type);
}

double roundTo(int32_t type, double value) {
  if (type == TensorProto::DOUBLE) {
    return value;
  }
  if (type == TensorProto::FLOAT) {
    return static_cast<float>(value);
  }
  llvm::APFloat exact(value);
  bool lost;
  exact.convert(type == TensorProto::FLOAT16 ? llvm::APFloat::IEEEhalf()
                                             : llvm::APFloat::BFloat(),
                llvm::APFloat::rmNearestTiesToEven, &lost);
  return exact.convertToDouble();
}

static int64_t wrapTo(int32_t type, int64_t value) {
  switch (type) {
  case TensorProto::INT32:
    return static_cast<int32_t>(value);
  case TensorProto::INT16:
    return static_cast<int16_t>(value);
  case TensorProto::INT8:
    return static_cast<int8_t>(value);
  case TensorProto::UINT8:
    return static_cast<uint8_t>(value);
  case TensorProto::BOOL:
    return value != 0;
  default:
    return value;
  }
}

template <typename T>
static int64_t clampTo(int64_t value) {
  return std::clamp<int64_t>(value, std::numeric_limits<T>::min(),
                             std::numeric_limits<T>::max());
}

/// A float as an integer of the type: without its fraction, and the nearest
/// there is; of NaN, 0.
static int64_t saturateTo(int32_t type, double value) {
  int64_t whole = toInteger(value);
  switch (type) {
  case TensorProto::INT32:
    return clampTo<int32_t>(whole);
  case TensorProto::INT16:
    return clampTo<int16_t>(whole);
  case TensorProto::INT8:
    return clampTo<int8_t>(whole);
  case TensorProto::UINT8:
    return clampTo<uint8_t>(whole);
  case TensorProto::BOOL:
    return value != 0;
  default:
    return whole;
  }
}

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

std::vector<int64_t> rowMajor(const Shape &shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  }
  return strides;
}

std::vector<int64_t> broadcastStrides(const Shape &from, const Shape &to) {
  std::vector<int64_t> own = rowMajor(from), strides(to.size(), 0);
  size_t lead = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) {
      strides[lead + d] = own[d];
    }
  }
  return strides;
}

void forEach(const Shape &shape, const std::vector<int64_t> &strides,
             llvm::function_ref<void(int64_t, int64_t)> visit) {
  int64_t total = elementCount(shape), offset = 0;
  Shape index(shape.size(), 0);
  for (int64_t i = 0; i < total; ++i) {
    visit(i, offset);
    for (size_t d = shape.size(); d-- > 0;) {
      offset += strides[d];
      if (++index[d] < shape[d]) {
        break;
      }
      offset -= strides[d] * shape[d];
      index[d] = 0;
    }
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
