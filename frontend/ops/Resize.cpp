//===- Resize.cpp - images of another size --------------------------------===//
//
// Each axis is resized by itself: an output element is a weighted sum of a few
// input elements, its taps, which are known while importing. Where an output
// element has one tap, slices and repetitions copy the elements. Else the axis
// is multiplied by a small constant matrix of weights, or, if that would be too
// large, made as a sum of weighted gathers.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"
#include "frontend/ops/ResizeTaps.h"

#include "frontend/emit/ConstantGather.h"

#include <algorithm>
#include <cmath>

using mlir::Value;

namespace zerograph::frontend {

namespace {

/// Largest size of an axis.
constexpr int64_t kMaxAxis = 1 << 16;

//===----------------------------------------------------------------------===//
// One axis
//===----------------------------------------------------------------------===//

/// A product with the [input, output] matrix of weights.
Value multiply(Op &op, Value x, const Axis &axis) {
  HostTensor matrix(op.type(0), {axis.input, axis.output});
  for (int64_t i = 0; i < axis.output; ++i) {
    std::vector<double> column(axis.input);
    for (const Tap &tap : axis.taps[i]) {
      column[tap.index] += tap.weight;
    }
    for (int64_t k = 0; k < axis.input; ++k) {
      matrix.setFloat(k * axis.output + i, column[k]);
    }
  }
  int64_t last = Emitter::rankOf(x) - 1;
  x = op.emit.moveAxis(x, axis.dim, last);
  return op.emit.moveAxis(op.emit.matmul(x, op.emit.constant(matrix)), last,
                          axis.dim);
}

Value addTaps(Op &op, Value x, const Axis &axis) {
  Value sum;
  for (size_t k = 0; k < axis.taps[0].size(); ++k) {
    std::vector<int64_t> indices;
    HostTensor weights(op.type(0), {axis.output});
    for (int64_t i = 0; i < axis.output; ++i) {
      indices.push_back(axis.taps[i][k].index);
      weights.setFloat(i, axis.taps[i][k].weight);
    }
    Shape column(Emitter::rankOf(x), 1);
    column[axis.dim] = axis.output;
    Value part =
        op.emit.mul(gatherConstant(op.emit, x, axis.dim, indices),
                    op.emit.reshape(op.emit.constant(weights), column));
    sum = sum ? op.emit.add(sum, part) : part;
  }
  return sum;
}

Value resizeAxis(Op &op, Value x, const Axis &axis) {
  if (axis.taps[0].size() == 1) {
    std::vector<int64_t> indices;
    for (const auto &taps : axis.taps) {
      indices.push_back(taps[0].index);
    }
    return gatherConstant(op.emit, x, axis.dim, indices);
  }
  if (!Emitter::isFloat(x)) {
    fail("modes 'linear' and 'cubic' need floats, not ", typeName(op.type(0)));
  }
  return axis.input * axis.output * typeBytes(op.type(0)) <=
                 nn::kMaxConstantBytes
             ? multiply(op, x, axis)
             : addTaps(op, x, axis);
}

/// Sets the elements outside of the region along an axis to `filler`.
Value fillOutside(Emitter &emit, Value x, const Axis &axis, double filler) {
  if (std::find(axis.outside.begin(), axis.outside.end(), true) ==
      axis.outside.end()) {
    return x;
  }
  HostTensor mask(onnx::TensorProto::BOOL, {axis.output});
  for (int64_t i = 0; i < axis.output; ++i) {
    mask.setInt(i, axis.outside[i]);
  }
  Shape column(Emitter::rankOf(x), 1);
  column[axis.dim] = axis.output;
  return emit.select(emit.reshape(emit.constant(mask), column),
                     emit.splatLike(filler, x), x);
}

/// All axes; elements outside of the region are `filler`.
void resize(Op &op, std::vector<Axis> axes, const Method &method,
            double filler) {
  if (method.mode != "nearest" && method.mode != "linear" &&
      method.mode != "cubic") {
    fail("mode='", method.mode,
         "' is not known; 'nearest', 'linear' and 'cubic' are");
  }
  Value x = op.value(0);
  for (Axis &axis : axes) {
    bool crop = method.coordinates == "tf_crop_and_resize";
    if (axis.output == axis.input && axis.scale == 1 && !crop) {
      continue;
    }
    if (axis.output < 1 || std::max(axis.input, axis.output) > kMaxAxis) {
      fail("axis ", axis.dim, " of ", axis.input, " elements becomes ",
           axis.output, "; sizes from 1 to ", kMaxAxis, " are supported");
    }
    computeTaps(axis, method);
    x = resizeAxis(op, x, axis);
  }
  for (const Axis &axis : axes) {
    x = fillOutside(op.emit, x, axis, filler);
  }
  op.set(0, x);
}

//===----------------------------------------------------------------------===//
// Resize, Upsample
//===----------------------------------------------------------------------===//

std::vector<double> constantFloats(Op &op, int i, const char *what) {
  const HostTensor &host = op.constant(i, what);
  std::vector<double> values;
  for (int64_t k = 0; k < host.size(); ++k) {
    values.push_back(host.floatAt(k));
  }
  return values;
}

Axis scaledAxis(int64_t dim, int64_t input, double scale) {
  // In float32, as scales are and as ONNX Runtime does: 10 times 0.7f is 7.
  double output =
      std::floor(static_cast<float>(input) * static_cast<float>(scale));
  if (!(scale > 0) || !(output <= kMaxAxis)) {
    fail("the scale of axis ", dim, " is ", scale);
  }
  return {dim, input, static_cast<int64_t>(output), scale};
}

/// The axes, from one scale per dim.
std::vector<Axis> scaledAxes(Op &op, const std::vector<int64_t> &dims,
                             const std::vector<double> &scales) {
  if (scales.size() != dims.size()) {
    fail("there are ", scales.size(), " scales for ", dims.size(), " axes");
  }
  std::vector<Axis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    axes.push_back(scaledAxis(dims[i], op.shape(0)[dims[i]], scales[i]));
  }
  return axes;
}

/// Gives all axes one scale, if keep_aspect_ratio_policy says so.
void keepAspectRatio(Op &op, std::vector<Axis> &axes) {
  std::string policy =
      op.stringAttribute("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch") {
    return;
  }
  if (policy != "not_larger" && policy != "not_smaller") {
    fail("keep_aspect_ratio_policy='", policy,
         "' is not known; 'stretch', "
         "'not_larger' and 'not_smaller' are");
  }
  double scale = axes[0].scale;
  for (const Axis &axis : axes) {
    scale = policy == "not_larger" ? std::min(scale, axis.scale)
                                   : std::max(scale, axis.scale);
  }
  for (Axis &axis : axes) {
    axis.scale = scale;
    axis.output = toInteger(std::floor(scale * axis.input + 0.5));
  }
}

std::vector<Axis> sizedAxes(Op &op, const std::vector<int64_t> &dims,
                            const std::vector<int64_t> &sizes) {
  if (sizes.size() != dims.size()) {
    fail("there are ", sizes.size(), " sizes for ", dims.size(), " axes");
  }
  std::vector<Axis> axes;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t input = op.shape(0)[dims[i]];
    axes.push_back(
        {dims[i], input, sizes[i], static_cast<double>(sizes[i]) / input});
  }
  keepAspectRatio(op, axes);
  return axes;
}

