//===- GridSample.cpp - images read at computed places --------------------===//
//
// A sample is a weighted sum of its taps, the elements around a place. Along
// each axis a tap has an index and a weight, both computed from the grid. The
// gradient reaches the image through gathers, and the grid through the weights.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>

using mlir::Value;
using mlir::zg::nn::BinaryKind;
using mlir::zg::nn::CompareKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// One neighbour along one axis, for all samples at once.
struct AxisTap {
  Value index;  ///< within the axis
  Value weight; ///< null: 1
};

class Sampler {
public:
  explicit Sampler(Op &op);
  Value run();

private:
  Value unnormalize(Value grid, int64_t size);
  Value reflect(Value at, int64_t size);
  Value clamp(Value at, int64_t size);
  std::vector<AxisTap> taps(Value at, int64_t size);
  AxisTap tap(Value position, Value weight, int64_t size);
  /// The taps of each axis; `flat` is [samples, count].
  std::vector<std::vector<AxisTap>> allTaps(const Shape &flat);
  /// The part of one tap per axis: of all combinations the one of this number.
  Value combine(Value table, Value row,
                const std::vector<std::vector<AxisTap>> &all, int64_t number);

  Op &op;
  Emitter &emit;
  std::string mode, padding;
  bool corners;
  Shape shape, grid, spatial;
};

