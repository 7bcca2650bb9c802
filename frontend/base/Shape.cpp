//===- Shape.cpp - shapes, broadcasting and strides -----------------------===//

#include "frontend/base/Shape.h"

#include "frontend/base/Error.h"

#include "absl/strings/str_join.h"

#include <algorithm>

namespace zerograph::frontend {

/// Most elements of one value: as many as the scores of 32 heads over a
/// sequence of 1.4 million have, of which only blocks are made. Sizes in bytes,
/// and sums of many such sizes, are far from overflow.
constexpr int64_t kMostElements = int64_t(1) << 46;

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
      fail("shape ", shapeText(shape), " has more than 2^46 elements");
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

} // namespace zerograph::frontend
