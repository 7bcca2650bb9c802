//===- WidenGradients.cpp - gradients of parameters in f32 ----------------===//

#include "passes/differentiate/Passes.h"
#include "passes/differentiate/precision/Precision.h"
#include "passes/ir/nn/Queries.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_WIDENGRADIENTS
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

bool addsUp(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  auto scatter = dyn_cast<ScatterOp>(op);
  return (reduce && reduce.getKind() == ReduceKind::sum) ||
         (scatter && scatter.getKind() == ScatterKind::sum);
}

/// A number of 16 bits, before it was rounded. What made it, if for nothing
/// else, is made in f32.
Value widened(OpBuilder &builder, Value narrow) {
  Operation *op = narrow.getDefiningOp();
  auto convert = dyn_cast_or_null<ConvertOp>(op);
  if (convert && elementOf(convert.getOperand()).isF32()) {
    return convert.getOperand();
  }
  Type half = elementOf(narrow), wide = builder.getF32Type();
  bool alone = op && op->hasOneUse();
  if (alone && isProduct(op)) {
    setElement(narrow, wide);
    return narrow;
  }
  if (alone && (moves(op) || addsUp(op))) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (elementOf(operand.get()) == half) {
        operand.set(widened(builder, operand.get()));
      }
    }
    setElement(narrow, wide);
    return narrow;
  }
  builder.setInsertionPointAfterValue(narrow);
  return builder.create<ConvertOp>(
      narrow.getLoc(), cast<RankedTensorType>(narrow.getType()).clone(wide),
      narrow);
}

/// Widens what is added up, or moved, to become `gradient`.
void widenParts(OpBuilder &builder, Value gradient) {
  Operation *op = gradient.getDefiningOp();
  if (!op || !op->hasOneUse()) {
    return;
  }
  if (Value narrow = narrowSource(gradient)) {
    gradient.replaceAllUsesWith(widened(builder, narrow));
    op->erase();
    return;
  }
  auto binary = dyn_cast<BinaryOp>(op);
  if (moves(op) || (binary && binary.getKind() == BinaryKind::add)) {
    for (Value operand : SmallVector<Value>(op->getOperands())) {
      widenParts(builder, operand);
    }
  }
}

struct WidenGradientsPass
    : mlir::zg::nn::impl::WidenGradientsBase<WidenGradientsPass> {
  void runOnOperation() override {
    auto micro = getOperation().lookupSymbol<ProgramOp>(kMicroFunction);
    if (!precisionOf(getOperation()) || !micro) {
      return;
    }
    OpBuilder builder(&getContext());
    for (unsigned i = 0; i < micro.getNumResults(); ++i) {
      if (micro.getResultAttr(i, kGradientAttr)) {
        widenParts(builder,
                   micro.getBody().front().getTerminator()->getOperand(i));
      }
    }
  }
};

} // namespace
