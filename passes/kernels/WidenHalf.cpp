//===- WidenHalf.cpp - computes f16 and bf16 in f32 -----------------------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_WIDENHALF
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;

namespace {

Type elementOf(Type type) {
  return cast<RankedTensorType>(type).getElementType();
}

bool isHalf(Type type) { return nn::isHalf(elementOf(type)); }

Value convert(OpBuilder &builder, Location location, Value value,
              Type element) {
  return builder.create<nn::ConvertOp>(
      location, cast<RankedTensorType>(value.getType()).clone(element), value);
}

/// Returns whether the op is widened where it has halves.
bool isWidened(Operation *op, const TargetInfo &target) {
  if (nn::isProduct(op)) {
    // Libraries that take halves add in f32. For one of f32 alone
    // `nn-widen-products` converts, when it is known what is stored.
    Type half = elementOf(op->getOperand(0).getType());
    return !target.hasProduct(op, half) && !target.widensProduct(op);
  }
  return nn::computes(op);
}

/// Returns whether the op is a convolution of halves by the library to f32.
bool givesSums(Operation *op, const TargetInfo &target) {
  return isa<nn::ConvolutionOp>(op) && !target.widensProduct(op) &&
         elementOf(op->getOperand(0).getType()) !=
             elementOf(op->getResult(0).getType());
}

/// The same op on f32, with conversions around it.
void widen(Operation *op) {
  OpBuilder builder(op);
  Type wide = builder.getF32Type();
  for (OpOperand &operand : op->getOpOperands()) {
    if (isHalf(operand.get().getType())) {
      operand.set(convert(builder, op->getLoc(), operand.get(), wide));
    }
  }
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    if (!isHalf(result.getType())) {
      continue;
    }
    Type half = elementOf(result.getType());
    result.setType(cast<RankedTensorType>(result.getType()).clone(wide));
    Value narrow = convert(builder, op->getLoc(), result, half);
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  }
}

/// Makes the library round a gradient of weights, whose sums it does not give.
void roundSums(nn::ConvolutionOp op) {
  Type half = elementOf(op.getLhs().getType());
  Type sums = op.getType();
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  op.getResult().setType(op.getType().clone(half));
  Value wide = convert(builder, op.getLoc(), op, elementOf(sums));
  op.getResult().replaceAllUsesExcept(wide, wide.getDefiningOp());
}

/// Between half and anything else but f32 a conversion goes through f32.
bool splitConvert(nn::ConvertOp op) {
  Value from = op.getOperand();
  bool ends =
      elementOf(from.getType()).isF32() || elementOf(op.getType()).isF32();
  if (ends || from.getType() == op.getType() ||
      !(isHalf(from.getType()) || isHalf(op.getType()))) {
    return false;
  }
  OpBuilder builder(op);
  op.setOperand(convert(builder, op.getLoc(), from, builder.getF32Type()));
  return true;
}

struct WidenHalfPass : nn::impl::WidenHalfBase<WidenHalfPass> {
  explicit WidenHalfPass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      bool half = llvm::any_of(op->getOperandTypes(), isHalfTensor) ||
                  llvm::any_of(op->getResultTypes(), isHalfTensor);
      if (half && (isWidened(op, target) || isa<nn::ConvertOp>(op) ||
                   givesSums(op, target))) {
        ops.push_back(op);
      }
    });
    for (Operation *op : ops) {
      if (auto conversion = dyn_cast<nn::ConvertOp>(op)) {
        widened += splitConvert(conversion);
      } else if (isWidened(op, target)) {
        widen(op);
        ++widened;
      } else {
        roundSums(cast<nn::ConvolutionOp>(op));
      }
    }
  }

private:
  static bool isHalfTensor(Type type) {
    return isa<RankedTensorType>(type) && isHalf(type);
  }

  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createWidenHalf(const TargetInfo &target) {
  return std::make_unique<WidenHalfPass>(target);
}
