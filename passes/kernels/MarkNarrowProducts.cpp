//===- MarkNarrowProducts.cpp - products that share a transposed factor ---===//

#include "passes/ir/nn/NNBuilder.h"
#include "passes/kernels/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_MARKNARROWPRODUCTS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// Products with at most so many rows take less time than a copy of what
/// multiplies them.
constexpr int64_t kMostRows = 64;
/// A copy pays for itself with so many products.
constexpr size_t kLeastProducts = 4;

/// Returns what a product reads transposed, or will once `nn-simplify-matmul`
/// has folded the transposition; null: nothing.
Value factorOf(MatmulOp product) {
  if (product.getTransposeB()) {
    return product.getRhs();
  }
  auto transpose = product.getRhs().getDefiningOp<TransposeOp>();
  return transpose ? transpose.getOperand() : Value();
}

struct MarkNarrowProductsPass
    : mlir::zg::nn::impl::MarkNarrowProductsBase<MarkNarrowProductsPass> {
  void runOnOperation() override {
    llvm::MapVector<Value, SmallVector<MatmulOp>> readers;
    getOperation().walk([&](MatmulOp product) {
      ArrayRef<int64_t> shape = shapeOf(product.getResult());
      Value factor = factorOf(product);
      if (factor && shape.size() == 2 && shape.front() <= kMostRows) {
        readers[factor].push_back(product);
      }
    });
    for (auto &[factor, products] : readers) {
      for (MatmulOp product : products) {
        if (products.size() >= kLeastProducts) {
          product->setAttr(kNarrowAttr, UnitAttr::get(&getContext()));
        }
      }
    }
  }
};

} // namespace
