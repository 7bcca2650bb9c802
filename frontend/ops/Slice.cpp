//===- Slice.cpp - parts and joins of tensors -----------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>
#include <numeric>

using mlir::Value;

namespace zerograph::frontend {

namespace {

//===----------------------------------------------------------------------===//
// Slice
//===----------------------------------------------------------------------===//

struct Window {
  std::vector<int64_t> starts, steps;
  Shape shape;
};

/// Cuts the window along one axis.
void cutAxis(Window &window, int64_t axis, int64_t start, int64_t end,
             int64_t step) {
  int64_t size = window.shape[axis], count;
  if (step == 0 || step == INT64_MIN) {
    fail("a step is ", step);
  }
  // ONNX clamps to [0, size] going up, to [-1, size - 1] going down.
  auto clampTo = [&](int64_t position, int64_t low, int64_t high) {
    return std::clamp(position < 0 ? position + size : position, low, high);
  };
  if (step > 0) {
    start = clampTo(start, 0, size);
    int64_t span = clampTo(end, 0, size) - start;
    count = span <= 0 ? 0 : (span - 1) / step + 1;
  } else {
    start = clampTo(start, -1, size - 1);
    int64_t span = start - clampTo(end, -1, size - 1);
    count = span <= 0 ? 0 : (span - 1) / -step + 1;
  }
  window.starts[axis] = start;
  window.steps[axis] = step;
  window.shape[axis] = count;
}

Window windowOf(Op &op) {
  Shape from = op.shape(0);
  int64_t rank = from.size();
  Window window{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 1),
                from};
  std::vector<int64_t> starts = op.intsInput(1, "starts");
  std::vector<int64_t> ends = op.intsInput(2, "ends");
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
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
    int64_t axis = normalizeAxis(axes[i], rank);
    window.shape[axis] = from[axis]; // of an axis twice, the last counts
    cutAxis(window, axis, starts[i], ends[i], steps[i]);
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

const OpDef kOps[] = {
    {"Concat", 4, emitConcat, foldConcat},
    {"Slice", 1, emitSlice, foldSlice, gradientTo<0>},
    {"Split", 2, emitSplit, foldSplit, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> sliceOps() { return kOps; }

} // namespace zerograph::frontend
