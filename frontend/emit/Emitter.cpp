//===- Emitter.cpp - constants, and ops element by element ----------------===//

#include "frontend/emit/Emitter.h"

#include "frontend/base/ElementType.h"
#include "frontend/base/Error.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Matchers.h"
#include "onnx/onnx_pb.h"
#include "passes/ir/nn/NNFunctions.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using onnx::TensorProto;

namespace zerograph::frontend {

Type elementTypeOf(MLIRContext *context, int32_t onnxType) {
  Builder builder(context);
  switch (onnxType) {
  case TensorProto::FLOAT:
    return builder.getF32Type();
  case TensorProto::DOUBLE:
    return builder.getF64Type();
  case TensorProto::FLOAT16:
    return builder.getF16Type();
  case TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case TensorProto::INT64:
    return builder.getI64Type();
  case TensorProto::INT32:
    return builder.getI32Type();
  case TensorProto::INT16:
    return builder.getIntegerType(16);
  case TensorProto::INT8:
    return builder.getIntegerType(8);
  case TensorProto::UINT8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case TensorProto::BOOL:
    return builder.getI1Type();
  default:
    fail("type ", typeName(onnxType), " is not supported");
  }
}

int32_t onnxTypeOf(Type type) {
  if (type.isF32()) {
    return TensorProto::FLOAT;
  }
  if (type.isF64()) {
    return TensorProto::DOUBLE;
  }
  if (type.isF16()) {
    return TensorProto::FLOAT16;
  }
  if (type.isBF16()) {
    return TensorProto::BFLOAT16;
  }
  switch (type.getIntOrFloatBitWidth()) {
  case 64:
    return TensorProto::INT64;
  case 32:
    return TensorProto::INT32;
  case 16:
    return TensorProto::INT16;
  case 8:
    return type.isUnsignedInteger() ? TensorProto::UINT8 : TensorProto::INT8;
  default:
    return TensorProto::BOOL;
  }
}

RankedTensorType Emitter::typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

Shape Emitter::shapeOf(Value value) { return typeOf(value).getShape().vec(); }

std::optional<double> Emitter::splatOf(Value value) {
  while (value.getDefiningOp<nn::BroadcastOp>() ||
         value.getDefiningOp<nn::ReshapeOp>()) {
    value = value.getDefiningOp()->getOperand(0);
  }
  SplatElementsAttr splat;
  if (!isFloat(value) || !matchPattern(value, m_Constant(&splat))) {
    return std::nullopt;
  }
  return splat.getSplatValue<APFloat>().convertToDouble();
}

RankedTensorType Emitter::tensorType(const Shape &shape, Type element) {
  if (elementCount(shape) == 0) {
    throw EmptyTensor(
        absl::StrCat("shape ", shapeText(shape),
                     " is empty, which is only supported for constants"));
  }
  return RankedTensorType::get(shape, element);
}

Value Emitter::constant(const HostTensor &tensor) {
  Type element = elementTypeOf(builder.getContext(), tensor.type());
  RankedTensorType type = tensorType(tensor.shape(), element);
  DenseElementsAttr value;
  int64_t count = tensor.isSplat() ? 1 : tensor.size();
  if (auto floatType = dyn_cast<FloatType>(element)) {
    SmallVector<APFloat> values;
    for (int64_t i = 0; i < count; ++i) {
      APFloat exact(tensor.floatAt(i));
      bool lost;
      exact.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                    &lost);
      values.push_back(exact);
    }
    value = DenseElementsAttr::get(type, values);
  } else {
    SmallVector<APInt> values;
    unsigned width = element.getIntOrFloatBitWidth();
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(APInt(width, tensor.intAt(i), /*isSigned=*/true));
    }
    value = DenseElementsAttr::get(type, values);
  }
  return builder.create<nn::ConstantOp>(location, type, value);
}

