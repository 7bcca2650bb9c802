//===- WidenProducts.cpp - products of halves by a library of f32 ---------===//

#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"
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

/// Returns what a kernel makes of buffers: `make` adds to its body.
Value inKernel(
    OpBuilder &builder, Location location, ValueRange buffers, Type type,
    function_ref<Value(nn::NNBuilder &, Block::BlockArgListType)> make) {
  auto kernel = builder.create<nn::KernelOp>(location, TypeRange(type),
                                             nn::KernelForm::rows, buffers);
  Block &body = kernel.getBody().emplaceBlock();
  for (Value buffer : buffers) {
    body.addArgument(buffer.getType(), location);
  }
  OpBuilder inside = OpBuilder::atBlockBegin(&body);
  nn::NNBuilder b(inside, location);
  Value result = make(b, body.getArguments());
  inside.create<nn::YieldOp>(location, result);
  return kernel.getResult(0);
}

Value convert(OpBuilder &builder, Location location, Value value, Type type) {
  return inKernel(builder, location, value, type, [&](auto &b, auto operands) {
    return b.convert(operands[0], getElementTypeOrSelf(type));
  });
}

/// Returns the sums of a product and its bias, rounded.
Value addBias(OpBuilder &builder, Location location, Value product, Value bias,
              Type type) {
  return inKernel(
      builder, location, {product, bias}, type, [&](auto &b, auto operands) {
        ArrayRef<int64_t> shape = nn::shapeOf(product);
        SmallVector<int64_t> row(shape.size(), 1);
        row.back() = shape.back();
        Value wide =
            b.convert(operands[1], getElementTypeOrSelf(product.getType()));
        Value rows = b.broadcast(b.reshape(wide, row), shape);
        return b.convert(b.add(operands[0], rows), getElementTypeOrSelf(type));
      });
}

/// Takes from a product the bias of halves that it adds, which is to be added
/// where the sum is rounded; null: it has none.
Value takeBias(Operation *product) {
  auto matmul = dyn_cast<nn::MatmulOp>(product);
  Value bias = matmul ? matmul.getBias() : Value();
  if (!bias || !nn::isHalf(getElementTypeOrSelf(bias))) {
    return {};
  }
  matmul.getBiasMutable().clear();
  return bias;
}

void widen(Operation *op) {
  OpBuilder builder(op);
  Location location = op->getLoc();
  Type wide = builder.getF32Type();
  Value bias = takeBias(op);
  // One conversion of what is multiplied by itself.
  llvm::SmallDenseMap<Value, Value, 2> converted;
  for (OpOperand &operand : op->getOpOperands()) {
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
  Value product = op->getResult(0);
  Type half = product.getType();
  if (half == withElement(product, wide)) {
    return;
  }
  product.setType(withElement(product, wide));
  builder.setInsertionPointAfter(op);
  Value rounded = bias ? addBias(builder, location, product, bias, half)
                       : convert(builder, location, product, half);
  product.replaceAllUsesExcept(rounded, rounded.getDefiningOp());
}

struct WidenProductsPass : nn::impl::WidenProductsBase<WidenProductsPass> {
  explicit WidenProductsPass(const TargetInfo &target) : target(target) {}

  void runOnOperation() override {
    SmallVector<Operation *> products;
    getOperation().walk([&](Operation *op) {
      if (nn::isProduct(op) && target.widensProduct(op)) {
        products.push_back(op);
      }
    });
    llvm::for_each(products, widen);
    widened += products.size();
  }

private:
  const TargetInfo &target;
};

} // namespace

std::unique_ptr<Pass> nn::createWidenProducts(const TargetInfo &target) {
  return std::make_unique<WidenProductsPass>(target);
}
