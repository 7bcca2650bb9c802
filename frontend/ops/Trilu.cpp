//===- Trilu.cpp - triangles of matrices ----------------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>

using mlir::Value;

namespace zerograph::frontend {

namespace {

/// Returns the shift of the diagonal; what lies beyond a matrix is at its edge.
int64_t shiftOf(Op &op, int64_t rows, int64_t columns) {
  int64_t k = op.hasInput(1) ? op.constant(1, "k").intAt(0) : 0;
  return std::clamp(k, -rows, columns);
}

void emitTrilu(Op &op) {
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t rank = shape.size();
  if (rank < 2) {
    fail("needs rank 2 or more");
  }
  mlir::Type index = op.emit.builder.getI64Type();
  Shape matrix(shape.end() - 2, shape.end());
  int64_t shift = shiftOf(op, matrix[0], matrix[1]);
  Value row =
      op.emit.add(op.emit.iota(0, matrix, index), static_cast<double>(shift));
  Value column = op.emit.iota(1, matrix, index);
  Value keep =
      op.emit.compare(op.intAttribute("upper", 1) != 0 ? nn::CompareKind::ge
                                                       : nn::CompareKind::le,
                      column, row);
  op.set(0, op.emit.select(keep, x, op.emit.splatLike(0, x)));
}

void foldTrilu(Op &op) {
  const HostTensor &x = op.constant(0, "operand");
  if (x.rank() < 2) {
    fail("needs rank 2 or more");
  }
  bool upper = op.intAttribute("upper", 1) != 0;
  int64_t columns = x.shape()[x.rank() - 1], rows = x.shape()[x.rank() - 2];
  int64_t shift = shiftOf(op, rows, columns);
  HostTensor result(x.type(), x.shape());
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t column = i % columns, limit = i / columns % rows + shift;
    if (upper ? column >= limit : column <= limit) {
      result.copyFrom(i, x, i);
    }
  }
  op.set(0, result);
}

const OpDef kOps[] = {
    {"Trilu", 14, emitTrilu, foldTrilu, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> triluOps() { return kOps; }

} // namespace zerograph::frontend
