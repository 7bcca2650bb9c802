//===- Twin.cpp - a GPU's module as one for the CPU -----------------------===//

#include "tests/emulator/Twin.h"

#include "tests/emulator/Instructions.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

namespace {

constexpr const char kIntrinsics[] = "llvm.nvvm.";
/// LLVM's number for the memory that every thread reaches.
constexpr unsigned kGlobalMemory = 1;

void nameIntrinsics(llvm::Module &module) {
  for (llvm::Function &function : module) {
    llvm::StringRef name = function.getName();
    if (name.consume_front(kIntrinsics)) {
      function.setName("emulator." + name.str());
      function.setAttributes({});
    }
  }
  if (auto *annotations = module.getNamedMetadata("nvvm.annotations")) {
    annotations->eraseFromParent();
  }
}

void watch(llvm::Instruction &access, llvm::Value *pointer, llvm::Type *type,
           bool write) {
  if (pointer->getType()->getPointerAddressSpace() != kGlobalMemory) {
    return;
  }
  llvm::Module &module = *access.getModule();
  llvm::IRBuilder<> b(&access);
  llvm::FunctionCallee touch = module.getOrInsertFunction(
      "emulator.touch", b.getVoidTy(), b.getInt64Ty(), b.getInt32Ty(),
      b.getInt32Ty());
  uint64_t bytes = module.getDataLayout().getTypeStoreSize(type);
  b.CreateCall(touch, {b.CreatePtrToInt(pointer, b.getInt64Ty()),
                       b.getInt32(uint32_t(bytes)), b.getInt32(write)});
}

void watchAccesses(llvm::Function &kernel) {
  for (llvm::Instruction &instruction :
       llvm::make_early_inc_range(llvm::instructions(kernel))) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      watch(*load, load->getPointerOperand(), load->getType(), false);
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      watch(*store, store->getPointerOperand(),
            store->getValueOperand()->getType(), true);
    }
  }
}

void addCaller(llvm::Function &kernel) {
  llvm::IRBuilder<> b(kernel.getContext());
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()},
                                       /*isVarArg=*/false);
  auto *caller = llvm::Function::Create(
      type, llvm::Function::ExternalLinkage,
      zerograph::emulator::callerOf(kernel.getName().str()),
      kernel.getParent());
  b.SetInsertPoint(llvm::BasicBlock::Create(kernel.getContext(), "", caller));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &parameter : kernel.args()) {
    llvm::Value *place = b.CreateConstGEP1_32(b.getPtrTy(), caller->getArg(0),
                                              parameter.getArgNo());
    llvm::Value *from = b.CreateLoad(b.getPtrTy(), place);
    arguments.push_back(b.CreateLoad(parameter.getType(), from));
  }
  b.CreateCall(&kernel, arguments);
  b.CreateRetVoid();
}

} // namespace

std::vector<std::string>
zerograph::emulator::missingInstructions(const llvm::Module &twin) {
  std::vector<std::string> missing;
  for (const llvm::Function &function : twin) {
    bool known = llvm::any_of(instructions(), [&](const Instruction &has) {
      return function.getName() == has.name;
    });
    if (function.getName().starts_with("emulator.") && !known) {
      missing.push_back(function.getName().str());
    }
  }
  return missing;
}

std::string zerograph::emulator::callerOf(const std::string &kernel) {
  return "call." + kernel;
}

void zerograph::emulator::makeTwin(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : module) {
    if (!function.isDeclaration()) {
      kernels.push_back(&function);
    }
  }
  nameIntrinsics(module);
  for (llvm::Function *kernel : kernels) {
    kernel->setCallingConv(llvm::CallingConv::C);
    watchAccesses(*kernel);
    addCaller(*kernel);
  }
}
