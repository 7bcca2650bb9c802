//===- MatmulLoops.cpp - how elements of a product are computed -----------===//

#include "codegen/emit/loops/MatmulLoops.h"

#include "codegen/emit/Elementwise.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

FailureOr<MatmulLoops> MatmulLoops::of(nn::MatmulOp matmul) {
  auto type = cast<RankedTensorType>(matmul.getType());
  if (failed(checkElementType(matmul, type.getElementType()))) {
    return failure();
  }
  auto lhs = cast<RankedTensorType>(matmul.getLhs().getType());
  bool ta = matmul.getTransposeA(), tb = matmul.getTransposeB();
  int64_t rank = type.getRank();
  int64_t m = type.getDimSize(rank - 2), n = type.getDimSize(rank - 1);
  int64_t k = lhs.getDimSize(rank - (ta ? 2 : 1));
  return MatmulLoops{
      type.getElementType(),  type.getNumElements() / n, m, n, k, ta, tb,
      bool(matmul.getInto()), bool(matmul.getBias())};
}

MatmulLoops::RowStart MatmulLoops::enterRow(Body &body, Value row) const {
  Lanes &l = body.lanes;
  auto [batch, i] = l.divide(row, m);
  Value ofRow = l.mul(i, l.index(transposeA ? 1 : k));
  return {l.add(l.mul(batch, l.index(m * k)), ofRow),
          l.mul(batch, l.index(k * n)), l.mul(row, l.index(n))};
}

Value MatmulLoops::loadRhs(Body &body, const RowStart &row, Value i, Value col,
                           Value mask) const {
  Lanes &l = body.lanes;
  Value offset = l.add(row.rhs, l.mul(i, l.index(transposeB ? 1 : n)));
  if (!transposeB) {
    return body.load(body.operandPointer(1), l.add(offset, col), element,
                     /*asVector=*/true, mask);
  }
  Value lane = l.add(l.splat(col), l.iota(l.indexType));
  Value offsets = l.mul(lane, l.integer(lane.getType(), k));
  return body.gather(body.operandPointer(1), l.add(l.splat(offset), offsets),
                     element, mask, {});
}

void MatmulLoops::emitColumns(Body &body, const RowStart &row, Value col,
                              int64_t chunks, Value mask) const {
  Lanes &l = body.lanes;
  SmallVector<Value> sums(chunks, l.zero(l.vectorOf(element)));
  sums = body.loop(
      l.index(0), l.index(k), 1, sums, [&](Value i, ValueRange carried) {
        Value step = l.index(transposeA ? m : 1);
        Value a = l.splat(body.load(body.operandPointer(0),
                                    l.add(row.lhs, l.mul(i, step)), element,
                                    /*asVector=*/false, {}));
        SmallVector<Value> next;
        for (int64_t u = 0; u < chunks; ++u) {
          Value first = l.add(col, l.index(u * l.width));
          Value b = loadRhs(body, row, i, first, mask);
          next.push_back(l.fma(a, b, carried[u]));
        }
        return next;
      });
  for (int64_t u = 0; u < chunks; ++u) {
    Value place = l.add(l.add(row.result, col), l.index(u * l.width));
    Value sum = sums[u];
    if (accumulate || bias) {
      Value column = l.add(col, l.index(u * l.width));
      Value added = body.load(body.operandPointer(2), bias ? column : place,
                              element, /*asVector=*/true, mask);
      sum = l.add(added, sum);
    }
    body.store(body.resultPointer(0), place, sum, mask);
  }
}
