//===- Matmul.cpp - products of matrices by plain loops -------------------===//
//
// For what no library serves, or may not. Each element is a chain of fma in the
// order of k.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/Elementwise.h"
#include "codegen/host/forms/Forms.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

namespace {

struct Matmul {
  Body &body;
  Type element;
  int64_t n, k;
  /// Elements from one index to the next.
  int64_t lhsK, rhsK, rhsN;
  /// First elements of this row of lhs and result, of this batch of rhs.
  Value lhs, rhs, result;

  Value loadRhs(Value k, Value col, Value mask) {
    Lanes &l = body.lanes;
    Value offset = l.add(rhs, l.mul(k, l.index(rhsK)));
    if (rhsN == 1) {
      return body.load(body.operandPointer(1), l.add(offset, col), element,
                       /*asVector=*/true, mask);
    }
    Value lane = l.add(l.splat(col), l.iota(l.b.getI64Type()));
    Value offsets = l.mul(lane, l.integer(lane.getType(), rhsN));
    return body.gather(body.operandPointer(1), l.add(l.splat(offset), offsets),
                       element, mask, {});
  }

  /// `chunks` times sixteen columns.
  void emit(Value col, int64_t chunks, Value mask) {
    Lanes &l = body.lanes;
    SmallVector<Value> sums(chunks, l.zero(l.vectorOf(element)));
    sums = body.loop(
        l.index(0), l.index(k), 1, sums, [&](Value i, ValueRange carried) {
          Value a = l.splat(body.load(body.operandPointer(0),
                                      l.add(lhs, l.mul(i, l.index(lhsK))),
                                      element, /*asVector=*/false, {}));
          SmallVector<Value> next;
          for (int64_t u = 0; u < chunks; ++u) {
            Value b = loadRhs(i, l.add(col, l.index(u * kLanes)), mask);
            next.push_back(l.fma(a, b, carried[u]));
          }
          return next;
        });
    for (int64_t u = 0; u < chunks; ++u) {
      Value place = l.add(l.add(result, col), l.index(u * kLanes));
      body.store(body.resultPointer(0), place, sums[u], mask);
    }
  }
};

} // namespace

FailureOr<WorkRange> host::emitMatmul(ImplicitLocOpBuilder &b,
                                      nn::MatmulOp matmul, StringRef name) {
  auto type = cast<RankedTensorType>(matmul.getType());
  if (failed(checkElementType(matmul, type.getElementType()))) {
    return failure();
  }
  auto lhsType = cast<RankedTensorType>(matmul.getLhs().getType());
  int64_t rank = type.getRank();
  int64_t m = type.getDimSize(rank - 2), n = type.getDimSize(rank - 1);
  int64_t k = lhsType.getDimSize(rank - (matmul.getTransposeA() ? 2 : 1));
  int64_t rows = type.getNumElements() / n;
  Graph graph(Domain{rows, n}, /*reducesColumns=*/true);
  HostBody body(b, matmul, graph, name);
  Lanes &l = body.lanes;
  body.loop(body.begin, body.end, 1, {}, [&](Value row, ValueRange) {
    Value batch = b.create<arith::DivUIOp>(row, l.index(m));
    Value i = b.create<arith::RemUIOp>(row, l.index(m));
    bool ta = matmul.getTransposeA(), tb = matmul.getTransposeB();
    Matmul loops{body,       type.getElementType(),
                 n,          k,
                 ta ? m : 1, tb ? 1 : n,
                 tb ? k : 1, {},
                 {},         {}};
    loops.lhs =
        l.add(l.mul(batch, l.index(m * k)), l.mul(i, l.index(ta ? 1 : k)));
    loops.rhs = l.mul(batch, l.index(k * n));
    loops.result = l.mul(row, l.index(n));
    int64_t step = kUnroll * kLanes, col = n / step * step;
    if (col > 0) {
      body.loop(l.index(0), l.index(col), step, {},
                [&](Value first, ValueRange) {
                  loops.emit(first, kUnroll, {});
                  return SmallVector<Value>();
                });
    }
    for (; col < n; col += kLanes) {
      int64_t rest = n - col;
      loops.emit(l.index(col), 1, rest < kLanes ? l.maskBelow(rest) : Value());
    }
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{rows, 1};
}