Sampler::Sampler(Op &op) : op(op), emit(op.emit) {
  mode = op.stringAttribute("mode", op.opset() < 20 ? "bilinear" : "linear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  padding = op.stringAttribute("padding_mode", "zeros");
  corners = op.intAttribute("align_corners", 0) != 0;
  if (mode != "linear" && mode != "nearest" && mode != "cubic") {
    fail("mode='", mode, "' is not known; 'linear', 'nearest' and 'cubic' are");
  }
  if (padding != "zeros" && padding != "border" && padding != "reflection") {
    fail("padding_mode='", padding,
         "' is not known; 'zeros', 'border' and 'reflection' are");
  }
  shape = op.shape(0);
  grid = op.shape(1);
  if (shape.size() < 3 || grid.size() != shape.size() || grid[0] != shape[0] ||
      grid.back() != static_cast<int64_t>(shape.size()) - 2) {
    fail("an image of shape ", shapeText(shape), " and a grid of shape ",
         shapeText(grid), " do not fit");
  }
  spatial.assign(shape.begin() + 2, shape.end());
}

/// From [-1, 1] to places in the axis.
Value Sampler::unnormalize(Value at, int64_t size) {
  double half = 0.5 * static_cast<double>(corners ? size - 1 : size);
  return emit.add(emit.mul(at, half), corners ? half : half - 0.5);
}

/// Mirrored at the outer elements, or at their outer edges, until it lies
/// within.
Value Sampler::reflect(Value at, int64_t size) {
  double low = corners ? 0 : -0.5;
  double span = static_cast<double>(corners ? size - 1 : size);
  if (span == 0) {
    return emit.splatLike(0, at);
  }
  at = emit.unary(UnaryKind::abs, emit.add(at, -low));
  Value turns = emit.unary(UnaryKind::floor, emit.mul(at, 0.5 / span));
  at = emit.sub(at, emit.mul(turns, 2 * span));
  Value back = emit.add(emit.unary(UnaryKind::neg, at), 2 * span);
  at = emit.select(emit.compare(CompareKind::le, at, span), at, back);
  return emit.add(at, low);
}

/// Into the axis; NaN becomes 0.
Value Sampler::clamp(Value at, int64_t size) {
  Value low = emit.splatLike(0, at);
  Value high = emit.splatLike(static_cast<double>(size - 1), at);
  at = emit.select(emit.compare(CompareKind::ge, at, low), at, low);
  return emit.select(emit.compare(CompareKind::le, at, high), at, high);
}

AxisTap Sampler::tap(Value position, Value weight, int64_t size) {
  if (padding == "zeros") {
    Value inside = emit.binary(
        BinaryKind::logical_and, emit.compare(CompareKind::ge, position, 0.0),
        emit.compare(CompareKind::le, position, static_cast<double>(size - 1)));
    Value one = weight ? weight : emit.splatLike(1, position);
    weight = emit.select(inside, one, emit.splatLike(0, one));
  } else if (padding == "reflection") {
    position = reflect(position, size);
  }
  return {emit.convert(clamp(position, size), emit.builder.getI64Type()),
          weight};
}

std::vector<AxisTap> Sampler::taps(Value at, int64_t size) {
  if (mode == "nearest") {
    at = emit.unary(UnaryKind::round, at);
  }
  // Not so for a cubic: `tap` brings each neighbour into the image by itself,
  // so that the weights are those of the place outside.
  if (mode != "cubic" && padding == "border") {
    at = clamp(at, size);
  } else if (mode != "cubic" && padding == "reflection") {
    at = reflect(at, size);
  }
  if (mode == "nearest") {
    return {tap(at, {}, size)};
  }
  Value down = emit.unary(UnaryKind::floor, at), t = emit.sub(at, down);
  if (mode == "linear") {
    Value rest = emit.sub(emit.splatLike(1, t), t);
    return {tap(down, rest, size), tap(emit.add(down, 1.0), t, size)};
  }
  // The cubic convolution of distance x, with a = -0.75.
  constexpr double a = -0.75;
  std::vector<AxisTap> result;
  for (int k = -1; k <= 2; ++k) {
    Value x = k <= 0 ? emit.add(t, -static_cast<double>(k))
                     : emit.add(emit.unary(UnaryKind::neg, t),
                                static_cast<double>(k));
    Value w;
    if (k == 0 || k == 1) {
      w = emit.add(emit.mul(x, a + 2), -(a + 3));
      w = emit.add(emit.mul(emit.mul(w, x), x), 1.0);
    } else {
      w = emit.add(emit.mul(x, a), -5 * a);
      w = emit.add(emit.mul(w, x), 8 * a);
      w = emit.add(emit.mul(w, x), -4 * a);
    }
    result.push_back(tap(emit.add(down, static_cast<double>(k)), w, size));
  }
  return result;
}

std::vector<std::vector<AxisTap>> Sampler::allTaps(const Shape &flat) {
  Value coordinates = op.value(1);
  int64_t rank = spatial.size();
  std::vector<std::vector<AxisTap>> all;
  for (int64_t axis = 0; axis < rank; ++axis) {
    // The grid names the last axis first.
    Value at = emit.reshape(
        emit.sliceAxis(coordinates, rank + 1, rank - 1 - axis, 1), flat);
    all.push_back(taps(unnormalize(at, spatial[axis]), spatial[axis]));
  }
  return all;
}

Value Sampler::combine(Value table, Value row,
                       const std::vector<std::vector<AxisTap>> &all,
                       int64_t number) {
  std::vector<int64_t> strides = rowMajor(spatial);
  Value weight;
  for (size_t axis = 0; axis < all.size(); ++axis) {
    int64_t size = all[axis].size();
    const AxisTap &tap = all[axis][number % size];
    number /= size;
    row =
        emit.add(row, emit.mul(tap.index, static_cast<double>(strides[axis])));
    if (tap.weight) {
      weight = weight ? emit.mul(weight, tap.weight) : tap.weight;
    }
  }
  Value part = emit.gather(table, row); // [samples, count, channels]
  if (!weight) {
    return part;
  }
  Shape column = Emitter::shapeOf(weight);
  column.push_back(1);
  mlir::Type element = Emitter::elementOf(part);
  part = emit.convert(part, Emitter::elementOf(weight));
  part = emit.mul(part, emit.reshape(weight, column));
  return emit.convert(part, element);
}

Value Sampler::run() {
  // Rows of channels: [samples x places, channels].
  int64_t samples = shape[0], channels = shape[1];
  int64_t places = elementCount(spatial);
  Value table = emit.moveAxis(
      emit.reshape(op.value(0), {samples, channels, places}), 1, 2);
  table = emit.reshape(table, {samples * places, channels});
  Shape lead(grid.begin(), grid.end() - 1);
  Shape flat{samples, elementCount(lead) / samples};
  std::vector<std::vector<AxisTap>> all = allTaps(flat);
  Value sampleRow =
      emit.mul(emit.iota(0, flat, emit.builder.getI64Type()), places);
  int64_t combinations = 1;
  for (const auto &axis : all) {
    combinations *= static_cast<int64_t>(axis.size());
  }
  Value sum;
  for (int64_t c = 0; c < combinations; ++c) {
    Value part = combine(table, sampleRow, all, c);
    sum = sum ? emit.add(sum, part) : part;
  }
  Shape result{samples, channels};
  result.insert(result.end(), lead.begin() + 1, lead.end());
  return emit.reshape(emit.moveAxis(sum, 2, 1), result);
}

void emitGridSample(Op &op) { op.set(0, Sampler(op).run()); }

const OpDef kOps[] = {
    {"GridSample", 16, emitGridSample},
};

} // namespace

llvm::ArrayRef<OpDef> gridSampleOps() { return kOps; }

} // namespace zerograph::frontend
