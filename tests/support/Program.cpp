//===- Program.cpp - parses, transforms and runs textual IR in tests ------===//

#include "tests/support/Program.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/differentiate/Rules.h"
#include "passes/ir/nn/NNDialect.h"

using namespace mlir;
using namespace mlir::zg::testing;

Program::Program(StringRef text) : context(MLIRContext::Threading::DISABLED) {
  DialectRegistry registry;
  registry.insert<zg::nn::NNDialect>();
  zg::nn::registerGradientRules(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  module = parseSourceString<ModuleOp>(text, &context);
}

LogicalResult Program::run(std::unique_ptr<Pass> pass) {
  PassManager manager(&context);
  if (pass->getOpName() == zg::nn::ProgramOp::getOperationName()) {
    manager.addNestedPass<zg::nn::ProgramOp>(std::move(pass));
  } else {
    manager.addPass(std::move(pass));
  }
  return manager.run(*module);
}

zg::nn::ProgramOp Program::function(StringRef name) {
  return module->lookupSymbol<zg::nn::ProgramOp>(name);
}

std::string Program::text() {
  std::string result;
  llvm::raw_string_ostream stream(result);
  module->print(stream);
  return result;
}
