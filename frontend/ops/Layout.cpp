//===- Layout.cpp - parts, joins and borders of tensors -------------------===//

#include "frontend/ops/Ops.h"

#include "frontend/emit/ConstantGather.h"

#include <algorithm>

using mlir::Value;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

struct Window {
  std::vector<int64_t> starts, steps;
  Shape shape;
};

Window windowOf(Op &op) {
  Shape from = op.shape(0);
  int64_t rank = from.size();
  Window window{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1),
                from};
  std::vector<int64_t> starts = op.intsInput(1, "starts");
  std::vector<int64_t> ends = op.intsInput(2, "ends");
  std::vector<int64_t> axes, steps(starts.size(), 1);
  for (size_t i = 0; i < starts.size(); ++i) {
    axes.push_back(i);
  }
  if (op.hasIntsInput(3, "axes")) {
    axes = op.intsInput(3, "axes");
  }
  if (op.hasInput(4)) {
    steps = op.constantInts(4, "steps");
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    fail("starts, ends, axes and steps differ in length");
  }
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t axis = normalizeAxis(axes[i], rank), size = from[axis];
    int64_t step = steps[i];
    if (step == 0 || step == INT64_MIN) {
      fail("a step is ", step);
    }
    // ONNX clamps to [0, size] going up, to [-1, size - 1] going down.
    auto clampTo = [&](int64_t position, int64_t low, int64_t high) {
      return std::clamp(position < 0 ? position + size : position, low, high);
    };
    int64_t start, count;
    if (step > 0) {
      start = clampTo(starts[i], 0, size);
      int64_t span = clampTo(ends[i], 0, size) - start;
      count = span <= 0 ? 0 : (span - 1) / step + 1;
    } else {
      start = clampTo(starts[i], -1, size - 1);
      int64_t span = start - clampTo(ends[i], -1, size - 1);
      count = span <= 0 ? 0 : (span - 1) / -step + 1;
    }
    window.starts[axis] = start;
    window.steps[axis] = step;
    window.shape[axis] = count;
  }
  return window;
}

void emitSlice(Op &op) {
  Window window = windowOf(op);
  if (elementCount(window.shape) == 0) {
    op.set(0, HostTensor(op.type(0), window.shape));
    return;
  }
  op.set(0,
         op.emit.slice(op.value(0), window.starts, window.steps, window.shape));
}

