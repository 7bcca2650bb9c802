//===- SimplifyScatter.cpp - folds sums into scatter ----------------------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_SIMPLIFYSCATTER
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;

namespace {

/// The scatter that makes `value`, if it adds into zeros, which only a sum
/// does, and has no other use.
nn::ScatterOp foldable(Value value) {
  auto scatter = value.getDefiningOp<nn::ScatterOp>();
  return scatter && !scatter.getInto() && scatter->hasOneUse()
             ? scatter
             : nn::ScatterOp();
}

/// Folds a sum of two scatters: the second adds into the first.
bool fold(nn::BinaryOp add) {
  Value x = add.getLhs();
  nn::ScatterOp scatter = foldable(add.getRhs());
  if (!scatter) {
    x = add.getRhs();
    scatter = foldable(add.getLhs());
  }
  if (!scatter) {
    return false;
  }
  // The new op stands where the sum stood: only there are both operands known
  // to exist.
  OpBuilder builder(add);
  Value sum = builder.create<nn::ScatterOp>(
      add.getLoc(), add.getType(), nn::ScatterKind::sum, scatter.getIndices(),
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
