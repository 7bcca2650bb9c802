//===- Scatter.cpp - rows into a table ------------------------------------===//
//
// A warp owns a row of the table: it looks through all indices for those of its
// row, 32 at a time, and makes these updates in order. So there is no atomic
// operation, and the order is that of the updates. The work of looking grows
// with rows x updates: a table of 50,257 rows and 8,192 updates are 13 million
// steps of a warp.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/forms/Forms.h"
#include "codegen/emit/loops/ScatterLoops.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::cuda;

namespace {

class ScatterEmitter {
public:
  ScatterEmitter(CudaBody &body, ScatterLoops &scatter)
      : body(body), l(body.lanes), scatter(scatter) {}

  void emitRow(Value tableRow, Value lane);

private:
  /// Columns lane, lane + 32, ... of the row.
  void forColumns(llvm::function_ref<void(Value)> emit);
  void emitSets();
  Value isOwn(Value number);
  void emitUpdates(Value first, Value found);

  CudaBody &body;
  Lanes &l;
  ScatterLoops &scatter;
  /// The row of the table, where its elements begin, the thread of the warp.
  Value tableRow, start, lane;
};

void ScatterEmitter::forColumns(llvm::function_ref<void(Value)> emit) {
  body.loop(lane, l.index(scatter.cols), kWarp, {}, [&](Value col, ValueRange) {
    emit(col);
    return SmallVector<Value>();
  });
}

void ScatterEmitter::emitSets() {
  Value rows = scatter.rowsToSet(body);
  body.when(l.compare(arith::CmpIPredicate::slt, tableRow, rows), [&] {
    forColumns(
        [&](Value col) { scatter.emitSet(body, l.add(start, col), {}); });
  });
}

/// Whether update `number`, if there is one, is for this row.
Value ScatterEmitter::isOwn(Value number) {
  ImplicitLocOpBuilder &b = l.b;
  Value exists =
      l.compare(arith::CmpIPredicate::slt, number, l.index(scatter.updates));
  // Another's index is read instead of none.
  Value other = l.index(0);
  Value row = scatter.enterUpdate(body, l.select(exists, number, other));
  Value same = b.create<arith::CmpIOp>(arith::CmpIPredicate::eq, row, tableRow);
  return l.logicalAnd(exists, same);
}

/// The updates first + i for the bits i of `found`, in order.
void ScatterEmitter::emitUpdates(Value first, Value found) {
  ImplicitLocOpBuilder &b = l.b;
  Type i32 = b.getI32Type(), i64 = b.getI64Type();
  Value count = b.create<arith::ExtUIOp>(i64, b.create<math::CtPopOp>(found));
  body.loop(l.index(0), count, 1, found, [&](Value, ValueRange left) {
    Value bit = b.create<math::CountTrailingZerosOp>(left[0]);
    Value number = l.add(first, b.create<arith::ExtUIOp>(i64, bit));
    body.enterRow(number);
    body.prepare(scatter.update);
    forColumns([&](Value col) { scatter.emitUpdate(body, start, col, {}); });
    Value less = l.sub(left[0], l.integer(i32, 1));
    return SmallVector<Value>{l.logicalAnd(left[0], less)};
  });
}

void ScatterEmitter::emitRow(Value row, Value thread) {
  tableRow = row;
  lane = thread;
  start = l.mul(row, l.index(scatter.cols));
  emitSets();
  body.loop(l.index(0), l.index(scatter.updates), kWarp, {},
            [&](Value first, ValueRange) {
              Value found = body.ballot(isOwn(l.add(first, lane)));
              emitUpdates(first, found);
              return SmallVector<Value>();
            });
}

} // namespace

FailureOr<CudaKernelInfo> cuda::emitScatter(ImplicitLocOpBuilder &b,
                                            nn::KernelOp kernel,
                                            StringRef name) {
  ScatterLoops scatter;
  if (failed(scatter.find(kernel))) {
    return failure();
  }
  CudaBody body(b, kernel, *scatter.graph, name);
  body.forWarp(scatter.tableRows, [&](Value row, Value lane) {
    ScatterEmitter(body, scatter).emitRow(row, lane);
  });
  body.finish();
  return onlyLaunch(launchOverWarps(name, scatter.tableRows));
}
