//===- Compile.cpp - emitted loops to an object ---------------------------===//

#include "codegen/host/Compile.h"

#include "codegen/emit/Lower.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace mlir::zg;

FailureOr<std::vector<char>> host::compileToObject(ModuleOp module,
                                                   const HostTarget &target) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> llvmModule = emit::toLLVM(module, context);
  if (!llvmModule) {
    return failure();
  }
  std::string error;
  std::unique_ptr<llvm::TargetMachine> machine =
      makeTargetMachine(target, error);
  if (!machine) {
    return module.emitError("no code generator for x86-64: ") << error;
  }
  llvmModule->setDataLayout(machine->createDataLayout());
  llvmModule->setTargetTriple(machine->getTargetTriple().str());
  for (llvm::Function &function : *llvmModule) {
    if (function.isDeclaration()) {
      continue;
    }
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-builtins"); // no memcpy or memset calls
    function.addFnAttr("target-cpu", machine->getTargetCPU());
    function.addFnAttr("target-features", machine->getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile)) {
    return module.emitError("LLVM cannot write x86-64 objects");
  }
  passes.run(*llvmModule);
  return std::vector<char>(object.begin(), object.end());
}
