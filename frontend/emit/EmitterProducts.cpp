//===- EmitterProducts.cpp - reductions, products and gathers -------------===//

#include "frontend/emit/Emitter.h"

#include "frontend/base/Error.h"

#include <algorithm>

using namespace mlir;

namespace zerograph::frontend {

Value Emitter::reduce(nn::ReduceKind kind, Value x, std::vector<int64_t> axes,
                      bool keepDims, bool first) {
  if (elementOf(x).isInteger(1)) {
    fail("a reduction of BOOL is not supported");
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  Shape kept = shapeOf(x), dropped;
  for (int64_t axis : axes) {
    kept[axis] = 1;
  }
  for (int64_t dim = 0; dim < static_cast<int64_t>(kept.size()); ++dim) {
    if (!std::binary_search(axes.begin(), axes.end(), dim)) {
      dropped.push_back(kept[dim]);
    }
  }
  Value result = builder.createOrFold<nn::ReduceOp>(
      location, tensorType(kept, elementOf(x)), kind, x, axes, first);
  return keepDims ? result : reshape(result, dropped);
}

/// If `x` swaps the last two dims of another value, that value.
static Value swappedOperand(Value x) {
  auto transpose = x.getDefiningOp<nn::TransposeOp>();
  if (!transpose) {
    return {};
  }
  SmallVector<int64_t> order(transpose.getPermutation());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return llvm::equal(order, llvm::seq<int64_t>(0, order.size()))
             ? transpose.getOperand()
             : Value();
}

/// The shape of a product whose operands' batches broadcast to `batch`.
static Shape productShape(Shape batch, const Shape &a, const Shape &b,
                          bool transposeA, bool transposeB) {
  auto size = [](const Shape &shape, bool last) {
    return shape[shape.size() - (last ? 1 : 2)];
  };
  if (size(a, !transposeA) != size(b, transposeB)) {
    fail("matrix shapes ", shapeText(a), transposeA ? " (transposed)" : "",
         " and ", shapeText(b), transposeB ? " (transposed)" : "",
         " do not fit");
  }
  batch.push_back(size(a, transposeA));
  batch.push_back(size(b, !transposeB));
  return batch;
}

Value Emitter::matmul(Value a, Value b, bool transposeA, bool transposeB) {
  if (elementOf(a) != elementOf(b) || !isFloat(a)) {
    fail("matrix product of ", typeName(onnxTypeOf(elementOf(a))), " and ",
         typeName(onnxTypeOf(elementOf(b))), " is not supported");
  }
  if (Value inner = swappedOperand(a)) {
    a = inner;
    transposeA = !transposeA;
  }
  if (Value inner = swappedOperand(b)) {
    b = inner;
    transposeB = !transposeB;
  }
  Shape shapeA = shapeOf(a), shapeB = shapeOf(b);
  // Rows of all batches against one matrix are one product.
  if (shapeB.size() == 2 && shapeA.size() > 2 && !transposeA) {
    Shape result = shapeA;
    int64_t inner = shapeA.back();
    int64_t rows = elementCount(shapeA) / inner;
    result.back() = shapeB[transposeB ? 0 : 1];
    return reshape(matmul(reshape(a, {rows, inner}), b, false, transposeB),
                   result);
  }
  Shape batchA(shapeA.begin(), shapeA.end() - 2);
  Shape batchB(shapeB.begin(), shapeB.end() - 2);
  Shape batch = broadcastShapes(batchA, batchB);
  auto withBatch = [&](Value x, const Shape &own) {
    Shape full = batch;
    full.insert(full.end(), own.end() - 2, own.end());
    return broadcastTo(x, full);
  };
  a = withBatch(a, shapeA);
  b = withBatch(b, shapeB);
  Shape result = productShape(batch, shapeA, shapeB, transposeA, transposeB);
  return builder.create<nn::MatmulOp>(
      location, tensorType(result, elementOf(a)), a, b, /*into=*/Value(),
      /*bias=*/Value(), transposeA, transposeB);
}

Value Emitter::gather(Value table, Value indices) {
  Type element = elementOf(indices);
  if (!element.isInteger(64) && !element.isInteger(32)) {
    indices = convert(indices, builder.getI64Type());
  }
  Shape shape = shapeOf(indices), rows = shapeOf(table);
  shape.insert(shape.end(), rows.begin() + 1, rows.end());
  return builder.create<nn::GatherOp>(
      location, tensorType(shape, elementOf(table)), table, indices);
}

Value Emitter::softmax(Value x) {
  if (!isFloat(x) || rankOf(x) == 0) {
    fail("softmax needs floats of rank 1 or more");
  }
  return builder.create<nn::SoftmaxOp>(location, x.getType(), x);
}

} // namespace zerograph::frontend
