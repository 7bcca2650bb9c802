//===- TransposeOnce.cpp - factors that many products read transposed -----===//

#include "passes/ir/nn/NNBuilder.h"
#include "passes/kernels/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_TRANSPOSEONCE
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

/// Products with at most so many rows take less time than a copy of what
/// multiplies them.
constexpr int64_t kMostRows = 64;
/// A copy pays for itself with so many products.
constexpr size_t kLeastProducts = 4;

bool isCandidate(MatmulOp product) {
  ArrayRef<int64_t> shape = shapeOf(product.getResult());
  return product.getTransposeB() && shape.size() == 2 &&
         shape.front() <= kMostRows;
}

struct TransposeOncePass : nn::impl::TransposeOnceBase<TransposeOncePass> {
  explicit TransposeOncePass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    llvm::MapVector<Value, SmallVector<MatmulOp>> readers;
    getOperation().walk([&](MatmulOp product) {
      Type element = getElementTypeOrSelf(product.getRhs());
      if (isCandidate(product) && target.copiesTransposed(element)) {
        readers[product.getRhs()].push_back(product);
      }
    });
    for (auto &[factor, products] : readers) {
      if (products.size() >= kLeastProducts) {
        transpose(factor, products);
      }
    }
  }

private:
  void transpose(Value factor, ArrayRef<MatmulOp> products) {
    OpBuilder builder(products.front());
    NNBuilder b(builder, factor.getLoc());
    Value plain = b.transpose(factor, {1, 0});
    for (MatmulOp product : products) {
      product.getRhsMutable().assign(plain);
      product.setTransposeB(false);
    }
    ++transposed;
  }

  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createTransposeOnce(const TargetInfo &target) {
  return std::make_unique<TransposeOncePass>(target);
}