Value Emitter::splat(double number, const Shape &shape, Type element) {
  RankedTensorType type = tensorType(shape, element);
  TypedAttr one;
  if (isa<FloatType>(element)) {
    one = builder.getFloatAttr(element, number);
  } else {
    one = builder.getIntegerAttr(element, APInt(element.getIntOrFloatBitWidth(),
                                                toInteger(number),
                                                /*isSigned=*/true));
  }
  return builder.create<nn::ConstantOp>(location, type,
                                        SplatElementsAttr::get(type, one));
}

Value Emitter::splatLike(double value, Value like) {
  return splat(value, shapeOf(like), elementOf(like));
}

Value Emitter::iota(int64_t dim, const Shape &shape, Type element) {
  return builder.create<nn::IotaOp>(location, tensorType(shape, element), dim);
}

Value Emitter::unary(nn::UnaryKind kind, Value x) {
  RankedTensorType type = typeOf(x);
  Type element = type.getElementType();
  const nn::FunctionFacts &facts = nn::factsOf(kind);
  if (!facts.accepts(element)) {
    fail(nn::stringifyUnaryKind(kind).str(), " of ",
         typeName(onnxTypeOf(element)), " is not supported");
  }
  if (facts.isTest) {
    type = type.clone(builder.getI1Type());
  }
  return builder.create<nn::UnaryOp>(location, type, kind, x);
}

static void checkSameType(Value x, Value y) {
  if (Emitter::elementOf(x) != Emitter::elementOf(y)) {
    fail("operand types ", typeName(onnxTypeOf(Emitter::elementOf(x))), " and ",
         typeName(onnxTypeOf(Emitter::elementOf(y))), " differ");
  }
}

Value Emitter::binary(nn::BinaryKind kind, Value x, Value y) {
  checkSameType(x, y);
  if (!nn::factsOf(kind).accepts(elementOf(x))) {
    fail(nn::stringifyBinaryKind(kind).str(), " of ",
         typeName(onnxTypeOf(elementOf(x))), " is not supported");
  }
  Shape shape = broadcastShapes(shapeOf(x), shapeOf(y));
  x = broadcastTo(x, shape);
  y = broadcastTo(y, shape);
  return builder.createOrFold<nn::BinaryOp>(location, kind, x, y);
}

Value Emitter::binary(nn::BinaryKind kind, Value x, double y) {
  if (!isFloat(x) && y != std::floor(y)) {
    fail("the operator needs floats, not ", typeName(onnxTypeOf(elementOf(x))));
  }
  return binary(kind, x, splatLike(y, x));
}

Value Emitter::compare(nn::CompareKind kind, Value x, Value y) {
  checkSameType(x, y);
  Shape shape = broadcastShapes(shapeOf(x), shapeOf(y));
  return builder.create<nn::CompareOp>(
      location, tensorType(shape, builder.getI1Type()), kind,
      broadcastTo(x, shape), broadcastTo(y, shape));
}

Value Emitter::compare(nn::CompareKind kind, Value x, double y) {
  return compare(kind, x, splatLike(y, x));
}

Value Emitter::select(Value condition, Value onTrue, Value onFalse) {
  if (!elementOf(condition).isInteger(1)) {
    fail("the condition must be BOOL, not ",
         typeName(onnxTypeOf(elementOf(condition))));
  }
  checkSameType(onTrue, onFalse);
  Shape shape = broadcastShapes(shapeOf(onTrue), shapeOf(onFalse));
  shape = broadcastShapes(shape, shapeOf(condition));
  return builder.create<nn::SelectOp>(location, broadcastTo(condition, shape),
                                      broadcastTo(onTrue, shape),
                                      broadcastTo(onFalse, shape));
}

Value Emitter::convert(Value x, Type element) {
  if (elementOf(x) == element) {
    return x;
  }
  return builder.create<nn::ConvertOp>(location, typeOf(x).clone(element), x);
}

Value Emitter::stopGradient(Value x) {
  return builder.create<nn::StopGradientOp>(location, x);
}

