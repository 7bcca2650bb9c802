//===- Trilu.cpp - triangles of matrices ----------------------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

void emitTrilu(Op &op) {
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  int64_t rank = shape.size();
  if (rank < 2) {
    fail("needs rank 2 or more");
  }
  int64_t shift = op.hasInput(1) ? op.constant(1, "k").intAt(0) : 0;
  mlir::Type index = op.emit.builder.getI64Type();
  Shape matrix(shape.end() - 2, shape.end());
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
  int64_t shift = op.hasInput(1) ? op.constant(1, "k").intAt(0) : 0;
  bool upper = op.intAttribute("upper", 1) != 0;
  int64_t columns = x.shape()[x.rank() - 1], rows = x.shape()[x.rank() - 2];
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
