//===- Attention.cpp - the sizes of an attention --------------------------===//

#include "passes/ir/nn/Attention.h"

using namespace mlir;
using namespace mlir::zg::nn;

AttentionShape AttentionShape::of(Type q, Type k, Type v) {
  auto query = cast<RankedTensorType>(q).getShape();
  auto key = cast<RankedTensorType>(k).getShape();
  auto value = cast<RankedTensorType>(v).getShape();
  return {query[0], query[2], query[1], key[1], key[2], query[3], value[3]};
}

ScoreInputs mlir::zg::nn::scoreInputsOf(Operation *op) {
  if (auto attention = dyn_cast<AttentionOp>(op)) {
    return {attention.getExtras(), 1};
  }
  return {cast<AttentionGradOp>(op).getExtras(), 2};
}

unsigned mlir::zg::nn::scoreYieldsOf(Operation *op) {
  auto gradient = dyn_cast<AttentionGradOp>(op);
  return !gradient ? 1 : gradient.getDbias() ? 3 : 2;
}

Type mlir::zg::nn::scoreElement(Type operand) {
  return operand.isF64() ? operand : Float32Type::get(operand.getContext());
}
