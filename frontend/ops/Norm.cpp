//===- Norm.cpp - normalizations ------------------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// stash_type 1: half precision is normalized in float32.
mlir::Type computeType(Op &op, mlir::Type element) {
  bool stash = op.intAttribute("stash_type", 1) == onnx::TensorProto::FLOAT;
  return stash && (element.isF16() || element.isBF16())
             ? op.emit.builder.getF32Type()
             : element;
}

/// The input of a node, whose dims from `axis` on are normalized as one, C.
struct Normalized {
  explicit Normalized(Op &op) : op(op), shape(op.shape(0)) {
    int64_t axis = normalizeAxis(op.intAttribute("axis", -1), shape.size());
    inner.assign(shape.begin() + axis, shape.end());
    Shape rows(shape.begin(), shape.begin() + axis);
    statistics = rows;
    statistics.resize(shape.size(), 1);
    count = elementCount(inner);
    rows.push_back(count);
    Value input = op.value(0);
    element = Emitter::elementOf(input);
    compute = computeType(op, element);
    x = op.emit.convert(op.emit.reshape(input, rows), compute);
  }

  /// Returns an input, scale or bias, as [C].
  Value vector(int i, mlir::Type type) const {
    Value value = op.emit.broadcastTo(op.value(i), inner);
    return op.emit.convert(op.emit.reshape(value, {count}), type);
  }

  Op &op;
  Shape shape;                 ///< of the input
  Shape inner;                 ///< the dims that are normalized
  Shape statistics;            ///< leading dims, then 1 for each inner dim
  int64_t count;               ///< C
  mlir::Type element, compute; ///< the input's, and the computation's
  Value x;                     ///< [leading dims..., C], to compute with
};

/// Normalizes the rows of `x`.
nn::LayerNormOp layerNorm(Op &op, Value x, Value scale, Value bias) {
  mlir::OpBuilder &b = op.emit.builder;
  Shape statistics = Emitter::shapeOf(x);
  statistics.back() = 1;
  mlir::Type type = op.emit.tensorType(statistics, Emitter::elementOf(x));
  return b.create<nn::LayerNormOp>(
      op.emit.location, mlir::TypeRange{x.getType(), type, type},
      mlir::ValueRange{x, scale, bias},
      llvm::ArrayRef<mlir::NamedAttribute>{b.getNamedAttr(
          "epsilon", b.getF64FloatAttr(op.floatAttribute("epsilon", 1e-5f)))});
}

void emitLayerNormalization(Op &op) {
  Normalized n(op);
  Value scale = n.vector(1, n.compute);
  Value bias = op.hasInput(2) ? n.vector(2, n.compute)
                              : op.emit.splat(0, {n.count}, n.compute);
  nn::LayerNormOp norm = layerNorm(op, n.x, scale, bias);
  op.set(0, op.emit.convert(op.emit.reshape(norm.getResult(), n.shape),
                            n.element));
  if (op.wantsOutput(1)) {
    op.set(1, op.emit.reshape(norm.getMean(), n.statistics));
  }
  if (op.wantsOutput(2)) {
    op.set(2, op.emit.reshape(norm.getRstd(), n.statistics));
  }
}

void emitRmsNormalization(Op &op) {
  Normalized n(op);
  int64_t last = Emitter::rankOf(n.x) - 1;
  Value square =
      op.emit.reduce(ReduceKind::sum, op.emit.mul(n.x, n.x), {last}, true);
  Value mean = op.emit.mul(square, 1.0 / n.count);
  Value root = op.emit.unary(
      UnaryKind::sqrt, op.emit.add(mean, op.floatAttribute("epsilon", 1e-5f)));
  Value y = op.emit.mul(n.x, op.emit.unary(UnaryKind::reciprocal, root));
  // ONNX rounds to the input's type before it scales.
  y = op.emit.convert(y, n.element);
  y = op.emit.mul(y, n.vector(1, n.element));
  op.set(0, op.emit.reshape(y, n.shape));
}

