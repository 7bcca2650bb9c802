//===- View.h - how a value reads a buffer through views ------------------===//
//
// Inside a kernel nothing is reshaped, transposed or padded in memory: a chain
// of view ops (reshape, broadcast, transpose, slice, pad, gather) from a block
// argument to a use is composed into one formula for the address of each
// element. Kernel forming asks whether that is possible, the emitters use the
// formula.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_PASSES_KERNELS_VIEW_H
#define ZEROGRAPH_PASSES_KERNELS_VIEW_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <memory>

namespace mlir::zg {

/// One dimension of the iteration space of a view.
struct ViewDim {
  int64_t size = 1;
  /// Elements of the base from one index to the next; 0 repeats.
  int64_t stride = 0;
  /// Indices outside [lo, hi) have the pad value and read nothing.
  int64_t lo = 0;
  int64_t hi = 1;

  bool isBounded() const { return lo > 0 || hi < size; }
};

struct View;

/// The row that a gather chooses: `index` runs over the same dimensions as the
/// view it belongs to, and `clamp(index, 0, rows - 1) * rowStride` is added to
/// the element's place.
struct Indirection {
  std::shared_ptr<const View> index;
  int64_t rows = 1;
  int64_t rowStride = 0;
};

/// Element `i` of the value is element
/// `offset + sum(i[d] * dims[d].stride) + indirection` of `base`, or `padValue`
/// where some `i[d]` is outside its bounds.
///
/// The base is the value where the chain of views begins: a block argument, an
/// `nn.constant` or any other op's result. If it is an `nn.iota`, the formula
/// gives the element's value itself rather than its place.
struct View {
  Value base;
  int64_t offset = 0;
  SmallVector<ViewDim, 4> dims;
  /// Set if and only if a dimension is bounded.
  TypedAttr padValue;
  std::optional<Indirection> indirection;

  int64_t numElements() const;
  SmallVector<int64_t, 4> shape() const;
};

/// The view of a value itself: its own shape, row-major.
View identityView(Value base);

/// The view of `op`'s result, where `operand` views `op`'s operand 0. Fails
/// where strides cannot say it: a reshape that numpy could not do without a
/// copy, a pad of a pad with another value, a gather from gathered rows.
FailureOr<View> applyViewOp(const View &operand, Operation *op);

/// Composes the chain of view ops that ends at `value`. Emits no diagnostic.
FailureOr<View> composeView(Value value);

/// True if `value` can be read through the chain of views that ends at it.
/// Kernel forming keeps a view op apart where this is false.
bool isComposable(Value value);

/// The same elements in row-major order under another shape.
FailureOr<View> reshapeView(const View &view, ArrayRef<int64_t> shape);

/// The same elements with every pair of neighbouring dimensions made one where
/// one stride serves both; dimensions of size 1 are dropped.
View mergeDims(const View &view);

/// True if the view has every element of its base, in the order in which they
/// lie there: a copy through it would be the same bytes.
bool isWhole(const View &view);

} // namespace mlir::zg

#endif // ZEROGRAPH_PASSES_KERNELS_VIEW_H
