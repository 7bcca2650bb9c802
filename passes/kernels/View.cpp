//===- View.cpp - how a value reads a buffer through views ----------------===//

#include "passes/kernels/View.h"

#include "passes/ir/nn/NNDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;

int64_t View::numElements() const {
  int64_t n = 1;
  for (const ViewDim &dim : dims) {
    n *= dim.size;
  }
  return n;
}

SmallVector<int64_t, 4> View::shape() const {
  return llvm::map_to_vector<4>(dims, [](const ViewDim &d) { return d.size; });
}

namespace {

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Returns the type of the tensor as it lies in memory: a kernel's operand has
/// it, and not the argument that stands for it within.
RankedTensorType typeInMemory(Value base) {
  auto argument = dyn_cast<BlockArgument>(base);
  auto kernel = argument ? dyn_cast_if_present<nn::KernelOp>(
                               argument.getOwner()->getParentOp())
                         : nn::KernelOp();
  return cast<RankedTensorType>(
      kernel ? kernel.getOperand(argument.getArgNumber()).getType()
             : base.getType());
}

SmallVector<ViewDim, 4> rowMajorDims(RankedTensorType type) {
  ArrayRef<int64_t> shape = type.getShape();
  SmallVector<ViewDim, 4> dims(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    dims[d] = {shape[d], stride, 0, shape[d]};
    stride *= d + 1 == shape.size() ? nn::rowStrideOf(type) : shape[d];
  }
  return dims;
}

/// Applies `change` to the view and to the index of its indirection, which run
/// over the same dimensions.
template <typename Change>
FailureOr<View> onAllDims(const View &view, Change change) {
  View result = view;
  if (failed(change(result))) {
    return failure();
  }
  if (view.indirection) {
    FailureOr<View> index = onAllDims(*view.indirection->index, change);
    if (failed(index)) {
      return failure();
    }
    result.indirection->index = std::make_shared<View>(std::move(*index));
  }
  return result;
}

bool isBounded(const View &view) {
  return llvm::any_of(view.dims,
                      [](const ViewDim &d) { return d.isBounded(); });
}

/// One dimension for `outer` and `inner`, if one stride serves both.
std::optional<ViewDim> mergePair(const ViewDim &outer, const ViewDim &inner) {
  if (inner.isBounded() || outer.stride != inner.stride * inner.size) {
    return std::nullopt;
  }
  return ViewDim{outer.size * inner.size, inner.stride, outer.lo * inner.size,
                 outer.hi * inner.size};
}

/// Splits off the last `inner` elements of a dimension.
std::optional<std::pair<ViewDim, ViewDim>> splitDim(const ViewDim &dim,
                                                    int64_t inner) {
  if (dim.size % inner != 0 ||
      (dim.isBounded() && (dim.lo % inner != 0 || dim.hi % inner != 0))) {
    return std::nullopt;
  }
  return std::make_pair(ViewDim{dim.size / inner, dim.stride * inner,
                                dim.lo / inner, dim.hi / inner},
                        ViewDim{inner, dim.stride, 0, inner});
}

/// Fits merged dims to a shape of the same number of elements, from the last
/// dimension to the first.
LogicalResult splitTo(SmallVector<ViewDim, 4> dims, ArrayRef<int64_t> shape,
                      SmallVector<ViewDim, 4> &result) {
  result.assign(shape.size(), ViewDim());
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) {
      continue; // The default: one element, not bounded.
    }
    if (dims.empty()) {
      return failure();
    }
    ViewDim last = dims.pop_back_val();
    if (last.size != shape[d]) {
      auto parts = splitDim(last, shape[d]);
      if (!parts) {
        return failure();
      }
      dims.push_back(parts->first);
      last = parts->second;
    }
    result[d] = last;
  }
  return success();
}

/// Merges neighbours where possible and drops unbounded dimensions of size 1.
void mergeInPlace(SmallVector<ViewDim, 4> &dims) {
  SmallVector<ViewDim, 4> merged;
  for (const ViewDim &dim : dims) {
    if (dim.size == 1 && !dim.isBounded()) {
      continue;
    }
    if (!merged.empty()) {
      if (std::optional<ViewDim> pair = mergePair(merged.back(), dim)) {
        merged.back() = *pair;
        continue;
      }
    }
    merged.push_back(dim);
  }
  dims = std::move(merged);
}

