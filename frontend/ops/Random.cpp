//===- Random.cpp - dropout and random numbers ----------------------------===//

#include "frontend/ops/Ops.h"

#include "absl/strings/str_cat.h"

#include <cmath>

namespace zerograph::frontend {

namespace {

void noteSeed(Op &op) {
  if (op.hasAttribute("seed")) {
    op.context.log.note(
        absl::StrCat("the attribute 'seed' of ", op.proto().op_type(),
                     " is not used; --seed makes a run's random numbers"));
  }
}

/// The output is the input: nothing is dropped.
void passThrough(Op &op) {
  op.forward(0, 0);
  // Before version 10 the mask has the type of the values.
  int32_t mask = op.opset() < 10 ? op.type(0) : onnx::TensorProto::BOOL;
  op.set(1, HostTensor::splat(mask, op.shape(0), 1));
}

/// Drops by the user's ratio, else by the file's.
void drop(Op &op, double ofFile) {
  const ImportOptions &options = op.context.options;
  double ratio = options.evaluation ? 0 : options.dropout.value_or(ofFile);
  op.context.log.countDropout(ratio);
  if (!(ratio >= 0 && ratio < 1)) {
    fail("ratio ", ratio, " is not at least 0 and less than 1");
  }
  if (ratio == 0) {
    passThrough(op);
    return;
  }
  noteSeed(op);
  mlir::Value x = op.value(0);
  auto type = Emitter::typeOf(x);
  if (!Emitter::isFloat(x)) {
    fail("data is not floating-point");
  }
  mlir::OpBuilder &b = op.emit.builder;
  auto dropout = b.create<nn::DropoutOp>(
      op.emit.location, type, type.clone(b.getI1Type()), x,
      b.getF64FloatAttr(ratio), b.getI64IntegerAttr(op.context.randomNumbers++),
      mlir::DenseI64ArrayAttr());
  op.set(0, dropout.getResult());
  mlir::Value mask = dropout.getMask();
  op.set(1,
         op.opset() < 10 ? op.emit.convert(mask, type.getElementType()) : mask);
}

/// Before version 12 a file cannot say that a dropout is active.
void emitPassiveDropout(Op &op) {
  float ratio = op.floatAttribute("ratio", 0.5f);
  if (ratio != 0 && !op.context.options.dropout) {
    op.context.log.warn(
        op.proto(),
        absl::StrCat("dropout with ratio ", ratio,
                     " stays off: before ai.onnx 12 a file cannot say that "
                     "it is active; turn it on with --dropout RATIO"));
  }
  drop(op, 0);
}

void emitDropout(Op &op) {
  // Without training_mode it is off.
  bool training = false;
  if (op.hasInput(2)) {
    training = op.constant(2, "training_mode").intAt(0) != 0;
  }
  double ratio = 0.5;
  if (op.hasInput(1)) {
    ratio = op.constant(1, "ratio").floatAt(0);
  }
  drop(op, training ? ratio : 0);
}

/// An f32 in [0, 1) for each element of `like`. Each call gives others.
mlir::Value uniform(Op &op, mlir::Value like) {
  mlir::OpBuilder &b = op.emit.builder;
  return b.create<nn::RandomLikeOp>(
      op.emit.location, Emitter::typeOf(like).clone(b.getF32Type()), like,
      b.getI64IntegerAttr(op.context.randomNumbers++),
      mlir::DenseI64ArrayAttr());
}

/// From a normal distribution, by Box and Muller's transform.
mlir::Value normal(Op &op, mlir::Value like) {
  Emitter &e = op.emit;
  mlir::Value u = uniform(op, like), v = uniform(op, like);
  // 1 - u is not zero, so that its logarithm is finite.
  mlir::Value log = e.unary(nn::UnaryKind::log, e.add(e.mul(u, -1), 1));
  mlir::Value radius = e.unary(nn::UnaryKind::sqrt, e.mul(log, -2));
  return e.mul(radius, e.unary(nn::UnaryKind::cos, e.mul(v, 2 * M_PI)));
}

/// Sets the result to `draw` * factor + term. Its shape is that of the first
/// input, or, without inputs, an attribute.
void setRandom(Op &op, mlir::Value (*draw)(Op &, mlir::Value), double factor,
               double term) {
  noteSeed(op);
  bool isLike = op.inputCount() > 0;
  Shape shape = isLike ? op.shape(0) : op.intsAttribute("shape");
  int32_t type = op.typeAttribute(
      "dtype", isLike ? op.type(0) : int32_t(onnx::TensorProto::FLOAT));
  if (!isFloatType(type)) {
    fail("makes numbers of type ", onnx::TensorProto::DataType_Name(type),
         ", which is no floating-point type");
  }
  Emitter &e = op.emit;
  mlir::Value like =
      isLike && !op.host(0)
          ? op.value(0)
          : e.splat(0, shape, elementTypeOf(e.builder.getContext(), type));
  // Random ops need a dimension that may be the samples'.
  if (shape.empty()) {
    like = e.reshape(like, {1});
  }
  mlir::Value x = draw(op, like);
  x = e.add(e.mul(x, factor), term);
  x = e.convert(x, elementTypeOf(e.builder.getContext(), type));
  op.set(0, shape.empty() ? e.reshape(x, {}) : x);
}

void emitRandomUniform(Op &op) {
  double low = op.floatAttribute("low", 0);
  setRandom(op, uniform, op.floatAttribute("high", 1) - low, low);
}

void emitRandomNormal(Op &op) {
  setRandom(op, normal, op.floatAttribute("scale", 1),
            op.floatAttribute("mean", 0));
}

/// 1 with the probability that the input holds, else 0.
void emitBernoulli(Op &op) {
  noteSeed(op);
  Emitter &e = op.emit;
  mlir::Value p = op.value(0);
  mlir::Value like = Emitter::rankOf(p) == 0 ? e.reshape(p, {1}) : p;
  mlir::Value u = uniform(op, like);
  // In the wider type: u rounded to half precision might be 1.
  if (Emitter::elementOf(p).isF64()) {
    u = e.convert(u, Emitter::elementOf(p));
  } else {
    like = e.convert(like, Emitter::elementOf(u));
  }
  mlir::Value hit = e.compare(nn::CompareKind::lt, u, like);
  int32_t type = op.typeAttribute("dtype", op.type(0));
  op.set(0, e.convert(e.reshape(hit, Emitter::shapeOf(p)),
                      elementTypeOf(e.builder.getContext(), type)));
}

const OpDef kOps[] = {
    {"Bernoulli", 15, emitBernoulli, nullptr, gradientTo<>},
    {"Dropout", 7, emitPassiveDropout, nullptr, gradientTo<0>},
    {"Dropout", 12, emitDropout, nullptr, gradientTo<0>},
    {"RandomNormal", 1, emitRandomNormal},
    {"RandomNormalLike", 1, emitRandomNormal, nullptr, gradientTo<>},
    {"RandomUniform", 1, emitRandomUniform},
    {"RandomUniformLike", 1, emitRandomUniform, nullptr, gradientTo<>},
};

} // namespace

llvm::ArrayRef<OpDef> randomOps() { return kOps; }

} // namespace zerograph::frontend
