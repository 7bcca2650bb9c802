//===- ElementLoops.cpp - how elements of a kernel are computed -----------===//

#include "codegen/emit/loops/ElementLoops.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

void ElementLoops::enterRow(Value entered) {
  row = entered;
  body.enterRow(row);
  for (const RowResult &result : sweeps.sweeps.front().stores) {
    body.prepare(result.node);
  }
}

void ElementLoops::emit(Value col, int64_t chunks, Value mask) {
  Lanes &l = body.lanes;
  for (int64_t u = 0; u < chunks; ++u) {
    Chunk chunk(l.add(col, l.index(u * l.width)), mask);
    ArrayRef<RowResult> results = sweeps.sweeps.front().stores;
    storeValues(body, sweeps.domain, results, row, chunk,
                valuesOf(body, results, chunk));
  }
}
