#include "passes/Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/zero/ZeroDialect.h"

void mlir::zg::registerDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, nn::NNDialect, zero::ZeroDialect>();
}

void mlir::zg::registerPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
}