LogicalResult reshapeDims(View &view, ArrayRef<int64_t> shape) {
  if (llvm::none_of(view.dims,
                    [](const ViewDim &dim) { return dim.lo >= dim.hi; })) {
    SmallVector<ViewDim, 4> dims = view.dims;
    mergeInPlace(dims);
    return splitTo(dims, shape, view.dims);
  }
  // All is padding: any dimension may say so, and no stride matters.
  if (shape.empty()) {
    return failure();
  }
  view.dims.clear();
  for (int64_t size : shape) {
    view.dims.push_back({size, 0, 0, size});
  }
  view.dims.front().hi = 0;
  return success();
}

LogicalResult broadcastDims(View &view, ArrayRef<int64_t> shape) {
  for (auto [dim, size] : llvm::zip_equal(view.dims, shape)) {
    if (dim.size != size) {
      dim = {size, 0, 0, dim.isBounded() ? 0 : size};
    }
  }
  return success();
}

/// ceil(a / b) for b > 0.
int64_t ceilDiv(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

LogicalResult sliceDims(View &view, nn::SliceOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getResult());
  for (auto [dim, size, start, step] :
       llvm::zip_equal(view.dims, shape, op.getStarts(), op.getSteps())) {
    ViewDim result{size, dim.stride * step, 0, size};
    view.offset += dim.stride * start;
    if (dim.isBounded()) {
      // lo <= start + i * step < hi
      int64_t lo = step > 0 ? ceilDiv(dim.lo - start, step)
                            : ceilDiv(start - dim.hi + 1, -step);
      int64_t hi = step > 0 ? ceilDiv(dim.hi - start, step)
                            : ceilDiv(start - dim.lo + 1, -step);
      result.lo = std::clamp<int64_t>(lo, 0, size);
      result.hi = std::clamp<int64_t>(hi, result.lo, size);
    }
    dim = result;
  }
  return success();
}

void padDims(View &view, nn::PadOp op) {
  for (auto [dim, size, low] :
       llvm::zip_equal(view.dims, shapeOf(op.getResult()), op.getLow())) {
    view.offset -= dim.stride * low;
    dim = {size, dim.stride, dim.lo + low, dim.hi + low};
  }
}

FailureOr<View> padView(const View &operand, nn::PadOp op) {
  if (isBounded(operand) && operand.padValue != op.getValue()) {
    return failure();
  }
  View result = operand;
  padDims(result, op);
  result.padValue = op.getValue();
  if (result.indirection) {
    // The index is bounded alike: nothing is looked up outside. What it has
    // there, row 0, is never used.
    View index = *result.indirection->index;
    auto type = cast<RankedTensorType>(index.base.getType()).getElementType();
    auto zero = cast<TypedAttr>(IntegerAttr::get(type, 0));
    if (isBounded(index) && index.padValue != zero) {
      return failure();
    }
    padDims(index, op);
    index.padValue = zero;
    result.indirection->index = std::make_shared<View>(std::move(index));
  }
  return result;
}

FailureOr<View> gatherView(const View &table, nn::GatherOp op) {
  // Chosen rows may be neither bounded nor chosen already.
  if (table.indirection || table.dims.front().isBounded()) {
    return failure();
  }
  FailureOr<View> index = composeView(op.getIndices());
  if (failed(index)) {
    return failure();
  }
  View result = table;
  ViewDim row = table.dims.front();
  result.dims.assign(index->dims.size(), ViewDim());
  for (auto [dim, indexDim] : llvm::zip_equal(result.dims, index->dims)) {
    dim = {indexDim.size, 0, 0, indexDim.size};
  }
  for (const ViewDim &dim : ArrayRef(table.dims).drop_front()) {
    result.dims.push_back(dim);
    index->dims.push_back({dim.size, 0, 0, dim.size});
  }
  result.indirection = Indirection{std::make_shared<View>(std::move(*index)),
                                   row.size, row.stride};
  return result;
}

} // namespace

