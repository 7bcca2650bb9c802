//===- Scatter.cpp - rows into a table ------------------------------------===//
//
// Threads take columns of the table, so that every element is set and updated
// by one of them.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/loops/ScatterLoops.h"
#include "codegen/host/forms/Forms.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

/// emit(first, mask) for elements [begin, end), sixteen at a time.
static void forRange(Body &body, Value begin, Value end,
                     llvm::function_ref<void(Value, Value)> emit) {
  Lanes &l = body.lanes;
  Value step = l.index(kLanes);
  Value whole = l.b.create<arith::DivUIOp>(l.sub(end, begin), step);
  Value middle = l.add(begin, l.mul(whole, step));
  body.loop(begin, middle, kLanes, {}, [&](Value at, ValueRange) {
    emit(at, {});
    return SmallVector<Value>();
  });
  body.loop(middle, end, kLanes, {}, [&](Value at, ValueRange) {
    emit(at, l.maskBelow(l.sub(end, at)));
    return SmallVector<Value>();
  });
}

/// The rows that no update may find unset.
static void emitSets(HostBody &body, ScatterLoops &scatter) {
  Lanes &l = body.lanes;
  Value rows = scatter.rowsToSet(body);
  if (scatter.cols < kLanes) {
    // One thread has all columns, the others none: rows lie side by side.
    forRange(body, l.index(0), l.mul(rows, l.sub(body.end, body.begin)),
             [&](Value at, Value mask) { scatter.emitSet(body, at, mask); });
    return;
  }
  body.loop(l.index(0), rows, 1, {}, [&](Value row, ValueRange) {
    Value start = l.mul(row, l.index(scatter.cols));
    forRange(body, body.begin, body.end, [&](Value col, Value mask) {
      scatter.emitSet(body, l.add(start, col), mask);
    });
    return SmallVector<Value>();
  });
}

FailureOr<WorkRange> host::emitScatter(ImplicitLocOpBuilder &b,
                                       nn::KernelOp kernel, StringRef name) {
  ScatterLoops scatter;
  if (failed(scatter.find(kernel))) {
    return failure();
  }
  HostBody body(b, kernel, *scatter.graph, name);
  Lanes &l = body.lanes;
  body.enterKernel();
  emitSets(body, scatter);
  body.loop(l.index(0), l.index(scatter.updates), 1, {},
            [&](Value number, ValueRange) {
              Value row = scatter.enterUpdate(body, number);
              Value start = l.mul(row, l.index(scatter.cols));
              body.prepare(scatter.update);
              forRange(body, body.begin, body.end, [&](Value col, Value mask) {
                scatter.emitUpdate(body, start, col, mask);
              });
              return SmallVector<Value>();
            });
  body.finish();
  return WorkRange{scatter.cols, kLanes};
}
