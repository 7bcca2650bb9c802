//===- Attention.cpp - the sizes of an attention --------------------------===//

#include "passes/ir/nn/Attention.h"

#include "passes/ir/nn/NNBuilder.h"

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

/// Returns whether the op changes a shape, or rounds to 16 bits.
static bool reshapesOrRounds(Operation *op) {
  return isa_and_present<ReshapeOp>(op) ||
         (isa_and_present<ConvertOp>(op) &&
          isHalf(elementOf(op->getResult(0))));
}

/// Returns the gradient of queries, keys or values that a value has, perhaps
/// rounded and under another shape, if nothing else reads it; else null.
static OpResult gradientUnder(Value value) {
  while (value.hasOneUse() && reshapesOrRounds(value.getDefiningOp())) {
    value = value.getDefiningOp()->getOperand(0);
  }
  auto gradient = value.getDefiningOp<AttentionGradOp>();
  return gradient && value.hasOneUse() && value != gradient.getDbias()
             ? cast<OpResult>(value)
             : OpResult();
}

SmallVector<OpResult> mlir::zg::nn::packedGradients(ConcatOp concat) {
  // What threads store together lies at a multiple of its size.
  constexpr int64_t kMultiple = 16;
  SmallVector<OpResult> packed;
  for (Value part : concat.getOperands()) {
    OpResult result = gradientUnder(part);
    if (!result ||
        (!packed.empty() && result.getOwner() != packed.front().getOwner())) {
      return {};
    }
    ArrayRef<int64_t> own = shapeOf(result), shape = shapeOf(part);
    // Of a sample and query, or key, what all heads have.
    int64_t row = own[2] * own[3];
    if (ShapedType::getNumElements(shape.drop_front(concat.getDim())) != row ||
        row % kMultiple != 0) {
      return {};
    }
    packed.push_back(result);
  }
  return packed;
}

Type mlir::zg::nn::scoreElement(Type operand) {
  return operand.isF64() ? operand : Float32Type::get(operand.getContext());
}
