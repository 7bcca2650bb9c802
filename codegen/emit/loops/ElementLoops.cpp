//===- ElementLoops.cpp - how elements of a kernel are computed -----------===//

#include "codegen/emit/loops/ElementLoops.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

void emit::storeResults(Body &body, const Domain &domain,
                        ArrayRef<RowResult> results, Value row, Chunk &chunk) {
  Lanes &l = body.lanes;
  // All values before the first store: a result may lie on an operand.
  SmallVector<Value> values;
  for (const RowResult &result : results) {
    values.push_back(body.vector(result.node, chunk));
  }
  for (auto [result, value] : llvm::zip(results, values)) {
    Value offset = l.add(l.mul(row, l.index(result.stride)), chunk.col);
    int64_t together =
        std::gcd(l.width, domain.rows > 1 ? result.stride : int64_t(0));
    body.store(body.resultPointer(result.number), offset, value, chunk.mask,
               together);
  }
}

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
    storeResults(body, sweeps.domain, sweeps.sweeps.front().stores, row, chunk);
  }
}
