//===- HostTensor.h - tensors computed while importing --------------------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_HOSTTENSOR_H
#define ZEROGRAPH_FRONTEND_BASE_HOSTTENSOR_H

#include "frontend/base/ElementType.h"
#include "frontend/base/Shape.h"

#include "onnx/onnx_pb.h"

#include <cstdint>
#include <vector>

namespace zerograph::frontend {

/// A small dense tensor that the importer computes itself. Integers and
/// booleans are held as int64, floats as double rounded to their type. A splat,
/// whose elements are all the same, holds one of them.
class HostTensor {
public:
  /// Most elements a constant may hold during import (64 MiB).
  static constexpr int64_t kMaxElements = 8 << 20;

  HostTensor() = default;
  /// Zeros; throws TooLarge above kMaxElements.
  HostTensor(int32_t type, Shape shape);
  static HostTensor splat(int32_t type, Shape shape, double value);
  static HostTensor ints(const std::vector<int64_t> &values);
  static HostTensor scalar(int64_t value);

  int32_t type() const { return elementType; }
  const Shape &shape() const { return dims; }
  int64_t rank() const { return dims.size(); }
  int64_t size() const { return count; }
  bool isFloat() const { return isFloatType(elementType); }
  bool isSplat() const { return oneValue; }

  // Both fail if there is no element i: a model may give an empty tensor where
  // one number is expected.
  int64_t intAt(int64_t i) const {
    size_t at = indexOf(i);
    return isFloat() ? toInteger(floats[at]) : integers[at];
  }
  double floatAt(int64_t i) const {
    size_t at = indexOf(i);
    return isFloat() ? floats[at] : static_cast<double>(integers[at]);
  }
  /// Both convert to the element type, by roundTo, wrapTo or saturateTo. Not
  /// for splats.
  void setInt(int64_t i, int64_t value);
  void setFloat(int64_t i, double value);
  /// Copies an element of a tensor of the same type.
  void copyFrom(int64_t i, const HostTensor &from, int64_t k);

  /// Returns these elements in another shape; fails if their number differs.
  HostTensor reshaped(Shape shape) const;
  /// All elements as integers, in order.
  std::vector<int64_t> toInts() const;
  /// Becomes a splat where all elements are the same bits.
  void compress();
  /// Makes numbers of 16 bits the same ones in float32.
  void widen();

private:
  size_t indexOf(int64_t i) const {
    size_t at = oneValue ? 0 : static_cast<size_t>(i);
    if (at >= (isFloat() ? floats.size() : integers.size())) {
      failNoElement(i);
    }
    return at;
  }
  [[noreturn]] void failNoElement(int64_t i) const;
  int32_t elementType = 0;
  Shape dims;
  int64_t count = 0;
  bool oneValue = false;
  std::vector<int64_t> integers;
  std::vector<double> floats;
};

/// out[i...] = from[base + sum(i_d * strides_d)]: any slice, transposition or
/// broadcast.
HostTensor remap(const HostTensor &from, const Shape &shape, int64_t base,
                 const std::vector<int64_t> &strides);
/// into[base + sum(i_d * strides_d)] = from[i...].
void place(HostTensor &into, int64_t base, const std::vector<int64_t> &strides,
           const HostTensor &from);
HostTensor broadcastTo(const HostTensor &from, const Shape &shape);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_HOSTTENSOR_H
