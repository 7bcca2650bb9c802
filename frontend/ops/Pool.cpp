//===- Pool.cpp - windows of images reduced to one element ----------------===//
//
// A window is an interval along each axis. So nn.pool can take its sum or its
// maximum along one axis after the other.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include "frontend/ops/Windows.h"

#include <algorithm>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::PoolOp;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// Most elements of a window along one axis: each becomes a slice.
constexpr int64_t kMaxWindow = 256;

/// Pools the windows of one axis.
PoolOp pool(Emitter &emit, ReduceKind kind, Value x, int64_t axis,
            const Window &window) {
  if (window.size > kMaxWindow) {
    fail("a window of ", window.size, " elements is not supported; up to ",
         kMaxWindow, " are");
  }
  Shape shape = Emitter::shapeOf(x);
  shape[axis] = window.count;
  mlir::Type result = emit.tensorType(shape, Emitter::elementOf(x));
  mlir::Type place;
  if (kind == ReduceKind::max) {
    unsigned width = (window.size - 1) * window.dilation < 128 ? 8 : 32;
    place = emit.tensorType(shape, emit.builder.getIntegerType(width));
  }
  auto pooled = emit.builder.create<PoolOp>(emit.location, result, place, kind,
                                            x, axis, window.size, window.stride,
                                            window.dilation, window.low);
  shape[axis] = pooled.getPaddedSize();
  elementCount(shape); // refuses what is too large
  return pooled;
}

/// `numbers` holds one number per element of x; takes those at the maxima.
Value atMaxima(Emitter &emit, Value numbers, PoolOp pooled) {
  int64_t axis = pooled.getDim();
  int64_t count = Emitter::shapeOf(pooled.getResult())[axis];
  Shape shape = Emitter::shapeOf(numbers);
  std::vector<int64_t> low(shape.size(), 0);
  low[axis] = pooled.getLow();
  shape[axis] = pooled.getPaddedSize();
  numbers = emit.pad(numbers, low, shape, 0);
  Value result;
  for (int64_t t = 0; t < int64_t(pooled.getWindow()); ++t) {
    int64_t place = t * pooled.getDilation();
    Value part =
        emit.sliceAxis(numbers, axis, place, count, pooled.getStride());
    result = result ? emit.select(emit.compare(CompareKind::eq,
                                               pooled.getPlace(), place),
                                  part, result)
                    : part;
  }
  return result;
}

/// Each element's place in the flattened `shape`; with `columns` in
/// column-major order of the spatial axes.
Value places(Emitter &emit, const Shape &shape, bool columns) {
  mlir::Type i64 = emit.builder.getI64Type();
  Shape order = shape;
  if (columns) {
    std::reverse(order.begin() + 2, order.end());
  }
  Value place = emit.reshape(emit.iota(0, {elementCount(shape)}, i64), order);
  if (!columns) {
    return place;
  }
  std::vector<int64_t> permutation(shape.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    permutation[i] = i < 2 ? i : shape.size() + 1 - i;
  }
  return emit.transpose(place, permutation);
}

void emitMaxPool(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  std::vector<Window> windows = windowsOf(op);
  Value place;
  if (op.wantsOutput(1)) {
    place = places(emit, op.shape(0), op.intAttribute("storage_order", 0) != 0);
  }
  // The last axis first: of equal elements the first in row-major order wins.
  for (size_t i = windows.size(); i-- > 0;) {
    if (windows[i].isIdentity()) {
      continue;
    }
    auto pooled = pool(emit, ReduceKind::max, x, 2 + i, windows[i]);
    if (place) {
      place = atMaxima(emit, place, pooled);
    }
    x = pooled.getResult();
  }
  op.set(0, x);
  if (place) {
    op.set(1, place);
  }
}

/// Sums over the windows.
Value sumOver(Emitter &emit, Value x, const std::vector<Window> &windows) {
  for (size_t i = windows.size(); i-- > 0;) {
    if (!windows[i].isIdentity()) {
      x = pool(emit, ReduceKind::sum, x, 2 + i, windows[i]).getResult();
    }
  }
  return x;
}

