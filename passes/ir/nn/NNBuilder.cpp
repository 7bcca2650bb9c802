//===- NNBuilder.cpp - short names for building nn ops --------------------===//

#include "passes/ir/nn/NNBuilder.h"

#include "passes/ir/nn/NNFunctions.h"

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// A number as an attribute of an element type.
TypedAttr scalar(OpBuilder &builder, Type element, double value) {
  if (isa<FloatType>(element)) {
    return builder.getFloatAttr(element, value);
  }
  return builder.getIntegerAttr(element, static_cast<int64_t>(value));
}

} // namespace

ArrayRef<int64_t> mlir::zg::nn::shapeOf(Value value) {
  return typeOf(value).getShape();
}

Type mlir::zg::nn::elementOf(Value value) {
  return typeOf(value).getElementType();
}

bool mlir::zg::nn::isFloat(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && isa<FloatType>(tensor.getElementType());
}

Value NNBuilder::splat(Value like, double value) {
  return splat(typeOf(like), value);
}

Value NNBuilder::splat(RankedTensorType type, double value) {
  Attribute element = scalar(builder, type.getElementType(), value);
  return builder.create<ConstantOp>(
      location, type, DenseElementsAttr::get(type, ArrayRef(element)));
}

Value NNBuilder::iota(RankedTensorType type, int64_t dim) {
  return builder.create<IotaOp>(location, type, dim);
}

Value NNBuilder::unary(UnaryKind kind, Value x) {
  Type type = factsOf(kind).isTest ? Type(typeOf(x).clone(builder.getI1Type()))
                                   : x.getType();
  return builder.create<UnaryOp>(location, type, kind, x);
}

Value NNBuilder::binary(BinaryKind kind, Value a, Value b) {
  return builder.create<BinaryOp>(location, a.getType(), kind, a, b);
}

Value NNBuilder::compare(CompareKind kind, Value a, Value b) {
  return builder.create<CompareOp>(
      location, typeOf(a).clone(builder.getI1Type()), kind, a, b);
}

Value NNBuilder::select(Value condition, Value onTrue, Value onFalse) {
  return builder.create<SelectOp>(location, onTrue.getType(), condition, onTrue,
                                  onFalse);
}

Value NNBuilder::keepIf(Value condition, Value x) {
  return select(condition, x, splat(x, 0));
}

Value NNBuilder::zeroIf(Value condition, Value x) {
  return select(condition, splat(x, 0), x);
}

Value NNBuilder::convert(Value x, Type element) {
  if (elementOf(x) == element) {
    return x;
  }
  return builder.create<ConvertOp>(location, typeOf(x).clone(element), x);
}

Value NNBuilder::broadcast(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape) {
    return x;
  }
  return builder.create<BroadcastOp>(location, typeOf(x).clone(shape), x);
}

Value NNBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  if (shapeOf(x) == shape) {
    return x;
  }
  return builder.create<ReshapeOp>(location, typeOf(x).clone(shape), x);
}

Value NNBuilder::transpose(Value x, ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation) {
    shape.push_back(shapeOf(x)[dim]);
  }
  return builder.create<TransposeOp>(location, typeOf(x).clone(shape), x,
                                     permutation);
}

Value NNBuilder::slice(Value x, ArrayRef<int64_t> starts,
                       ArrayRef<int64_t> steps, ArrayRef<int64_t> shape) {
  return builder.create<SliceOp>(location, typeOf(x).clone(shape), x, starts,
                                 steps);
}

Value NNBuilder::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> shape,
                     double border) {
  if (shapeOf(x) == shape) {
    return x;
  }
  return builder.create<PadOp>(location, typeOf(x).clone(shape), x, low,
                               scalar(builder, elementOf(x), border));
}

Value NNBuilder::softmaxRows(Value x, Value max, Value logSum) {
  Value shifted = sub(x, broadcast(max, shapeOf(x)));
  return unary(UnaryKind::exp, sub(shifted, broadcast(logSum, shapeOf(x))));
}

Value NNBuilder::gather(Value table, Value indices) {
  SmallVector<int64_t> shape(shapeOf(indices));
  ArrayRef<int64_t> row = shapeOf(table).drop_front();
  shape.append(row.begin(), row.end());
  return builder.create<GatherOp>(location, typeOf(table).clone(shape), table,
                                  indices);
}

/// Returns the type of tensors side by side along a dimension.
static RankedTensorType joinedType(ArrayRef<Value> parts, int64_t dim) {
  SmallVector<int64_t> shape(shapeOf(parts.front()));
  for (Value part : parts.drop_front()) {
    shape[dim] += shapeOf(part)[dim];
  }
  return typeOf(parts.front()).clone(shape);
}

Value NNBuilder::concat(ArrayRef<Value> parts, int64_t dim) {
  return builder.create<ConcatOp>(location, joinedType(parts, dim), parts, dim);
}

Value NNBuilder::takeRows(Value x, int64_t first, int64_t count) {
  SmallVector<int64_t> shape(shapeOf(x));
  shape.front() = count;
  return builder.create<TakeRowsOp>(location, typeOf(x).clone(shape), x, first);
}

Value NNBuilder::joinRows(ArrayRef<Value> parts) {
  return builder.create<JoinRowsOp>(location, joinedType(parts, /*dim=*/0),
                                    parts);
}

Value NNBuilder::reduce(ReduceKind kind, Value x, ArrayRef<int64_t> dims) {
  if (dims.empty()) {
    return x;
  }
  SmallVector<int64_t> shape(shapeOf(x));
  for (int64_t dim : dims) {
    shape[dim] = 1;
  }
  return builder.create<ReduceOp>(location, typeOf(x).clone(shape), kind, x,
                                  dims);
}

Value NNBuilder::sumRows(Value x) {
  return sum(x, {static_cast<int64_t>(shapeOf(x).size()) - 1});
}

Value NNBuilder::convolution(ConvolutionOp like, ConvolutionKind kind,
                             Value lhs, Value rhs, Type resultType) {
  return builder.create<ConvolutionOp>(location, resultType, kind, lhs, rhs,
                                       like.getStrides(), like.getLow(),
                                       like.getDilations(), like.getGroups());
}

Value NNBuilder::matmul(Value a, Value b, bool transposeA, bool transposeB,
                        Type resultType) {
  return builder.create<MatmulOp>(location, resultType, a, b, /*into=*/Value(),
                                  /*bias=*/Value(), transposeA, transposeB);
}
