//===- TransposeOnce.cpp - factors that many products read transposed -----===//

#include "passes/ir/nn/NNBuilder.h"
#include "passes/kernels/Passes.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_TRANSPOSEONCE
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;
using namespace mlir::zg::nn;

namespace {

struct TransposeOncePass : nn::impl::TransposeOnceBase<TransposeOncePass> {
  explicit TransposeOncePass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    DenseMap<Value, Value> copies;
    getOperation().walk([&](MatmulOp product) {
      Value factor = product.getRhs();
      bool narrow = bool(product->removeAttr(kNarrowAttr));
      if (!narrow || !product.getTransposeB() ||
          !target.copiesTransposed(getElementTypeOrSelf(factor))) {
        return;
      }
      Value &plain = copies[factor];
      if (!plain) {
        OpBuilder builder(product);
        plain = NNBuilder(builder, factor.getLoc()).transpose(factor, {1, 0});
        ++transposed;
      }
      product.getRhsMutable().assign(plain);
      product.setTransposeB(false);
    });
  }

private:
  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createTransposeOnce(const TargetInfo &target) {
  return std::make_unique<TransposeOncePass>(target);
}
