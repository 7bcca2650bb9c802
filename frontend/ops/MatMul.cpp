//===- MatMul.cpp - products of matrices ----------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

void emitMatMul(Op &op) {
  Value a = op.value(0), b = op.value(1);
  Shape shapeA = Emitter::shapeOf(a), shapeB = Emitter::shapeOf(b);
  if (shapeA.empty() || shapeB.empty()) {
    fail("the operands need rank 1 or more");
  }
  // A vector is a row on the left and a column on the right.
  bool dropRow = shapeA.size() == 1, dropColumn = shapeB.size() == 1;
  if (dropRow) {
    a = op.emit.reshape(a, {1, shapeA[0]});
  }
  if (dropColumn) {
    b = op.emit.reshape(b, {shapeB[0], 1});
  }
  Value result = op.emit.matmul(a, b);
  Shape shape = Emitter::shapeOf(result);
  if (dropColumn) {
    shape.pop_back();
  }
  if (dropRow) {
    shape.erase(shape.end() - (dropColumn ? 1 : 2));
  }
  op.set(0, op.emit.reshape(result, shape));
}

/// For small products of constants, such as rotary angles.
void foldMatMul(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  const HostTensor &y = op.constant(1, "operand");
  if (!x.isFloat() || x.type() != y.type() || x.rank() < 2 || y.rank() < 2) {
    throw TooLarge(); // rare: leave it to the program
  }
  int64_t rows = x.shape()[x.rank() - 2], inner = x.shape()[x.rank() - 1];
  int64_t columns = y.shape()[y.rank() - 1];
  if (y.shape()[y.rank() - 2] != inner) {
    fail("matrix shapes ", shapeText(x.shape()), " and ", shapeText(y.shape()),
         " do not fit");
  }
  Shape batch = broadcastShapes(Shape(x.shape().begin(), x.shape().end() - 2),
                                Shape(y.shape().begin(), y.shape().end() - 2));
  auto withMatrix = [&](int64_t a, int64_t b) {
    Shape shape = batch;
    shape.insert(shape.end(), {a, b});
    return shape;
  };
  HostTensor result(x.type(), withMatrix(rows, columns));
  if (inner > HostTensor::kMaxElements / std::max<int64_t>(1, result.size())) {
    throw TooLarge();
  }
  HostTensor a = broadcastTo(x, withMatrix(rows, inner));
  HostTensor b = broadcastTo(y, withMatrix(inner, columns));
  for (int64_t i = 0; i < result.size(); ++i) {
    int64_t matrix = i / (rows * columns), row = i / columns % rows;
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) {
      sum += a.floatAt((matrix * rows + row) * inner + k) *
             b.floatAt((matrix * inner + k) * columns + i % columns);
    }
    result.setFloat(i, sum);
  }
  op.set(0, result);
}

void emitGemm(Op &op) {
  Value a = op.value(0), b = op.value(1);
  if (Emitter::rankOf(a) != 2 || Emitter::rankOf(b) != 2) {
    fail("A and B need rank 2");
  }
  Value result = op.emit.matmul(a, b, op.intAttribute("transA", 0) != 0,
                                op.intAttribute("transB", 0) != 0);
  float alpha = op.floatAttribute("alpha", 1),
        beta = op.floatAttribute("beta", 1);
  if (alpha != 1) {
    result = op.emit.mul(result, alpha);
  }
  if (op.hasInput(2) && beta != 0) {
    Value bias = op.value(2);
    if (beta != 1) {
      bias = op.emit.mul(bias, beta);
    }
    Shape shape = Emitter::shapeOf(result);
    result = op.emit.add(result, op.emit.broadcastTo(bias, shape));
  }
  op.set(0, result);
}

const OpDef kOps[] = {
    {"Gemm", 7, emitGemm},
    {"MatMul", 1, emitMatMul, foldMatMul},
};

} // namespace

llvm::ArrayRef<OpDef> matmulOps() { return kOps; }

} // namespace zerograph::frontend
