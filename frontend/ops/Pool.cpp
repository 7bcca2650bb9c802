//===- Pool.cpp - windows of images reduced to one element ----------------===//
//
// A window is an interval along each axis. So nn.pool can take its sum or its
// maximum along one axis after the other.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::PoolOp;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// The windows along one axis.
struct Window {
  int64_t input, size, stride, dilation;
  int64_t low, high; ///< the padding before and after
  int64_t count;     ///< how many windows there are

  /// Elements from the first to the last that a window touches.
  int64_t extent() const { return (size - 1) * dilation + 1; }
  /// Returns whether each window is the element of its number.
  bool isIdentity() const {
    return size == 1 && stride == 1 && low == 0 && count == input;
  }
  /// Returns whether all windows have all their elements within the input, or,
  /// if `padded`, within the input and its padding.
  bool areFull(bool padded) const;
  /// Returns the number of elements that each window has there.
  std::vector<int64_t> counts(bool padded) const;

private:
  int64_t begin(bool padded) const { return padded ? -low : 0; }
  int64_t end(bool padded) const { return input + (padded ? high : 0); }
};

/// Sizes are bounded so that no product of them overflows.
constexpr int64_t kMaxSize = int64_t(1) << 30;

/// An attribute with `count` entries of at least `least`.
std::vector<int64_t> entries(Op &op, const char *name, size_t count,
                             int64_t least) {
  std::vector<int64_t> values = op.intsAttribute(name);
  if (values.empty()) {
    values.assign(count, least);
  }
  if (values.size() != count) {
    fail(name, " has ", values.size(), " entries, but needs ", count);
  }
  for (int64_t value : values) {
    if (value < least || value > kMaxSize) {
      fail(name, " has the entry ", value);
    }
  }
  return values;
}

std::string autoPadOf(Op &op) {
  std::string autoPad = op.stringAttribute("auto_pad", "NOTSET");
  if (autoPad != "SAME_UPPER" && autoPad != "SAME_LOWER" &&
      autoPad != "NOTSET" && autoPad != "VALID") {
    fail("auto_pad='", autoPad,
         "' is not known; NOTSET, VALID, SAME_UPPER and SAME_LOWER are");
  }
  return autoPad;
}

/// Pads so that there is a window for each element, or for each stride. The odd
/// pad goes after if `upper`, else in front.
void padToSame(Window &w, bool upper) {
  w.count = (w.input + w.stride - 1) / w.stride;
  int64_t total =
      std::max<int64_t>((w.count - 1) * w.stride + w.extent() - w.input, 0);
  w.low = upper ? total / 2 : (total + 1) / 2;
  w.high = total - w.low;
}

/// Counts the windows that fit; if `up`, one may end after the padding, also
/// where it is the only one.
void countWindows(Window &w, int64_t axis, bool up) {
  int64_t padded = w.input + w.low + w.high, room = padded - w.extent();
  if (up && room < 0 && room > -w.stride) {
    w.count = 1;
    w.size = (padded + w.dilation - 1) / w.dilation; // others see nothing
    return;
  }
  if (room < 0) {
    fail("a window of ", w.extent(), " elements does not fit the ", w.input,
         " elements of axis ", axis, " and its padding");
  }
  w.count = (room + (up ? w.stride - 1 : 0)) / w.stride + 1;
  // No window begins after the input.
  if (up && (w.count - 1) * w.stride >= w.input + w.low) {
    --w.count;
  }
}

bool Window::areFull(bool padded) const {
  int64_t last = (count - 1) * stride - low + extent();
  return -low >= begin(padded) && last <= end(padded);
}

std::vector<int64_t> Window::counts(bool padded) const {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < count; ++i) {
    int64_t start = i * stride - low;
    // Returns how many elements of the window lie before a place.
    auto before = [&](int64_t place) {
      int64_t taps = (place - start + dilation - 1) / dilation;
      return place <= start ? 0 : std::min(taps, size);
    };
    int64_t inside = before(end(padded)) - before(begin(padded));
    result.push_back(std::max<int64_t>(inside, 1));
  }
  return result;
}

/// Returns the windows along each axis of [samples, channels, axes...], by the
/// attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode.
std::vector<Window> windowsOf(Op &op) {
  Shape shape = op.shape(0);
  if (shape.size() < 3) {
    fail("needs an input of shape [samples, channels, axes...], not ",
         shapeText(shape));
  }
  size_t rank = shape.size() - 2;
  if (!op.hasAttribute("kernel_shape")) {
    fail("attribute 'kernel_shape' is missing");
  }
  std::vector<int64_t> sizes = entries(op, "kernel_shape", rank, 1);
  std::vector<int64_t> strides = entries(op, "strides", rank, 1);
  std::vector<int64_t> dilations = entries(op, "dilations", rank, 1);
  std::vector<int64_t> pads = entries(op, "pads", 2 * rank, 0);
  std::string autoPad = autoPadOf(op);
  bool up = op.intAttribute("ceil_mode", 0) != 0, given = autoPad == "NOTSET";
  std::vector<Window> windows;
  for (size_t i = 0; i < rank; ++i) {
    Window w{shape[2 + i],
             sizes[i],
             strides[i],
             dilations[i],
             given ? pads[i] : 0,
             given ? pads[i + rank] : 0,
             0};
    if (w.extent() > kMaxSize) {
      fail("a window that spans ", w.extent(),
           " elements is not supported; up to ", kMaxSize, " are");
    }
    if (autoPad == "SAME_UPPER" || autoPad == "SAME_LOWER") {
      padToSame(w, autoPad == "SAME_UPPER");
    } else {
      countWindows(w, 2 + i, up);
    }
    windows.push_back(w);
  }
  return windows;
}

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
    if (windows[i].areFull(padded)) {
      count *= windows[i].size;
      continue;
    }
    if (windows[i].count > HostTensor::kMaxElements) {
      fail("has ", windows[i].count,
           " windows on an axis, of which some reach "
           "beyond the input; there can be at most ",
           HostTensor::kMaxElements);
    }
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