View zg::identityView(Value base) {
  View view;
  view.base = base;
  view.dims = rowMajorDims(typeInMemory(base));
  Operation *op = base.getDefiningOp();
  if (auto iota = dyn_cast_if_present<nn::IotaOp>(op)) {
    for (auto [d, dim] : llvm::enumerate(view.dims)) {
      dim.stride = d == iota.getDim() ? 1 : 0;
    }
  } else if (auto constant = dyn_cast_if_present<nn::ConstantOp>(op)) {
    if (constant.getValue().isSplat()) {
      for (ViewDim &dim : view.dims) {
        dim.stride = 0;
      }
    }
  }
  return view;
}

FailureOr<View> zg::applyViewOp(const View &operand, Operation *op) {
  FailureOr<View> result =
      llvm::TypeSwitch<Operation *, FailureOr<View>>(op)
          .Case([&](nn::ReshapeOp reshape) {
            return reshapeView(operand, shapeOf(reshape.getResult()));
          })
          .Case([&](nn::BroadcastOp broadcast) {
            return onAllDims(operand, [&](View &view) {
              return broadcastDims(view, shapeOf(broadcast.getResult()));
            });
          })
          .Case([&](nn::TransposeOp transpose) {
            return onAllDims(operand, [&](View &view) {
              SmallVector<ViewDim, 4> dims;
              for (int64_t d : transpose.getPermutation()) {
                dims.push_back(view.dims[d]);
              }
              view.dims = std::move(dims);
              return success();
            });
          })
          .Case([&](nn::SliceOp slice) {
            return onAllDims(
                operand, [&](View &view) { return sliceDims(view, slice); });
          })
          .Case([&](nn::PadOp pad) { return padView(operand, pad); })
          .Case(
              [&](nn::GatherOp gather) { return gatherView(operand, gather); })
          .Default([](Operation *) { return failure(); });
  if (succeeded(result) && !isBounded(*result)) {
    result->padValue = {};
  }
  return result;
}

FailureOr<View> zg::composeView(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !nn::isView(op)) {
    return identityView(value);
  }
  FailureOr<View> operand = composeView(op->getOperand(0));
  return failed(operand) ? operand : applyViewOp(*operand, op);
}

bool zg::isComposable(Value value) { return succeeded(composeView(value)); }

FailureOr<View> zg::reshapeView(const View &view, ArrayRef<int64_t> shape) {
  return onAllDims(view, [&](View &part) { return reshapeDims(part, shape); });
}

View zg::mergeDims(const View &view) {
  View result = view;
  if (!view.indirection) {
    mergeInPlace(result.dims);
    return result;
  }
  // Dimensions merge where they do in the view and in its index alike.
  result.dims.clear();
  View index = *view.indirection->index;
  SmallVector<ViewDim, 4> indexDims;
  for (auto [dim, indexDim] : llvm::zip_equal(view.dims, index.dims)) {
    if (dim.size == 1 && !dim.isBounded() && !indexDim.isBounded()) {
      continue;
    }
    if (!result.dims.empty()) {
      auto pair = mergePair(result.dims.back(), dim);
      auto indexPair = mergePair(indexDims.back(), indexDim);
      if (pair && indexPair) {
        result.dims.back() = *pair;
        indexDims.back() = *indexPair;
        continue;
      }
    }
    result.dims.push_back(dim);
    indexDims.push_back(indexDim);
  }
  index.dims = std::move(indexDims);
  result.indirection->index = std::make_shared<View>(std::move(index));
  return result;
}

bool zg::isWhole(const View &view) {
  View merged = mergeDims(view);
  if (merged.indirection ||
      merged.numElements() != identityView(view.base).numElements()) {
    return false;
  }
  // As many elements, one after the other: the offset can only be 0. No
  // dimension is left of a single element.
  return merged.dims.empty() ||
         (merged.dims.size() == 1 && merged.dims.front().stride == 1 &&
          !merged.dims.front().isBounded());
}
