//===- Concat.cpp - concat by selects of padded operands ------------------===//

#include "passes/ir/nn/PackedGradients.h"
#include "passes/kernels/decompose/Decomposition.h"

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

Replacement concat(ConcatOp op, NNBuilder &b) {
  if (packedGradients(op).whole) {
    return {}; // nn-form-attention takes it
  }
  ArrayRef<int64_t> shape = shapeOf(op);
  int64_t dim = op.getDim();
  int64_t end = shape[dim];
  Value position, result;
  // From the last operand to the first: each is chosen before its end.
  for (Value operand : llvm::reverse(op.getOperands())) {
    int64_t begin = end - shapeOf(operand)[dim];
    SmallVector<int64_t> low(shape.size(), 0);
    low[dim] = begin;
    Value padded = b.pad(operand, low, shape);
    if (!result) {
      result = padded;
      position = b.iota(op.getType().clone(b.builder.getI64Type()), dim);
    } else {
      Value before =
          b.compare(CompareKind::lt, position, b.splat(position, end));
      result = b.select(before, padded, result);
    }
    end = begin;
  }
  return {result};
}

} // namespace

void mlir::zg::nn::addConcatDecompositions(RewritePatternSet &patterns,
                                           const TargetInfo &target) {
  addDecomposition<ConcatOp, concat>(patterns, target);
}
