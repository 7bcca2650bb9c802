//===- zerograph-opt.cpp - runs any pass or pipeline on textual IR --------===//

#include "codegen/host/HostTargetInfo.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Pipelines.h"
#include "passes/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::zg::registerDialects(registry);
  mlir::zg::registerPasses();
  // Phases ask what the compiler asks, so that they repeat what it did.
  mlir::zg::HostTargetInfo target;
  mlir::zg::registerPhases(target);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Zerograph pass driver\n", registry));
}
