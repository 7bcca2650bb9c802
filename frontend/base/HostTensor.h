//===- HostTensor.h - tensors computed while importing --------------------===//

#ifndef ZEROGRAPH_FRONTEND_BASE_HOSTTENSOR_H
#define ZEROGRAPH_FRONTEND_BASE_HOSTTENSOR_H

#include "onnx/onnx_pb.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <string>
#include <vector>

namespace zerograph::frontend {

using Shape = std::vector<int64_t>;

/// "2x3", or "scalar".
std::string shapeText(const Shape &shape);
/// Number of elements; fails on a negative dim and on overflow.
int64_t elementCount(const Shape &shape);
/// The shape two shapes broadcast to by ONNX's rules; fails if they do not.
Shape broadcastShapes(const Shape &a, const Shape &b);
/// `axis` counted from the end if negative; fails outside [-rank, rank).
int64_t normalizeAxis(int64_t axis, int64_t rank);

bool isFloatType(int32_t type);
/// `value` without its fraction, or the nearest number there is: a model may
/// give infinity, or NaN (0), where a number is expected.
int64_t toInteger(double value);
/// The greater or lesser of two as kernels compute it: whatever their order, -0
/// is less than +0 and a NaN wins.
double maximum(double a, double b);
double minimum(double a, double b);
/// Bytes of one element of an ONNX type that the importer knows, else 0.
int64_t typeBytes(int32_t type);
std::string typeName(int32_t type);

/// A small dense tensor on the host. Integers and booleans are held as
/// int64, floats as double rounded to their type. A tensor whose elements are
/// all the same holds one of them.
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

  // Both fail where there is no element i: a model may give an empty tensor
  // where one number is expected.
  int64_t intAt(int64_t i) const {
    size_t at = indexOf(i);
    return isFloat() ? toInteger(floats[at]) : integers[at];
  }
  double floatAt(int64_t i) const {
    size_t at = indexOf(i);
    return isFloat() ? floats[at] : static_cast<double>(integers[at]);
  }
  /// To the element type: a float is rounded; an integer wraps, or is the one
  /// nearest to a float. Not for splats.
  void setInt(int64_t i, int64_t value);
  void setFloat(int64_t i, double value);
  /// Copies an element of a tensor of the same type.
  void copyFrom(int64_t i, const HostTensor &from, int64_t k);

  /// The same elements under another shape of as many.
  HostTensor reshaped(Shape shape) const;
  /// All elements as integers, in order.
  std::vector<int64_t> toInts() const;
  /// Becomes a splat where all elements are the same bits.
  void compress();

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

/// `value` rounded to the precision of a float type.
double roundTo(int32_t type, double value);

/// out[i...] = from[base + sum(i_d * strides_d)]: every rearrangement.
HostTensor remap(const HostTensor &from, const Shape &shape, int64_t base,
                 const std::vector<int64_t> &strides);
/// into[base + sum(i_d * strides_d)] = from[i...].
void place(HostTensor &into, int64_t base, const std::vector<int64_t> &strides,
           const HostTensor &from);
/// Row-major strides of a shape.
std::vector<int64_t> rowMajor(const Shape &shape);
/// Strides that read a tensor of shape `from` broadcast to `to`.
std::vector<int64_t> broadcastStrides(const Shape &from, const Shape &to);
HostTensor broadcastTo(const HostTensor &from, const Shape &shape);

/// Calls `visit(i, sum(index_d * strides_d))` for each index of `shape` in
/// row-major order; i counts up.
void forEach(const Shape &shape, const std::vector<int64_t> &strides,
             llvm::function_ref<void(int64_t, int64_t)> visit);

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_BASE_HOSTTENSOR_H
