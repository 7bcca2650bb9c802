//===- MergeProducts.cpp - one product in place of a sum of products ------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_MERGEPRODUCTS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

bool isSum(Operation *op) {
  auto binary = dyn_cast_or_null<BinaryOp>(op);
  return binary && binary.getKind() == BinaryKind::add;
}

/// Returns whether one sum, and nothing else, reads the result of an op.
bool isReadBySum(Operation *op) {
  return op->hasOneUse() && isSum(*op->user_begin());
}

/// Adds what a value is the sum of to `summands`, in order.
void collectSummands(Value value, SmallVectorImpl<Value> &summands) {
  Operation *op = value.getDefiningOp();
  if (isSum(op) && isReadBySum(op)) {
    collectSummands(op->getOperand(0), summands);
    collectSummands(op->getOperand(1), summands);
  } else {
    summands.push_back(value);
  }
}

/// Returns whether the rows of another tensor can follow those of this one.
bool canBeJoined(Value rows) {
  int64_t bytes = tensorBytes(rows.getType());
  return bytes > 0 && bytes % kRowsAlignment == 0;
}

/// Returns the op if it is a product [K, M]^T x [K, N] for some sum, whose
/// result has at least twice as many numbers as both operands; else null.
MatmulOp mergeable(Value summand) {
  auto product = summand.getDefiningOp<MatmulOp>();
  if (!product || !isReadBySum(product) || product.getInto() ||
      product.getBias() || !product.getTransposeA() ||
      product.getTransposeB() || shapeOf(product.getResult()).size() != 2) {
    return {};
  }
  Value lhs = product.getLhs(), rhs = product.getRhs();
  bool gains = 2 * (elementsOf(lhs) + elementsOf(rhs)) <=
               elementsOf(product.getResult());
  return gains && canBeJoined(lhs) && canBeJoined(rhs) ? product : MatmulOp();
}

/// Replaces a sum of which at least two summands are mergeable products.
bool merge(BinaryOp sum) {
  SmallVector<Value> summands, lhs, rhs, others;
  collectSummands(sum.getLhs(), summands);
  collectSummands(sum.getRhs(), summands);
  MatmulOp first;
  for (Value summand : summands) {
    MatmulOp product = mergeable(summand);
    if (product && (!first || getElementTypeOrSelf(product.getLhs()) ==
                                  getElementTypeOrSelf(first.getLhs()))) {
      first = first ? first : product;
      lhs.push_back(product.getLhs());
      rhs.push_back(product.getRhs());
    } else {
      others.push_back(summand);
    }
  }
  if (lhs.size() < 2) {
    return false;
  }
  OpBuilder builder(sum);
  NNBuilder b(builder, first.getLoc());
  Value total = b.matmul(b.joinRows(lhs), b.joinRows(rhs), /*transposeA=*/true,
                         /*transposeB=*/false, sum.getType());
  NNBuilder sums(builder, sum.getLoc());
  for (Value other : others) {
    total = sums.add(total, other);
  }
  sum.replaceAllUsesWith(total);
  return true;
}

struct MergeProductsPass
    : mlir::zg::nn::impl::MergeProductsBase<MergeProductsPass> {
  void runOnOperation() override {
    SmallVector<BinaryOp> sums;
    getOperation().walk([&](BinaryOp op) {
      if (isSum(op) && !isReadBySum(op)) {
        sums.push_back(op);
      }
    });
    for (BinaryOp sum : sums) {
      merged += merge(sum);
    }
  }
};

} // namespace
