//===- Emitter.cpp - constants, and ops element by element ----------------===//

#include "frontend/emit/Emitter.h"

#include "frontend/base/Error.h"
#include "mlir/IR/Matchers.h"
#include "passes/ir/nn/NNFunctions.h"

#include <cmath>

using namespace mlir;

namespace zerograph::frontend {

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

} // namespace zerograph::frontend