Value Emitter::reshape(Value x, const Shape &shape) {
  if (elementCount(shape) != typeOf(x).getNumElements()) {
    fail("cannot reshape ", shapeText(shapeOf(x)), " to ", shapeText(shape));
  }
  return builder.createOrFold<nn::ReshapeOp>(
      location, tensorType(shape, elementOf(x)), x);
}

Value Emitter::broadcastTo(Value x, const Shape &shape) {
  Shape from = shapeOf(x);
  if (from == shape) {
    return x;
  }
  if (from.size() > shape.size() || broadcastShapes(from, shape) != shape) {
    fail("shape ", shapeText(from), " does not broadcast to ",
         shapeText(shape));
  }
  from.insert(from.begin(), shape.size() - from.size(), 1);
  return builder.createOrFold<nn::BroadcastOp>(
      location, tensorType(shape, elementOf(x)), reshape(x, from));
}

Value Emitter::transpose(Value x, const std::vector<int64_t> &permutation) {
  Shape from = shapeOf(x), to;
  std::vector<bool> used(from.size());
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= static_cast<int64_t>(from.size()) || used[dim]) {
      fail("[", shapeText(permutation), "] is not a permutation of the ",
           from.size(), " dimensions");
    }
    used[dim] = true;
    to.push_back(from[dim]);
  }
  if (to.size() != from.size()) {
    fail("the permutation has ", to.size(), " entries for ", from.size(),
         " dimensions");
  }
  return builder.createOrFold<nn::TransposeOp>(
      location, tensorType(to, elementOf(x)), x, permutation);
}

Value Emitter::moveAxis(Value x, int64_t from, int64_t to) {
  std::vector<int64_t> order(rankOf(x));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return transpose(x, order);
}

Value Emitter::slice(Value x, const std::vector<int64_t> &starts,
                     const std::vector<int64_t> &steps, const Shape &shape) {
  return builder.createOrFold<nn::SliceOp>(
      location, tensorType(shape, elementOf(x)), x, starts, steps);
}

Value Emitter::sliceAxis(Value x, int64_t axis, int64_t start, int64_t size,
                         int64_t step) {
  Shape shape = shapeOf(x);
  std::vector<int64_t> starts(shape.size(), 0), steps(shape.size(), 1);
  starts[axis] = start;
  steps[axis] = step;
  shape[axis] = size;
  return slice(x, starts, steps, shape);
}

Value Emitter::pad(Value x, const std::vector<int64_t> &low, const Shape &shape,
                   double value) {
  if (shape == shapeOf(x)) {
    return x;
  }
  Type element = elementOf(x);
  TypedAttr filler;
  if (isa<FloatType>(element)) {
    filler = builder.getFloatAttr(element, value);
  } else {
    filler = builder.getIntegerAttr(
        element, APInt(element.getIntOrFloatBitWidth(), toInteger(value),
                       /*isSigned=*/true));
  }
  return builder.create<nn::PadOp>(location, tensorType(shape, element), x, low,
                                   filler);
}

Value Emitter::concat(const std::vector<Value> &parts, int64_t axis) {
  Shape shape = shapeOf(parts[0]);
  shape[axis] = 0;
  for (Value part : parts) {
    Shape own = shapeOf(part);
    if (own.size() != shape.size() || elementOf(part) != elementOf(parts[0])) {
      fail("cannot concatenate tensors of different rank or type");
    }
    for (size_t dim = 0; dim < own.size(); ++dim) {
      if (static_cast<int64_t>(dim) == axis) {
        shape[dim] += own[dim];
      } else if (own[dim] != shape[dim]) {
        fail("cannot concatenate shapes ", shapeText(shapeOf(parts[0])),
             " and ", shapeText(own), " along axis ", axis);
      }
    }
  }
  return builder.createOrFold<nn::ConcatOp>(
      location, tensorType(shape, elementOf(parts[0])), parts, axis);
}

} // namespace zerograph::frontend
