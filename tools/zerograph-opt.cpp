//===- zerograph-opt.cpp - runs any pass or pipeline on textual IR --------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "passes/Registration.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::zg::registerDialects(registry);
  mlir::zg::registerPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Zerograph pass driver\n", registry));
}
