//===- Synthesize.cpp - constants as few small ops ------------------------===//

#include "frontend/emit/Synthesize.h"

#include "frontend/base/Error.h"

#include <algorithm>
#include <cstring>

using mlir::Value;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// Literal data up to this size is shorter than any ops.
constexpr int64_t kLiteralElements = 256;

bool sameBits(const HostTensor &tensor, int64_t i, int64_t k) {
  if (!tensor.isFloat()) {
    return tensor.intAt(i) == tensor.intAt(k);
  }
  double a = tensor.floatAt(i), b = tensor.floatAt(k);
  return std::memcmp(&a, &b, sizeof(a)) == 0;
}

/// The tensor with each dim along which it repeats cut to size 1.
HostTensor withoutRepeats(const HostTensor &tensor) {
  HostTensor result = tensor;
  for (int64_t dim = 0; dim < tensor.rank(); ++dim) {
    if (result.shape()[dim] == 1) {
      continue;
    }
    std::vector<int64_t> strides = rowMajor(result.shape());
    // Element i lies at position k along the dim.
    int64_t stride = strides[dim], size = result.shape()[dim];
    bool repeats = true;
    for (int64_t i = 0; i < result.size() && repeats; ++i) {
      int64_t k = i / stride % size;
      repeats = sameBits(result, i, i - k * stride);
    }
    if (repeats) {
      Shape shape = result.shape();
      shape[dim] = 1;
      result = remap(result, shape, 0, strides);
    }
  }
  return result;
}

/// base + sum(factor_d * iota_d), or null.
Value affine(Emitter &emit, const HostTensor &tensor) {
  if (tensor.isFloat() || tensor.type() == TensorProto::BOOL) {
    return {};
  }
  const Shape &shape = tensor.shape();
  std::vector<int64_t> strides = rowMajor(shape), factors(shape.size(), 0);
  int64_t base = tensor.intAt(0);
  // Small numbers only: no product below may overflow.
  constexpr int64_t limit = int64_t(1) << 40;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] > 1) {
      int64_t next = tensor.intAt(strides[dim]);
      if (std::abs(base) > limit || next > limit || next < -limit) {
        return {};
      }
      factors[dim] = next - base;
    }
  }
  // Walking with the factors as strides yields the affine function itself.
  bool fits = true;
  forEach(shape, factors, [&](int64_t i, int64_t value) {
    fits = fits && tensor.intAt(i) == base + value;
  });
  if (!fits) {
    return {};
  }
  mlir::Type element = elementTypeOf(emit.builder.getContext(), tensor.type());
  Value sum;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (factors[dim] != 0) {
      Value term = emit.mul(emit.iota(dim, shape, element), factors[dim]);
      sum = sum ? emit.add(sum, term) : term;
    }
  }
  return emit.add(sum, base);
}

/// A causal mask: one value where column <= row + shift, else another.
struct Band {
  int64_t inside, outside; ///< elements that have these values
  int64_t rowDim, columnDim, shift;
};

/// With how many elements equal to element `inside` each row begins; nothing
/// unless all others equal element `outside`.
std::optional<std::vector<int64_t>> rowLengths(const HostTensor &tensor,
                                               int64_t columns, int64_t inside,
                                               int64_t outside) {
  std::vector<int64_t> lengths;
  for (int64_t begin = 0; begin < tensor.size(); begin += columns) {
    int64_t length = 0;
    while (length < columns && sameBits(tensor, begin + length, inside)) {
      ++length;
    }
    for (int64_t k = length; k < columns; ++k) {
      if (!sameBits(tensor, begin + k, outside)) {
        return std::nullopt;
      }
    }
    lengths.push_back(length);
  }
  return lengths;
}

/// If row i has i + shift + 1 elements, within [0, columns], for all i.
std::optional<int64_t> shiftOf(const std::vector<int64_t> &lengths,
                               int64_t columns) {
  int64_t rows = lengths.size(), first = 0;
  while (first < rows && (lengths[first] == 0 || lengths[first] == columns)) {
    ++first;
  }
  if (first == rows) {
    return std::nullopt;
  }
  int64_t shift = lengths[first] - 1 - first;
  for (int64_t row = 0; row < rows; ++row) {
    if (lengths[row] != std::clamp<int64_t>(row + shift + 1, 0, columns)) {
      return std::nullopt;
    }
  }
  return shift;
}

std::optional<Band> findBand(const HostTensor &tensor) {
  const Shape &shape = tensor.shape();
  std::vector<int64_t> dims;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] > 1) {
      dims.push_back(dim);
    }
  }
  if (dims.size() != 2) {
    return std::nullopt;
  }
  int64_t columns = shape[dims[1]];
  int64_t other = 1;
  while (other < tensor.size() && sameBits(tensor, other, 0)) {
    ++other;
  }
  for (auto [inside, outside] :
       {std::pair<int64_t, int64_t>(0, other), {other, 0}}) {
    auto lengths = rowLengths(tensor, columns, inside, outside);
    auto shift = lengths ? shiftOf(*lengths, columns) : std::nullopt;
    if (shift) {
      return Band{inside, outside, dims[0], dims[1], *shift};
    }
  }
  return std::nullopt;
}

Value band(Emitter &emit, const HostTensor &tensor) {
  std::optional<Band> band = findBand(tensor);
  if (!band) {
    return {};
  }
  mlir::Type index = emit.builder.getI32Type();
  Value row = emit.iota(band->rowDim, tensor.shape(), index);
  Value column = emit.iota(band->columnDim, tensor.shape(), index);
  Value limit = emit.add(row, band->shift);
  if (tensor.type() == TensorProto::BOOL) {
    return emit.compare(tensor.intAt(band->inside) != 0 ? nn::CompareKind::le
                                                        : nn::CompareKind::gt,
                        column, limit);
  }
  auto value = [&](int64_t i) {
    HostTensor one = HostTensor::splat(tensor.type(), tensor.shape(), 0);
    one.copyFrom(0, tensor, i);
    return emit.constant(one);
  };
  return emit.select(emit.compare(nn::CompareKind::le, column, limit),
                     value(band->inside), value(band->outside));
}

} // namespace

std::optional<Progression> asProgression(const HostTensor &tensor) {
  if (tensor.isFloat() || tensor.size() == 0) {
    return std::nullopt;
  }
  int64_t first = tensor.intAt(0);
  int64_t step = tensor.size() > 1 ? tensor.intAt(1) - first : 1;
  for (int64_t i = 2; i < tensor.size(); ++i) {
    if (tensor.intAt(i) - tensor.intAt(i - 1) != step) {
      return std::nullopt;
    }
  }
  return Progression{first, step};
}

Value synthesize(Emitter &emit, const HostTensor &tensor) {
  if (tensor.isSplat() || tensor.size() <= kLiteralElements) {
    return emit.constant(tensor);
  }
  HostTensor small = withoutRepeats(tensor);
  Value value;
  if (small.isSplat() || small.size() <= kLiteralElements) {
    value = emit.constant(small);
  }
  if (!value) {
    value = affine(emit, small);
  }
  if (!value) {
    value = band(emit, small);
  }
  if (!value &&
      small.size() * typeBytes(small.type()) <= nn::kMaxConstantBytes) {
    value = emit.constant(small);
  }
  return value ? emit.broadcastTo(value, tensor.shape()) : Value();
}

} // namespace zerograph::frontend
