//===- Compile.cpp - emitted loops to objects -----------------------------===//

#include "codegen/host/Compile.h"

#include "codegen/emit/Lower.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <future>

using namespace mlir;
using namespace mlir::zg;

namespace {

/// A module of LLVM's in a context of its own, so that a thread can have it.
struct Unit {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::TargetMachine> machine;
};

FailureOr<std::unique_ptr<Unit>> makeUnit(ModuleOp module,
                                          const HostTarget &target) {
  auto unit = std::make_unique<Unit>();
  unit->module = emit::toLLVM(module, unit->context);
  if (!unit->module) {
    return failure();
  }
  std::string error;
  unit->machine = host::makeTargetMachine(target, error);
  if (!unit->machine) {
    return module.emitError("no code generator for x86-64: ") << error;
  }
  return unit;
}

/// Empty where LLVM cannot write objects.
host::Object generate(Unit &unit) {
  llvm::TargetMachine &machine = *unit.machine;
  unit.module->setDataLayout(machine.createDataLayout());
  unit.module->setTargetTriple(machine.getTargetTriple().str());
  for (llvm::Function &function : *unit.module) {
    if (function.isDeclaration()) {
      continue;
    }
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr("no-builtins"); // no memcpy or memset calls
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr,
                                  llvm::CodeGenFileType::ObjectFile)) {
    return {};
  }
  passes.run(*unit.module);
  return host::Object(object.begin(), object.end());
}

} // namespace

FailureOr<std::vector<host::Object>>
host::compileToObjects(MutableArrayRef<OwningOpRef<ModuleOp>> modules,
                       const HostTarget &target) {
  // MLIR's context is of one thread; what it gives to LLVM need not be.
  llvm::DefaultThreadPool threads;
  std::vector<std::shared_future<Object>> generated;
  for (OwningOpRef<ModuleOp> &module : modules) {
    FailureOr<std::unique_ptr<Unit>> unit = makeUnit(*module, target);
    if (failed(unit)) {
      return failure();
    }
    generated.push_back(threads.async(
        [unit = std::shared_ptr<Unit>(std::move(*unit))]() mutable {
          Object object = generate(*unit);
          unit.reset(); // now, and not when all are done
          return object;
        }));
  }
  std::vector<Object> objects;
  for (std::shared_future<Object> &object : generated) {
    objects.push_back(object.get());
    if (objects.back().empty()) {
      return modules.front()->emitError("LLVM cannot write x86-64 objects");
    }
  }
  return objects;
}
