//===- WidenProducts.cpp - products of halves by a library of f32 ---------===//

#include "passes/ir/nn/NNDialect.h"
#include "passes/kernels/Passes.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_WIDENPRODUCTS
#include "passes/kernels/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg;

namespace {

Type withElement(Value value, Type element) {
  return cast<RankedTensorType>(value.getType()).clone(element);
}

/// A kernel that converts one buffer into another.
Value convert(OpBuilder &builder, Location location, Value value, Type type) {
  auto kernel = builder.create<nn::KernelOp>(
      location, TypeRange(type), nn::KernelForm::rows, ValueRange(value));
  Block &body = kernel.getBody().emplaceBlock();
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  Value operand = body.addArgument(value.getType(), location);
  Value result = inside.create<nn::ConvertOp>(location, type, operand);
  inside.create<nn::YieldOp>(location, result);
  return kernel.getResult(0);
}

void widen(nn::MatmulOp matmul) {
  OpBuilder builder(matmul);
  Location location = matmul.getLoc();
  Type wide = builder.getF32Type();
  // One conversion of what is multiplied by itself.
  llvm::SmallDenseMap<Value, Value, 2> converted;
  for (OpOperand &operand : matmul->getOpOperands()) {
    if (operand.get().getType() == withElement(operand.get(), wide)) {
      continue; // what the products are added to
    }
    Value &value = converted[operand.get()];
    if (!value) {
      value = convert(builder, location, operand.get(),
                      withElement(operand.get(), wide));
    }
    operand.set(value);
  }
  Value product = matmul.getResult();
  Type half = product.getType();
  if (half == withElement(product, wide)) {
    return;
  }
  product.setType(withElement(product, wide));
  builder.setInsertionPointAfter(matmul);
  Value rounded = convert(builder, location, product, half);
  product.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

struct WidenProductsPass : nn::impl::WidenProductsBase<WidenProductsPass> {
  explicit WidenProductsPass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<nn::MatmulOp> products;
    getOperation().walk([&](nn::MatmulOp matmul) {
      Type element = getElementTypeOrSelf(matmul.getLhs());
      if (nn::isHalf(element) && target.multipliesWidened(element)) {
        products.push_back(matmul);
      }
    });
    for (nn::MatmulOp matmul : products) {
      widen(matmul);
    }
    widened += products.size();
  }

private:
  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createWidenProducts(const TargetInfo &target) {
  return std::make_unique<WidenProductsPass>(target);
}
