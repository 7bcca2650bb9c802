//===- HeadViews.cpp - how heads lie in what they are views of ------------===//

#include "passes/differentiate/HeadViews.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// The dimensions of a source, of more than one element, that make up each
/// dimension of a value, outermost first.
using Parts = SmallVector<SmallVector<int64_t>>;

/// A value by reshapes and transpositions of a source.
struct Origin {
  Value source;
  Parts parts;
};

Parts ownParts(ArrayRef<int64_t> shape) {
  Parts parts;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    parts.emplace_back();
    if (size != 1) {
      parts.back().push_back(int64_t(dim));
    }
  }
  return parts;
}

/// Returns the parts of a reshape to `shape`; nothing where it cuts one.
std::optional<Parts> reshaped(const Parts &parts, ArrayRef<int64_t> sizes,
                              ArrayRef<int64_t> shape) {
  SmallVector<int64_t> all;
  for (ArrayRef<int64_t> of : parts) {
    llvm::append_range(all, of);
  }
  Parts result;
  size_t next = 0;
  for (int64_t size : shape) {
    SmallVector<int64_t> &of = result.emplace_back();
    int64_t left = size;
    while (left > 1 && next < all.size() && left % sizes[all[next]] == 0) {
      left /= sizes[all[next]];
      of.push_back(all[next++]);
    }
    if (left > 1) {
      return std::nullopt;
    }
  }
  return result;
}

/// Follows `views` from the source up to the value; nothing where one of them
/// cuts a dimension of the source.
std::optional<Parts> partsThrough(Value source, ArrayRef<Operation *> views) {
  Parts parts = ownParts(shapeOf(source));
  for (Operation *view : views) {
    if (auto transpose = dyn_cast<TransposeOp>(view)) {
      Parts moved;
      for (int64_t dim : transpose.getPermutation()) {
        moved.push_back(parts[dim]);
      }
      parts = std::move(moved);
      continue;
    }
    std::optional<Parts> next =
        reshaped(parts, shapeOf(source), shapeOf(view->getResult(0)));
    if (!next) {
      return std::nullopt;
    }
    parts = std::move(*next);
  }
  return parts;
}

/// Returns the source that is furthest from a value.
Origin originOf(Value value) {
  SmallVector<Operation *> views; // from the source to the value
  Value source = value;
  while (isa_and_nonnull<ReshapeOp, TransposeOp>(source.getDefiningOp())) {
    views.insert(views.begin(), source.getDefiningOp());
    source = source.getDefiningOp()->getOperand(0);
  }
  ArrayRef<Operation *> left = views;
  while (true) {
    if (std::optional<Parts> parts = partsThrough(source, left)) {
      return {source, *parts};
    }
    source = left.front()->getResult(0);
    left = left.drop_front();
  }
}

/// Builds a value from the parts of its source.
Value rebuilt(NNBuilder &b, Value source, const Parts &parts) {
  ArrayRef<int64_t> sizes = shapeOf(source);
  SmallVector<int64_t> order, shape;
  for (ArrayRef<int64_t> of : parts) {
    int64_t size = 1;
    for (int64_t dim : of) {
      size *= sizes[dim];
    }
    shape.push_back(size);
    llvm::append_range(order, of);
  }
  SmallVector<int64_t> permutation; // those of one element first
  for (int64_t dim = 0; dim < int64_t(sizes.size()); ++dim) {
    if (!llvm::is_contained(order, dim)) {
      permutation.push_back(dim);
    }
  }
  llvm::append_range(permutation, order);
  return b.reshape(b.transpose(source, permutation), shape);
}

} // namespace

Value mlir::zg::nn::straightened(NNBuilder &b, Value heads) {
  Origin origin = originOf(heads);
  return rebuilt(b, origin.source, origin.parts);
}

Value mlir::zg::nn::withoutRepeatedHeads(NNBuilder &b, Value heads) {
  Origin origin = originOf(heads);
  auto broadcast = origin.source.getDefiningOp<BroadcastOp>();
  if (!broadcast) {
    return heads;
  }
  ArrayRef<int64_t> from = shapeOf(broadcast.getOperand());
  SmallVector<int64_t> repeated;
  for (auto [dim, size] : llvm::enumerate(shapeOf(broadcast))) {
    if (from[dim] != size) {
      repeated.push_back(int64_t(dim));
    }
  }
  SmallVector<int64_t> &ofHeads = origin.parts[2];
  if (repeated.size() != 1 || ofHeads.empty() ||
      ofHeads.back() != repeated[0]) {
    return heads;
  }
  ofHeads.pop_back();
  return rebuilt(b, broadcast.getOperand(), origin.parts);
}
