#include "passes/Registration.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/ir/nn/NNDialect.h"

void mlir::zg::registerDialects(DialectRegistry &registry) {
  registry.insert<func::FuncDialect, nn::NNDialect>();
}

void mlir::zg::registerPasses() {
  registerCanonicalizerPass();
  registerCSEPass();
}