void emitAveragePool(Op &op) {
  Emitter &emit = op.emit;
  std::vector<Window> windows = windowsOf(op);
  bool padded = op.intAttribute("count_include_pad", 0) != 0;
  Value x = op.value(0);
  mlir::Type element = Emitter::elementOf(x);
  Value y = sumOver(emit, x, windows);
  // An axis whose windows all hold as many elements is divided by that number
  // at the end, any other right away.
  int64_t count = 1;
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<int64_t> counts = windows[i].counts(padded);
    if (std::count(counts.begin(), counts.end(), counts[0]) ==
        static_cast<int64_t>(counts.size())) {
      count *= counts[0];
      continue;
    }
    HostTensor host(op.type(0), {static_cast<int64_t>(counts.size())});
    for (size_t k = 0; k < counts.size(); ++k) {
      host.setInt(k, counts[k]);
    }
    Shape shape(windows.size() - i, 1);
    shape[0] = counts.size();
    y = emit.div(y, emit.reshape(emit.constant(host), shape));
  }
  op.set(0, count == 1 ? y : emit.div(y, emit.splat(count, {}, element)));
}

/// |x|^p, and its root.
Value power(Emitter &emit, Value x, int64_t p) {
  return p == 2 ? emit.mul(x, x)
                : emit.binary(BinaryKind::pow, emit.unary(UnaryKind::abs, x),
                              static_cast<double>(p));
}

Value root(Emitter &emit, Value x, int64_t p) {
  return p == 1   ? x
         : p == 2 ? emit.unary(UnaryKind::sqrt, x)
                  : emit.binary(BinaryKind::pow, x, 1.0 / p);
}

int64_t normOf(Op &op) {
  int64_t p = op.intAttribute("p", 2);
  if (p < 1) {
    fail("p is ", p);
  }
  return p;
}

void emitLpPool(Op &op) {
  int64_t p = normOf(op);
  Value x = power(op.emit, op.value(0), p);
  op.set(0, root(op.emit, sumOver(op.emit, x, windowsOf(op)), p));
}

//===----------------------------------------------------------------------===//
// Pools of whole images
//===----------------------------------------------------------------------===//

std::vector<int64_t> spatialAxes(Op &op) {
  std::vector<int64_t> axes;
  for (size_t i = 2; i < op.shape(0).size(); ++i) {
    axes.push_back(i);
  }
  if (axes.empty()) {
    fail("needs an input of rank 3 or more, not ", shapeText(op.shape(0)));
  }
  return axes;
}

void emitGlobalAveragePool(Op &op) {
  std::vector<int64_t> axes = spatialAxes(op);
  Shape shape = op.shape(0);
  int64_t count = elementCount(Shape(shape.begin() + 2, shape.end()));
  op.set(0,
         op.emit.mul(op.emit.reduce(ReduceKind::sum, op.value(0), axes, true),
                     1.0 / count));
}

void emitGlobalMaxPool(Op &op) {
  op.set(0, op.emit.reduce(ReduceKind::max, op.value(0), spatialAxes(op), true,
                           /*first=*/true));
}

void emitGlobalLpPool(Op &op) {
  int64_t p = normOf(op);
  Value x = power(op.emit, op.value(0), p);
  op.set(0, root(op.emit,
                 op.emit.reduce(ReduceKind::sum, x, spatialAxes(op), true), p));
}

const OpDef kOps[] = {
    {"AveragePool", 7, emitAveragePool},
    {"GlobalAveragePool", 1, emitGlobalAveragePool},
    {"GlobalLpPool", 2, emitGlobalLpPool},
    {"GlobalMaxPool", 1, emitGlobalMaxPool},
    {"LpPool", 2, emitLpPool},
    {"MaxPool", 1, emitMaxPool},
};

} // namespace

llvm::ArrayRef<OpDef> poolOps() { return kOps; }

} // namespace zerograph::frontend
