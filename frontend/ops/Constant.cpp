//===- Constant.cpp - values from nothing ---------------------------------===//

#include "frontend/ops/Ops.h"

#include "frontend/file/ModelFile.h"

#include <algorithm>
#include <cmath>

using mlir::Value;
using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

void emitConstant(Op &op) {
  if (std::optional<HostTensor> value = op.tensorAttribute("value")) {
    op.set(0, *value);
    return;
  }
  if (op.hasAttribute("value_int")) {
    op.set(0, HostTensor::scalar(op.intAttribute("value_int", 0)));
    return;
  }
  if (op.hasAttribute("value_ints")) {
    op.set(0, HostTensor::ints(op.intsAttribute("value_ints")));
    return;
  }
  if (op.hasAttribute("value_float")) {
    op.set(0, HostTensor::splat(TensorProto::FLOAT, {},
                                op.floatAttribute("value_float", 0)));
    return;
  }
  for (const auto &attribute : op.proto().attribute()) {
    if (attribute.name() == "value_floats") {
      HostTensor result(TensorProto::FLOAT, {attribute.floats_size()});
      for (int i = 0; i < attribute.floats_size(); ++i) {
        result.setFloat(i, attribute.floats(i));
      }
      op.set(0, result);
      return;
    }
  }
  fail("strings and sparse tensors are not supported");
}

void emitConstantOfShape(Op &op) {
  Shape shape = op.constantInts(0, "shape");
  HostTensor value = HostTensor::splat(TensorProto::FLOAT, {}, 0);
  if (std::optional<HostTensor> given = op.tensorAttribute("value")) {
    value = *given;
    if (value.size() != 1) {
      fail("attribute 'value' must hold one element");
    }
  }
  elementCount(shape);
  op.set(0, broadcastTo(value.reshaped({}), shape));
}

/// How many elements a Range has, by its constant inputs.
int64_t rangeSize(Op &op) {
  const HostTensor &start = op.constant(0, "start");
  const HostTensor &limit = op.constant(1, "limit");
  const HostTensor &delta = op.constant(2, "delta");
  if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 ||
      start.type() != limit.type() || start.type() != delta.type()) {
    fail("start, limit and delta must be scalars of one type");
  }
  if (delta.floatAt(0) == 0) {
    fail("delta is 0");
  }
  double count =
      std::ceil((limit.floatAt(0) - start.floatAt(0)) / delta.floatAt(0));
  if (!(count < 1e15)) {
    fail("has too many elements");
  }
  return std::max<int64_t>(0, static_cast<int64_t>(count));
}

void emitRange(Op &op) {
  mlir::Type element = elementTypeOf(op.emit.builder.getContext(), op.type(0));
  Value index = op.emit.iota(0, {rangeSize(op)}, element);
  op.set(0, op.emit.add(op.emit.mul(index, op.host(2)->floatAt(0)),
                        op.host(0)->floatAt(0)));
}

void foldRange(Op &op) {
  HostTensor result(op.type(0), {rangeSize(op)});
  const HostTensor &start = *op.host(0), &delta = *op.host(2);
  for (int64_t i = 0; i < result.size(); ++i) {
    if (result.isFloat()) {
      result.setFloat(i, start.floatAt(0) + i * delta.floatAt(0));
    } else {
      result.setInt(i, wrapAdd(start.intAt(0), wrapMul(i, delta.intAt(0))));
    }
  }
  op.set(0, result);
}

void emitEyeLike(Op &op) {
  Shape shape = op.shape(0);
  if (shape.size() != 2) {
    fail("needs rank 2");
  }
  int32_t type = op.typeAttribute("dtype", op.type(0));
  // Beyond the last row and column all is zero.
  int64_t shift = std::clamp(op.intAttribute("k", 0), -shape[0], shape[1]);
  HostTensor result(type, shape);
  for (int64_t row = 0; row < shape[0]; ++row) {
    if (row + shift >= 0 && row + shift < shape[1]) {
      result.setInt(row * shape[1] + row + shift, 1);
    }
  }
  op.set(0, result);
}

const OpDef kOps[] = {
    {"Constant", 1, emitConstant, nullptr, gradientTo<>},
    {"ConstantOfShape", 9, emitConstantOfShape, emitConstantOfShape,
     gradientTo<>},
    {"EyeLike", 9, emitEyeLike, emitEyeLike, gradientTo<>},
    {"Range", 11, emitRange, foldRange, gradientTo<>},
};

} // namespace

llvm::ArrayRef<OpDef> constantOps() { return kOps; }

} // namespace zerograph::frontend
