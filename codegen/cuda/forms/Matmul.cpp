//===- Matmul.cpp - products of matrices by plain loops -------------------===//
//
// A thread computes an element; neighbours have neighbouring columns.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/loops/MatmulLoops.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

FailureOr<CudaKernelInfo>
cuda::emitMatmul(ImplicitLocOpBuilder &b, nn::MatmulOp matmul, StringRef name) {
  FailureOr<MatmulLoops> loops = MatmulLoops::of(matmul);
  if (failed(loops)) {
    return failure();
  }
  Graph graph(Domain{loops->rows, loops->n}, /*reducesColumns=*/true);
  CudaBody body(b, matmul, graph, name);
  Lanes &l = body.lanes;
  int64_t items = loops->rows * loops->n;
  body.forItem(items, [&](Value item) {
    Value n = l.index(loops->n);
    Value row = l.b.create<arith::DivUIOp>(item, n);
    Value col = l.b.create<arith::RemUIOp>(item, n);
    loops->emitColumns(body, loops->enterRow(body, row), col, 1, {});
  });
  body.finish();
  return onlyLaunch(launchOver(name, items));
}