void foldSlice(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  Window window = windowOf(op);
  std::vector<int64_t> strides = rowMajor(x.shape());
  int64_t base = 0;
  for (size_t i = 0; i < strides.size(); ++i) {
    base += window.starts[i] * strides[i];
    strides[i] *= window.steps[i];
  }
  op.set(0, remap(x, window.shape, base, strides));
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

std::vector<int64_t> splitSizes(Op &op, int64_t size) {
  int64_t outputs = op.proto().output_size();
  std::vector<int64_t> sizes;
  if (op.hasIntsInput(1, "split")) {
    sizes = op.intsInput(1, "split");
  } else {
    int64_t parts = op.intAttribute("num_outputs", outputs);
    if (parts != outputs || parts < 1) {
      fail("num_outputs is ", parts, ", but there are ", outputs, " outputs");
    }
    int64_t each = (size + parts - 1) / parts;
    if (op.opset() < 18 && size % parts != 0) {
      fail("cannot split ", size, " into ", parts, " equal parts");
    }
    for (int64_t at = 0; at < parts; ++at) {
      sizes.push_back(std::clamp<int64_t>(size - at * each, 0, each));
    }
  }
  int64_t sum = 0;
  for (int64_t part : sizes) {
    if (part < 0 || part > size) {
      fail("a part has size ", part);
    }
    sum += part;
  }
  if (static_cast<int64_t>(sizes.size()) != outputs || sum != size) {
    fail("the parts do not add up to the ", size, " elements along the axis");
  }
  return sizes;
}

void emitSplit(Op &op) {
  Value x = op.value(0);
  int64_t axis = normalizeAxis(op.intAttribute("axis", 0), Emitter::rankOf(x));
  int64_t start = 0, output = 0;
  for (int64_t size : splitSizes(op, Emitter::shapeOf(x)[axis])) {
    if (op.wantsOutput(output)) {
      if (size == 0) {
        Shape shape = Emitter::shapeOf(x);
        shape[axis] = 0;
        op.set(output, HostTensor(op.type(0), shape));
      } else {
        op.set(output, op.emit.sliceAxis(x, axis, start, size));
      }
    }
    ++output;
    start += size;
  }
}

void foldSplit(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  int64_t axis = normalizeAxis(op.intAttribute("axis", 0), x.rank());
  std::vector<int64_t> strides = rowMajor(x.shape());
  int64_t start = 0, output = 0;
  for (int64_t size : splitSizes(op, x.shape()[axis])) {
    Shape shape = x.shape();
    shape[axis] = size;
    op.set(output++, remap(x, shape, start * strides[axis], strides));
    start += size;
  }
}

//===----------------------------------------------------------------------===//
// Concat
//===----------------------------------------------------------------------===//

int64_t concatAxis(Op &op) {
  return normalizeAxis(op.intAttribute("axis", 0), op.shape(0).size());
}

void emitConcat(Op &op) {
  int64_t axis = concatAxis(op);
  std::vector<Value> parts;
  for (int i = 0; i < op.inputCount(); ++i) {
    Shape shape = op.shape(i);
    if (shape.size() != op.shape(0).size()) {
      fail("cannot concatenate shapes ", shapeText(op.shape(0)), " and ",
           shapeText(shape));
    }
    if (elementCount(shape) != 0) {
      parts.push_back(op.value(i));
    }
  }
  if (parts.empty()) {
    fail("all parts are empty");
  }
  op.set(0, op.emit.concat(parts, axis));
}

void foldConcat(Op &op) {
  int64_t axis = concatAxis(op);
  Shape shape = op.shape(0);
  shape[axis] = 0;
  for (int i = 0; i < op.inputCount(); ++i) {
    const HostTensor &part = op.constant(i, "operand");
    Shape own = part.shape();
    if (own.size() != shape.size() || part.type() != op.type(0)) {
      fail("cannot concatenate tensors of different rank or type");
    }
    shape[axis] += own[axis];
    own[axis] = shape[axis];
    if (own != shape) {
      fail("cannot concatenate shapes ", shapeText(op.shape(0)), " and ",
           shapeText(part.shape()), " along axis ", axis);
    }
  }
  HostTensor result(op.type(0), shape);
  std::vector<int64_t> strides = rowMajor(shape);
  int64_t start = 0;
  for (int i = 0; i < op.inputCount(); ++i) {
    const HostTensor &part = op.constant(i, "operand");
    place(result, start * strides[axis], strides, part);
    start += part.shape()[axis];
  }
  op.set(0, result);
}

//===----------------------------------------------------------------------===//
// Pad
//===----------------------------------------------------------------------===//

struct Border {
  std::vector<int64_t> low, high;
  HostTensor value;
};

Border borderOf(Op &op) {
  int64_t rank = op.shape(0).size();
  std::vector<int64_t> pads = op.intsInput(1, "pads"), axes;
  for (int64_t i = 0; i < rank; ++i) {
    axes.push_back(i);
  }
  if (op.hasInput(3)) {
    axes = op.constantInts(3, "axes");
  }
  if (pads.size() != 2 * axes.size()) {
    fail("there are ", pads.size(), " pads for ", axes.size(), " axes");
  }
  Border border{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0),
                HostTensor::splat(op.type(0), {}, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = normalizeAxis(axes[i], rank);
    border.low[axis] = pads[i];
    border.high[axis] = pads[i + axes.size()];
    for (int64_t pad : {border.low[axis], border.high[axis]}) {
      if (std::abs(pad) > (int64_t(1) << 40)) {
        fail("a pad is ", pad);
      }
    }
  }
  if (op.hasAttribute("value")) { // before version 11
    border.value =
        HostTensor::splat(op.type(0), {}, op.floatAttribute("value", 0));
  }
  if (op.hasInput(2)) {
    border.value = op.constant(2, "constant_value");
    if (border.value.size() != 1 || border.value.type() != op.type(0)) {
      fail("constant_value must be one ", typeName(op.type(0)));
    }
  }
  return border;
}

/// The place in an axis of `size` elements that a place around it repeats.
int64_t repeatedPlace(const std::string &mode, int64_t at, int64_t size) {
  auto modulo = [](int64_t a, int64_t b) { return (a % b + b) % b; };
  if (mode == "edge") {
    return std::clamp<int64_t>(at, 0, size - 1);
  }
  if (mode == "wrap") {
    return modulo(at, size);
  }
  int64_t turn = std::max<int64_t>(size - 1, 1);
  at = modulo(at, 2 * turn);
  return std::min(size - 1, at < turn ? at : 2 * turn - at);
}

void emitRepeatingPad(Op &op, const Border &border, const std::string &mode) {
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    std::vector<int64_t> places;
    int64_t end = shape[axis] + border.high[axis];
    if (end + border.low[axis] > HostTensor::kMaxElements) {
      throw TooLarge();
    }
    for (int64_t at = -border.low[axis]; at < end; ++at) {
      places.push_back(repeatedPlace(mode, at, shape[axis]));
    }
    if (places.empty()) {
      fail("the pads cut off more than there is");
    }
    if (border.low[axis] != 0 || border.high[axis] != 0) {
      x = gatherConstant(op.emit, x, axis, places);
    }
  }
  op.set(0, x);
}

