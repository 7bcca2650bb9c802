//===- RowResult.cpp - results as wide as the rows of a kernel ------------===//

#include "codegen/emit/loops/RowResult.h"

#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::emit;

LogicalResult emit::setStride(nn::KernelOp kernel, RowResult &result,
                              int64_t cols) {
  auto type = cast<RankedTensorType>(kernel.getResult(result.number).getType());
  result.stride = nn::isDense(type) ? cols : nn::rowStrideOf(type);
  if (nn::isDense(type) || type.getShape().back() == cols) {
    return success();
  }
  return kernel.emitError("'")
         << nn::nameOf(kernel.getLoc()) << "': result " << result.number
         << " has rows of " << type.getShape().back()
         << " elements that lie apart; the kernel's have " << cols;
}

SmallVector<Value> emit::valuesOf(Body &body, ArrayRef<RowResult> results,
                                  Chunk &chunk) {
  SmallVector<Value> values;
  for (const RowResult &result : results) {
    values.push_back(body.vector(result.node, chunk));
  }
  return values;
}

void emit::storeValues(Body &body, const Domain &domain,
                       ArrayRef<RowResult> results, Value row,
                       const Chunk &chunk, ValueRange values) {
  Lanes &l = body.lanes;
  for (auto [result, value] : llvm::zip_equal(results, values)) {
    Value offset = l.add(l.mul(row, l.index(result.stride)), chunk.col);
    int64_t together =
        std::gcd(l.width, domain.rows > 1 ? result.stride : int64_t(0));
    body.store(body.resultPointer(result.number), offset, value, chunk.mask,
               together);
  }
}