std::vector<int64_t> allDims(Op &op) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < op.shape(0).size(); ++i) {
    dims.push_back(i);
  }
  return dims;
}

bool isGiven(Op &op, int i) {
  return op.hasInput(i) && elementCount(op.shape(i)) != 0;
}

void emitResize(Op &op) {
  Method method{
      op.stringAttribute("mode", "nearest"),
      op.stringAttribute("coordinate_transformation_mode", "half_pixel"),
      op.stringAttribute("nearest_mode", "round_prefer_floor"),
      op.floatAttribute("cubic_coeff_a", -0.75f),
      op.intAttribute("exclude_outside", 0) != 0,
      op.intAttribute("antialias", 0) != 0};
  std::vector<int64_t> dims = allDims(op);
  if (op.hasAttribute("axes")) {
    dims = op.intsAttribute("axes");
    for (int64_t &dim : dims) {
      dim = normalizeAxis(dim, op.shape(0).size());
    }
  }
  if (isGiven(op, 2) == isGiven(op, 3) || dims.empty()) {
    fail("needs either scales or sizes");
  }
  std::vector<Axis> axes =
      isGiven(op, 2) ? scaledAxes(op, dims, constantFloats(op, 2, "scales"))
                     : sizedAxes(op, dims, op.constantInts(3, "sizes"));
  if (method.coordinates == "tf_crop_and_resize") {
    std::vector<double> region = constantFloats(op, 1, "roi");
    if (region.size() != 2 * axes.size()) {
      fail("roi has ", region.size(), " entries for ", axes.size(), " axes");
    }
    for (size_t i = 0; i < axes.size(); ++i) {
      axes[i].start = region[i];
      axes[i].end = region[i + axes.size()];
    }
  }
  resize(op, axes, method, op.floatAttribute("extrapolation_value", 0));
}

/// Upsample, and Resize as it was before version 11.
void emitUpsample(Op &op) {
  std::vector<double> scales;
  if (op.hasInput(1)) {
    scales = constantFloats(op, 1, "scales");
  } else {
    for (float scale : op.floatsAttribute("scales")) {
      scales.push_back(scale);
    }
  }
  std::string mode = op.stringAttribute("mode", "nearest");
  resize(op, scaledAxes(op, allDims(op), scales),
         {mode == "bilinear" ? "linear" : mode, "asymmetric", "floor"}, 0);
}

const OpDef kOps[] = {
    {"Resize", 10, emitUpsample, nullptr, gradientTo<0>},
    {"Resize", 11, emitResize, nullptr, gradientTo<0>},
    {"Upsample", 7, emitUpsample, nullptr, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> resizeOps() { return kOps; }

} // namespace zerograph::frontend