std::string padMode(Op &op) {
  std::string mode = op.stringAttribute("mode", "constant");
  if (mode != "constant" && mode != "edge" && mode != "reflect" &&
      mode != "wrap") {
    fail("padding mode '", mode,
         "' is not known; 'constant', 'edge', 'reflect' and 'wrap' are");
  }
  return mode;
}

void emitPad(Op &op) {
  Border border = borderOf(op);
  if (std::string mode = padMode(op); mode != "constant") {
    emitRepeatingPad(op, border, mode);
    return;
  }
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  // Negative pads cut off.
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t before = std::max<int64_t>(-border.low[i], 0);
    int64_t after = std::max<int64_t>(-border.high[i], 0);
    if (before + after > 0) {
      x = op.emit.sliceAxis(x, i, before, shape[i] - before - after);
    }
    border.low[i] = std::max<int64_t>(border.low[i], 0);
    shape[i] = Emitter::shapeOf(x)[i] + border.low[i] +
               std::max<int64_t>(border.high[i], 0);
  }
  op.set(0, op.emit.pad(x, border.low, shape,
                        border.value.isFloat()
                            ? border.value.floatAt(0)
                            : static_cast<double>(border.value.intAt(0))));
}

void foldPad(Op &op) {
  if (padMode(op) != "constant") {
    throw TooLarge(); // rare: leave it to the program
  }
  Border border = borderOf(op);
  HostTensor x = op.constant(0, "operand");
  Shape shape = x.shape();
  int64_t cut = 0, base = 0;
  std::vector<int64_t> from = rowMajor(x.shape());
  Shape kept = shape;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t before = std::max<int64_t>(-border.low[i], 0);
    kept[i] -= before + std::max<int64_t>(-border.high[i], 0);
    if (kept[i] < 0) {
      fail("the pads cut off more than there is");
    }
    cut += before * from[i];
    shape[i] += border.low[i] + border.high[i];
  }
  x = remap(x, kept, cut, from);
  HostTensor result(x.type(), shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.copyFrom(i, border.value, 0);
  }
  std::vector<int64_t> strides = rowMajor(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    base += std::max<int64_t>(border.low[i], 0) * strides[i];
  }
  place(result, base, strides, x);
  op.set(0, result);
}

//===----------------------------------------------------------------------===//
// Trilu
//===----------------------------------------------------------------------===//

void emitTrilu(Op &op) {
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t rank = shape.size();
  if (rank < 2) {
    fail("needs rank 2 or more");
  }
  int64_t shift = op.hasInput(1) ? op.constant(1, "k").intAt(0) : 0;
  mlir::Type index = op.emit.builder.getI64Type();
  Shape matrix(shape.end() - 2, shape.end());
  Value row =
      op.emit.add(op.emit.iota(0, matrix, index), static_cast<double>(shift));
  Value column = op.emit.iota(1, matrix, index);
  Value keep =
      op.emit.compare(op.intAttribute("upper", 1) != 0 ? nn::CompareKind::ge
                                                       : nn::CompareKind::le,
                      column, row);
  op.set(0, op.emit.select(keep, x, op.emit.splatLike(0, x)));
}

void foldTrilu(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  if (x.rank() < 2) {
    fail("needs rank 2 or more");
  }
  int64_t shift = op.hasInput(1) ? op.constant(1, "k").intAt(0) : 0;
  bool upper = op.intAttribute("upper", 1) != 0;
  int64_t columns = x.shape()[x.rank() - 1], rows = x.shape()[x.rank() - 2];
  HostTensor result(x.type(), x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t column = i % columns, limit = i / columns % rows + shift;
    if (upper ? column >= limit : column <= limit) {
      result.copyFrom(i, x, i);
    }
  }
  op.set(0, result);
}

const OpDef kOps[] = {
    {"Concat", 4, emitConcat, foldConcat},
    {"Pad", 2, emitPad, foldPad, gradientTo<0, 2>},
    {"Slice", 1, emitSlice, foldSlice, gradientTo<0>},
    {"Split", 2, emitSplit, foldSplit, gradientTo<0>},
    {"Trilu", 14, emitTrilu, foldTrilu, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> layoutOps() { return kOps; }

} // namespace zerograph::frontend
