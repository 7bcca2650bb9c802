//===- Columns.cpp - kernels that reduce the rows of each column ----------===//
//
// Work is handed out in chunks of sixteen columns, none of which crosses runs.
//
//===----------------------------------------------------------------------===//

#include "codegen/emit/loops/ColumnLoops.h"
#include "codegen/host/forms/Forms.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::host;

/// Several runs: work is counted in chunks; each run takes a whole number of
/// them, the last of which may be part of one.
static WorkRange emitRuns(HostBody &body, const Domain &domain,
                          ColumnLoops &loops) {
  Lanes &l = body.lanes;
  int64_t chunksOfRun = llvm::divideCeil(domain.cols, kLanes);
  Value perRun = l.index(chunksOfRun);
  body.loop(body.begin, body.end, 1, {}, [&](Value at, ValueRange) {
    ColumnGroup group;
    group.run = l.b.create<arith::DivUIOp>(at, perRun);
    Value chunk = l.b.create<arith::RemUIOp>(at, perRun);
    group.col = l.mul(chunk, l.index(kLanes));
    if (domain.cols % kLanes != 0) {
      group.mask = l.maskBelow(l.sub(l.index(domain.cols), group.col));
    }
    loops.emitGroup(group);
    return SmallVector<Value>();
  });
  return {domain.runs * chunksOfRun, 1};
}

/// One run: as many columns at a time as leave their sums in registers.
static WorkRange emitColumnsOfOneRun(HostBody &body, const ColumnFolds &folds,
                                     ColumnLoops &loops) {
  Lanes &l = body.lanes;
  int64_t chunks = std::max<int64_t>(1, 8 / int64_t(folds.reductions.size()));
  Value step = l.index(chunks * kLanes);
  Value count = l.sub(body.end, body.begin);
  Value whole = l.mul(l.b.create<arith::DivUIOp>(count, step), step);
  Value middle = l.add(body.begin, whole);
  body.loop(body.begin, middle, chunks * kLanes, {},
            [&](Value col, ValueRange) {
              loops.emitGroup({{}, col, chunks, {}});
              return SmallVector<Value>();
            });
  body.loop(middle, body.end, kLanes, {}, [&](Value col, ValueRange) {
    loops.emitGroup({{}, col, 1, l.maskBelow(l.sub(body.end, col))});
    return SmallVector<Value>();
  });
  // Threads get whole steps where there are several for each.
  constexpr int64_t kStepsWorthKeeping = 4;
  int64_t cols = folds.domain.cols;
  return {cols, cols >= kStepsWorthKeeping * chunks * kLanes ? chunks * kLanes
                                                             : kLanes};
}

FailureOr<WorkRange> host::emitColumns(ImplicitLocOpBuilder &b,
                                       nn::KernelOp kernel, StringRef name) {
  ColumnFolds folds;
  if (failed(folds.find(kernel))) {
    return failure();
  }
  HostBody body(b, kernel, *folds.graph, name);
  ColumnLoops loops(body, folds);
  body.enterKernel();
  WorkRange range = folds.domain.runs > 1
                        ? emitRuns(body, folds.domain, loops)
                        : emitColumnsOfOneRun(body, folds, loops);
  body.finish();
  return range;
}
