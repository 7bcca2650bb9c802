//===- Norm.cpp - normalizations ------------------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;
using mlir::zg::nn::ReduceKind;
using mlir::zg::nn::UnaryKind;

namespace zerograph::frontend {

namespace {

/// Shapes of an input whose dims from `axis` on are normalized as one, C.
struct Normalized {
  Shape rows;       ///< leading dims, then C
  Shape inner;      ///< the dims that are normalized
  Shape statistics; ///< leading dims, then 1 for each inner dim
};

Normalized normalizedOf(Op &op) {
  Shape shape = op.shape(0);
  int64_t axis = normalizeAxis(op.intAttribute("axis", -1), shape.size());
  Normalized result;
  result.inner.assign(shape.begin() + axis, shape.end());
  result.rows.assign(shape.begin(), shape.begin() + axis);
  result.statistics = result.rows;
  result.statistics.resize(shape.size(), 1);
  result.rows.push_back(elementCount(result.inner));
  return result;
}

/// Scale or bias as [C], in the type of the computation.
Value asVector(Op &op, Value x, const Normalized &shapes, mlir::Type element) {
  x = op.emit.broadcastTo(x, shapes.inner);
  return op.emit.convert(op.emit.reshape(x, {shapes.rows.back()}), element);
}

/// stash_type 1: half precision is normalized in float32.
mlir::Type computeType(Op &op, mlir::Type element) {
  bool stash = op.intAttribute("stash_type", 1) == onnx::TensorProto::FLOAT;
  return stash && (element.isF16() || element.isBF16())
             ? op.emit.builder.getF32Type()
             : element;
}

void emitLayerNormalization(Op &op) {
  Normalized shapes = normalizedOf(op);
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  mlir::Type element = Emitter::elementOf(x);
  mlir::Type compute = computeType(op, element);
  x = op.emit.convert(op.emit.reshape(x, shapes.rows), compute);
  Value scale = asVector(op, op.value(1), shapes, compute);
  Value bias = op.hasInput(2) ? asVector(op, op.value(2), shapes, compute)
                              : op.emit.splat(0, {shapes.rows.back()}, compute);
  Shape statistics = shapes.rows;
  statistics.back() = 1;
  mlir::Type statisticsType = op.emit.tensorType(statistics, compute);
  auto norm = op.emit.builder.create<nn::LayerNormOp>(
      op.emit.location,
      mlir::TypeRange{x.getType(), statisticsType, statisticsType},
      mlir::ValueRange{x, scale, bias},
      llvm::ArrayRef<mlir::NamedAttribute>{op.emit.builder.getNamedAttr(
          "epsilon", op.emit.builder.getF64FloatAttr(
                         op.floatAttribute("epsilon", 1e-5f)))});
  op.set(0, op.emit.convert(op.emit.reshape(norm.getResult(), shape), element));
  if (op.wantsOutput(1)) {
    op.set(1, op.emit.reshape(norm.getMean(), shapes.statistics));
  }
  if (op.wantsOutput(2)) {
    op.set(2, op.emit.reshape(norm.getRstd(), shapes.statistics));
  }
}

void emitRmsNormalization(Op &op) {
  Normalized shapes = normalizedOf(op);
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  mlir::Type element = Emitter::elementOf(x);
  mlir::Type compute = computeType(op, element);
  x = op.emit.convert(op.emit.reshape(x, shapes.rows), compute);
  int64_t last = shapes.rows.size() - 1;
  Value square =
      op.emit.reduce(ReduceKind::sum, op.emit.mul(x, x), {last}, true);
  Value mean = op.emit.mul(square, 1.0 / shapes.rows.back());
  Value root = op.emit.unary(
      UnaryKind::sqrt, op.emit.add(mean, op.floatAttribute("epsilon", 1e-5f)));
  Value y = op.emit.mul(x, op.emit.unary(UnaryKind::reciprocal, root));
  // ONNX rounds to the input's type before it scales.
  y = op.emit.convert(y, element);
  y = op.emit.mul(y, asVector(op, op.value(1), shapes, element));
  op.set(0, op.emit.reshape(y, shape));
}

/// Each channel of each sample is normalized over its places.
void emitInstanceNormalization(Op &op) {
  Emitter &emit = op.emit;
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  if (shape.size() < 3 || !Emitter::isFloat(x)) {
    fail("needs floats of shape [samples, channels, places...], not ",
         shapeText(shape));
  }
  checkPerChannel(op, 1, 2, shape[1]);
  int64_t rows = shape[0] * shape[1], places = elementCount(shape) / rows;
  mlir::Type element = Emitter::elementOf(x);
  mlir::Type statistics = emit.tensorType({rows, 1}, element);
  Value flat = emit.reshape(x, {rows, places});
  auto norm = emit.builder.create<nn::LayerNormOp>(
      emit.location, mlir::TypeRange{flat.getType(), statistics, statistics},
      mlir::ValueRange{flat, emit.splat(1, {places}, element),
                       emit.splat(0, {places}, element)},
      llvm::ArrayRef<mlir::NamedAttribute>{emit.builder.getNamedAttr(
          "epsilon",
          emit.builder.getF64FloatAttr(op.floatAttribute("epsilon", 1e-5f)))});
  Shape channel(shape.size() - 1, 1);
  channel[0] = shape[1];
  Value y = emit.reshape(norm.getResult(), shape);
  y = emit.mul(y, emit.reshape(op.value(1), channel));
  op.set(0, emit.add(y, emit.reshape(op.value(2), channel)));
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
    {"InstanceNormalization", 6, emitInstanceNormalization},
    {"LayerNormalization", 17, emitLayerNormalization},
    {"LpNormalization", 1, emitLpNormalization},
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
