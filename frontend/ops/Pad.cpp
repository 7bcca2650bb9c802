//===- Pad.cpp - borders of tensors ---------------------------------------===//

#include "frontend/ops/Ops.h"

#include "frontend/emit/ConstantGather.h"

#include <algorithm>

using mlir::Value;

namespace zerograph::frontend {

namespace {

struct Border {
  std::vector<int64_t> low, high;
  HostTensor value;
};

HostTensor padValue(Op &op) {
  if (op.hasAttribute("value")) { // before version 11
    return HostTensor::splat(op.type(0), {}, op.floatAttribute("value", 0));
  }
  if (!op.hasInput(2)) {
    return HostTensor::splat(op.type(0), {}, 0);
  }
  HostTensor value = op.constant(2, "constant_value");
  if (value.size() != 1 || value.type() != op.type(0)) {
    fail("constant_value must be one ", typeName(op.type(0)));
  }
  return value;
}

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
                padValue(op)};
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
  return border;
}

/// The element, of `size` along an axis, that place `at` repeats; `at` may lie
/// before or after them.
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

/// x without what negative pads cut off.
HostTensor cutOff(const HostTensor &x, const Border &border) {
  Shape kept = x.shape();
  std::vector<int64_t> strides = rowMajor(x.shape());
  int64_t begin = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    int64_t before = std::max<int64_t>(-border.low[i], 0);
    kept[i] -= before + std::max<int64_t>(-border.high[i], 0);
    if (kept[i] < 0) {
      fail("the pads cut off more than there is");
    }
    begin += before * strides[i];
  }
  return remap(x, kept, begin, strides);
}

void foldPad(Op &op) {
  if (padMode(op) != "constant") {
    throw TooLarge(); // rare: leave it to the program
  }
  Border border = borderOf(op);
  const HostTensor &x = op.constant(0, "operand");
  HostTensor kept = cutOff(x, border);
  Shape shape = x.shape();
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] += border.low[i] + border.high[i];
  }
  HostTensor result(x.type(), shape);
  for (int64_t i = 0; i < result.size(); ++i) {
    result.copyFrom(i, border.value, 0);
  }
  std::vector<int64_t> strides = rowMajor(shape);
  int64_t begin = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    begin += std::max<int64_t>(border.low[i], 0) * strides[i];
  }
  place(result, begin, strides, kept);
  op.set(0, result);
}

const OpDef kOps[] = {
    {"Pad", 2, emitPad, foldPad, gradientTo<0, 2>},
};

} // namespace

llvm::ArrayRef<OpDef> padOps() { return kOps; }

} // namespace zerograph::frontend
