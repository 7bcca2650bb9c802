//===- Convolution.cpp - Conv and ConvTranspose ---------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::ConvolutionKind;

namespace zerograph::frontend {

namespace {

/// The attributes that both operators share, one number per spatial dimension.
struct Window {
  Shape sizes, strides, dilations, low, high;
  int64_t groups = 1;
  std::string automatic;

  /// Elements from the first to the last that a window touches.
  int64_t reach(size_t i) const { return (sizes[i] - 1) * dilations[i] + 1; }
};

Shape numbersOf(Op &op, const char *name, size_t count, int64_t otherwise,
                int64_t least) {
  if (!op.hasAttribute(name)) {
    return Shape(count, otherwise);
  }
  std::vector<int64_t> given = op.intsAttribute(name);
  Shape numbers(given.begin(), given.end());
  if (numbers.size() != count) {
    fail(name, " has ", numbers.size(), " numbers, expected ", count);
  }
  for (int64_t number : numbers) {
    if (number < least || number > HostTensor::kMaxElements) {
      fail(name, " has the number ", number, ", expected at least ", least);
    }
  }
  return numbers;
}

Window windowOf(Op &op) {
  Shape x = op.shape(0), w = op.shape(1);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size()) {
    fail("the input ", shapeText(x), " and the weights ", shapeText(w),
         " need one rank, 3 to 5");
  }
  size_t places = x.size() - 2;
  Window window;
  window.sizes = Shape(w.begin() + 2, w.end());
  if (op.hasAttribute("kernel_shape") &&
      numbersOf(op, "kernel_shape", places, 1, 1) != window.sizes) {
    fail("kernel_shape differs from the weights ", shapeText(w));
  }
  window.strides = numbersOf(op, "strides", places, 1, 1);
  window.dilations = numbersOf(op, "dilations", places, 1, 1);
  Shape pads = numbersOf(op, "pads", 2 * places, 0, 0);
  window.low = Shape(pads.begin(), pads.begin() + places);
  window.high = Shape(pads.begin() + places, pads.end());
  window.groups = op.intAttribute("group", 1);
  if (window.groups < 1) {
    fail("group is ", window.groups, ", expected at least 1");
  }
  window.automatic = op.stringAttribute("auto_pad", "NOTSET");
  if (window.automatic != "NOTSET" && window.automatic != "VALID" &&
      window.automatic != "SAME_UPPER" && window.automatic != "SAME_LOWER") {
    fail("auto_pad is '", window.automatic,
         "', expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
  }
  if (window.automatic != "NOTSET") {
    window.low = window.high = Shape(places, 0);
  }
  return window;
}

/// Pads with `total` zeros in all; with SAME_UPPER the odd one goes to the end.
void share(Window &window, size_t i, int64_t total) {
  total = std::max<int64_t>(0, total);
  window.low[i] = (total + (window.automatic == "SAME_LOWER" ? 1 : 0)) / 2;
  window.high[i] = total - window.low[i];
}

Value convolve(Op &op, const Window &window, ConvolutionKind kind, Value lhs,
               Value rhs, const Shape &result) {
  Emitter &emit = op.emit;
  if (!Emitter::isFloat(lhs) ||
      Emitter::elementOf(lhs) != Emitter::elementOf(rhs)) {
    fail("input and weights must be floats of one type");
  }
  return emit.builder.create<nn::ConvolutionOp>(
      emit.location, emit.tensorType(result, Emitter::elementOf(lhs)), kind,
      lhs, rhs, window.strides, window.low, window.dilations, window.groups);
}

Value addBias(Op &op, Value y) {
  if (!op.hasInput(2)) {
    return y;
  }
  Shape shape(Emitter::rankOf(y) - 1, 1);
  shape[0] = Emitter::shapeOf(y)[1];
  if (op.shape(2) != Shape{shape[0]}) {
    fail("the bias has shape ", shapeText(op.shape(2)), ", expected ",
         shape[0]);
  }
  return op.emit.add(y, op.emit.reshape(op.value(2), shape));
}

void emitConv(Op &op) {
  Window window = windowOf(op);
  Shape x = op.shape(0), w = op.shape(1);
  if (x[1] % window.groups != 0 || w[1] != x[1] / window.groups ||
      w[0] % window.groups != 0) {
    fail("the weights ", shapeText(w), " do not fit the input ", shapeText(x),
         " in ", window.groups, " groups");
  }
  Shape result{x[0], w[0]};
  for (size_t i = 0; i < window.sizes.size(); ++i) {
    int64_t size = x[i + 2], stride = window.strides[i];
    if (window.automatic.rfind("SAME", 0) == 0) {
      int64_t windows = (size + stride - 1) / stride;
      share(window, i, (windows - 1) * stride + window.reach(i) - size);
    }
    int64_t room = size + window.low[i] + window.high[i] - window.reach(i);
    if (room < 0) {
      fail("a window of ", window.reach(i), " elements exceeds the ", size,
           " places of dimension ", i + 2, " and their zeros");
    }
    result.push_back(room / stride + 1);
  }
  op.set(0, addBias(op, convolve(op, window, ConvolutionKind::forward,
                                 op.value(0), op.value(1), result)));
}

/// The transpose of the convolution with these weights: what its gradient
/// computes.
void emitConvTranspose(Op &op) {
  Window window = windowOf(op);
  Shape x = op.shape(0), w = op.shape(1);
  if (x[1] % window.groups != 0 || w[0] != x[1]) {
    fail("the weights ", shapeText(w), " do not fit the input ", shapeText(x),
         " in ", window.groups, " groups");
  }
  size_t places = window.sizes.size();
  Shape more = numbersOf(op, "output_padding", places, 0, 0);
  bool given = op.hasAttribute("output_shape");
  Shape sizes = numbersOf(op, "output_shape", places, 0, 1);
  Shape result{x[0], w[1] * window.groups};
  for (size_t i = 0; i < places; ++i) {
    int64_t stride = window.strides[i];
    int64_t full = (x[i + 2] - 1) * stride + window.reach(i) + more[i];
    bool same = window.automatic.rfind("SAME", 0) == 0;
    if (given || same) {
      if (!given) {
        sizes[i] = x[i + 2] * stride;
      }
      share(window, i, full - sizes[i]);
    } else {
      sizes[i] = full - window.low[i] - window.high[i];
    }
    int64_t left = sizes[i] - (full - more[i] - window.low[i]);
    if (sizes[i] < 1 || left >= stride) {
      fail("dimension ", i + 2, " would have ", sizes[i], " places, of which ",
           left, " lie behind the last window of stride ", stride,
           "; fewer than the stride may");
    }
    result.push_back(sizes[i]);
  }
  op.set(0, addBias(op, convolve(op, window, ConvolutionKind::input,
                                 op.value(0), op.value(1), result)));
}

const OpDef kOps[] = {
    {"Conv", 1, emitConv},
    {"ConvTranspose", 1, emitConvTranspose},
};

} // namespace

llvm::ArrayRef<OpDef> convolutionOps() { return kOps; }

} // namespace zerograph::frontend
