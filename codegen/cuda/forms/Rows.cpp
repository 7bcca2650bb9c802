//===- Rows.cpp - kernels over independent rows ---------------------------===//
//
// A warp computes a row, and each of its threads two of the row's chains, t and
// t + 32: what the warp reads together lies together. Without reductions every
// element has a thread.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/loops/RowLoops.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

class WarpRowLoops final : public RowLoops {
public:
  WarpRowLoops(CudaBody &body, RowSweeps &sweeps, Value lane)
      : RowLoops(body, sweeps, {kWarp, lane}), cuda(body), lane(lane) {}

protected:
  /// Two that combine give both of their threads the same bits, as no reduction
  /// depends on the order of its operands.
  Value combineChains(ArrayRef<Value> chains, Combine combine) override {
    auto combined = [&](Value x, int32_t bit) {
      return combine(x, cuda.shuffleXor(x, bit));
    };
    Value sum = combine(combined(chains[0], 16), combined(chains[1], 16));
    for (int32_t bit : {8, 4, 2, 1}) {
      sum = combined(sum, bit);
    }
    return sum;
  }

  void once(llvm::function_ref<void()> emit) override {
    cuda.syncWarp();
    Lanes &l = cuda.lanes;
    cuda.when(l.compare(arith::CmpIPredicate::eq, lane, l.index(0)), emit);
  }

private:
  CudaBody &cuda;
  Value lane;
};

void emitElement(CudaBody &body, RowSweeps &sweeps, Value item) {
  Lanes &l = body.lanes;
  ElementLoops loops(body, sweeps);
  Value cols = l.index(sweeps.domain.cols);
  if (sweeps.isFlat()) {
    loops.enterRow(l.index(0));
    loops.emit(item, 1, {});
    return;
  }
  loops.enterRow(l.b.create<arith::DivUIOp>(item, cols));
  loops.emit(l.b.create<arith::RemUIOp>(item, cols), 1, {});
}

} // namespace

FailureOr<CudaKernelInfo> cuda::emitRows(ImplicitLocOpBuilder &b,
                                         nn::KernelOp kernel, StringRef name) {
  RowSweeps sweeps;
  if (failed(sweeps.find(kernel))) {
    return failure();
  }
  CudaBody body(b, kernel, *sweeps.graph, name);
  CudaLaunch launch;
  if (sweeps.isElementwise()) {
    int64_t items = sweeps.domain.rows * sweeps.domain.cols;
    body.forItem(items, [&](Value item) { emitElement(body, sweeps, item); });
    launch = launchOver(name, items);
  } else {
    body.forWarp(sweeps.domain.rows, [&](Value row, Value lane) {
      WarpRowLoops(body, sweeps, lane).emitRow(row);
    });
    launch = launchOverWarps(name, sweeps.domain.rows);
  }
  body.finish();
  return onlyLaunch(launch);
}
