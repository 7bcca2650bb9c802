//===- SimplifyScatter.cpp - folds sums into scatter_add ------------------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SIMPLIFYSCATTER
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;

namespace {

/// The scatter_add that makes `value`, if it adds into zeros and has no other
/// use.
nn::ScatterAddOp foldable(Value value) {
  auto scatter = value.getDefiningOp<nn::ScatterAddOp>();
  return scatter && !scatter.getInto() && scatter->hasOneUse()
             ? scatter
             : nn::ScatterAddOp();
}

/// Of two scatters, the second adds into the first.
bool fold(nn::BinaryOp add) {
  Value x = add.getLhs();
  nn::ScatterAddOp scatter = foldable(add.getRhs());
  if (!scatter) {
    x = add.getRhs();
    scatter = foldable(add.getLhs());
  }
  if (!scatter) {
    return false;
  }
  // Where the sum stood: only there are both operands known to exist.
  OpBuilder builder(add);
  Value sum = builder.create<nn::ScatterAddOp>(add.getLoc(), add.getType(),
                                               scatter.getIndices(),
                                               scatter.getUpdates(), x);
  add.replaceAllUsesWith(sum);
  add.erase();
  scatter.erase();
  return true;
}

struct SimplifyScatterPass
    : nn::impl::SimplifyScatterBase<SimplifyScatterPass> {
  void runOnOperation() override {
    SmallVector<nn::BinaryOp> sums;
    getOperation().walk([&](nn::BinaryOp op) {
      if (op.getKind() == nn::BinaryKind::add) {
        sums.push_back(op);
      }
    });
    // Not the statistic alone: LLVM may be built without.
    unsigned count = 0;
    for (nn::BinaryOp sum : sums) {
      count += fold(sum);
    }
    folded += count;
    if (count == 0) {
      markAllAnalysesPreserved();
    }
  }
};

} // namespace