/// The channels of each sample, in `groups` of neighbours, each normalized over
/// all its places, and then scaled and shifted: `perGroup` by numbers of the
/// groups, else of the channels.
void emitGroups(Op &op, int64_t groups, bool perGroup, mlir::Type compute) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  checkPerChannel(op, 1, 2, perGroup ? groups : shape[1]);
  int64_t rows = shape[0] * groups, places = elementCount(shape) / rows;
  mlir::Type element = Emitter::elementOf(x);
  Value flat = emit.convert(emit.reshape(x, {rows, places}), compute);
  Value scale = emit.splat(1, {places}, compute);
  Value bias = emit.splat(0, {places}, compute);
  nn::LayerNormOp norm = layerNorm(op, flat, scale, bias);
  Shape channel(shape.size() - 1, 1);
  channel[0] = shape[1];
  auto ofChannels = [&](int input) {
    Value value = emit.convert(op.value(input), element);
    if (perGroup) {
      value = emit.broadcastTo(emit.reshape(value, {groups, 1}),
                               {groups, shape[1] / groups});
    }
    return emit.reshape(value, channel);
  };
  Value y = emit.reshape(emit.convert(norm.getResult(), element), shape);
  y = emit.mul(y, ofChannels(1));
  op.set(0, emit.add(y, ofChannels(2)));
}

void checkImages(Op &op) {
  if (op.shape(0).size() < 3 || !Emitter::isFloat(op.value(0))) {
    fail("needs floats of shape [samples, channels, places...], not ",
         shapeText(op.shape(0)));
  }
}

void emitInstanceNormalization(Op &op) {
  checkImages(op);
  emitGroups(op, op.shape(0)[1], /*perGroup=*/false,
             Emitter::elementOf(op.value(0)));
}

/// ONNX's own function takes the square of the mean from the mean of squares.
void emitGroupNormalization(Op &op) {
  checkImages(op);
  int64_t groups = op.intAttribute("num_groups", 0), channels = op.shape(0)[1];
  if (groups < 1 || channels % groups != 0) {
    fail("num_groups is ", groups, ", which does not divide ", channels,
         " channels");
  }
  emitGroups(op, groups, /*perGroup=*/op.opset() < 21,
             computeType(op, Emitter::elementOf(op.value(0))));
}

/// ONNX's own function takes the square of the mean from the mean of squares.
void emitMeanVarianceNormalization(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  if (!Emitter::isFloat(x)) {
    fail("needs floats");
  }
  std::vector<int64_t> axes = op.intsAttribute("axes");
  if (axes.empty()) {
    axes = {0, 2, 3};
  }
  int64_t count = 1;
  for (int64_t &axis : axes) {
    axis = normalizeAxis(axis, Emitter::rankOf(x));
    count *= Emitter::shapeOf(x)[axis];
  }
  auto mean = [&](Value y) {
    return emit.mul(emit.reduce(ReduceKind::sum, y, axes, true), 1.0 / count);
  };
  Value centered = emit.sub(x, mean(x));
  Value deviation =
      emit.unary(UnaryKind::sqrt, mean(emit.mul(centered, centered)));
  op.set(0, emit.div(centered, emit.add(deviation, 1e-9)));
}

/// Divides by the first or second norm along an axis; zeros stay zeros.
void emitLpNormalization(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  int64_t p = op.intAttribute("p", 2);
  if (p != 1 && p != 2) {
    fail("p is ", p, "; 1 and 2 are supported");
  }
  int64_t axis = normalizeAxis(op.intAttribute("axis", -1), Emitter::rankOf(x));
  Value part = p == 1 ? emit.unary(UnaryKind::abs, x) : emit.mul(x, x);
  Value norm = emit.reduce(ReduceKind::sum, part, {axis}, true);
  Value zero = emit.compare(nn::CompareKind::eq, norm, 0.0);
  // Chosen before the root, whose gradient at 0 is infinite.
  norm = emit.select(zero, emit.splatLike(1, norm), norm);
  op.set(0, emit.div(x, p == 1 ? norm : emit.unary(UnaryKind::sqrt, norm)));
}

const OpDef kOps[] = {
    {"GroupNormalization", 18, emitGroupNormalization},
    {"InstanceNormalization", 6, emitInstanceNormalization},
    {"LayerNormalization", 17, emitLayerNormalization},
    {"LpNormalization", 1, emitLpNormalization},
    {"MeanVarianceNormalization", 9, emitMeanVarianceNormalization},
    {"RMSNormalization", 23, emitRmsNormalization},
};

} // namespace

void checkPerChannel(Op &op, int first, int last, int64_t channels) {
  for (int i = first; i <= last; ++i) {
    if (op.shape(i) != Shape{channels}) {
      fail("input ", i, " has shape ", shapeText(op.shape(i)), " for ",
           channels, " channels");
    }
  }
}

llvm::ArrayRef<OpDef> normOps() { return kOps; }

} // namespace zerograph::frontend
