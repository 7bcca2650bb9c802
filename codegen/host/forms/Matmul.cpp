//===- Matmul.cpp - products of matrices by plain loops -------------------===//

#include "codegen/emit/loops/MatmulLoops.h"
#include "codegen/host/forms/Forms.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

FailureOr<WorkRange> host::emitMatmul(ImplicitLocOpBuilder &b,
                                      nn::MatmulOp matmul, StringRef name) {
  FailureOr<MatmulLoops> loops = MatmulLoops::of(matmul);
  if (failed(loops)) {
    return failure();
  }
  /// Chunks whose sums one turn keeps in registers.
  constexpr int64_t kChunks = 4;
  Graph graph(Domain{loops->rows, loops->n}, /*reducesColumns=*/true);
  HostBody body(b, matmul, graph, name);
  Lanes &l = body.lanes;
  body.loop(body.begin, body.end, 1, {}, [&](Value number, ValueRange) {
    MatmulLoops::RowStart row = loops->enterRow(body, number);
    int64_t step = kChunks * kLanes, col = loops->n / step * step;
    if (col > 0) {
      body.loop(l.index(0), l.index(col), step, {},
                [&](Value first, ValueRange) {
                  loops->emitColumns(body, row, first, kChunks, {});
                  return SmallVector<Value>();
                });
    }
    for (; col < loops->n; col += kLanes) {
      int64_t rest = loops->n - col;
      loops->emitColumns(body, row, l.index(col), 1,
                         rest < kLanes ? l.maskBelow(rest) : Value());
    }
    return SmallVector<Value>();
  });
  body.finish();
  return WorkRange{loops->rows, 1};
}
