//===- Access.cpp - how a view addresses elements by row and column -------===//

#include "codegen/emit/Graph.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

bool Access::variesInRow() const {
  return llvm::any_of(inner, [](const ViewDim &dim) {
    return dim.stride != 0 || dim.isBounded();
  });
}

bool Access::variesOverRows() const {
  return llvm::any_of(outer, [](const ViewDim &dim) {
    return dim.stride != 0 || dim.isBounded();
  });
}

namespace {

/// Merges neighbours that one stride serves.
SmallVector<ViewDim, 4> merged(ArrayRef<ViewDim> dims) {
  View view;
  view.dims.assign(dims.begin(), dims.end());
  return mergeDims(view).dims;
}

} // namespace

Access emit::makeAccess(const View &view, Domain domain, Extent extent) {
  Access access;
  access.offset = view.offset;
  SmallVector<ViewDim, 4> dims = merged(view.dims);
  if (extent == Extent::Row) {
    access.outer = std::move(dims);
    return access;
  }
  if (extent == Extent::Column) {
    access.inner = std::move(dims);
    return access;
  }
  // Take dimensions from the end until they make up the columns.
  int64_t left = domain.cols;
  SmallVector<ViewDim, 4> outer = dims, inner;
  while (left > 1 && !outer.empty()) {
    ViewDim last = outer.pop_back_val();
    if (left % last.size == 0) {
      inner.insert(inner.begin(), last);
      left /= last.size;
      continue;
    }
    bool splits =
        last.size % left == 0 &&
        (!last.isBounded() || (last.lo % left == 0 && last.hi % left == 0));
    if (!splits) {
      break;
    }
    inner.insert(inner.begin(), {left, last.stride, 0, left});
    outer.push_back(
        {last.size / left, last.stride * left, last.lo / left, last.hi / left});
    left = 1;
  }
  if (left > 1) {
    access.flat = true;
    access.inner = std::move(dims);
    return access;
  }
  access.outer = merged(outer);
  access.inner = merged(inner);
  return access;
}

int64_t emit::alignedElements(const Node &leaf, int64_t most) {
  int64_t elements = std::gcd(most, leaf.access.offset);
  for (const ViewDim &dim : leaf.access.outer) {
    elements = std::gcd(elements, dim.stride);
  }
  if (leaf.view.indirection) {
    elements = std::gcd(elements, leaf.view.indirection->rowStride);
  }
  return elements;
}
