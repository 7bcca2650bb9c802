//===- Twin.cpp - a GPU's module as one for the CPU -----------------------===//

#include "tests/emulator/Twin.h"

#include "tests/emulator/Instructions.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ReplaceConstant.h"

#include <map>

namespace {

constexpr const char kIntrinsics[] = "llvm.nvvm.";
/// LLVM's number for the memory that every thread reaches.
constexpr unsigned kGlobalMemory = 1;
/// And for that of a block.
constexpr unsigned kSharedMemory = 3;

/// Returns a type that C++ has too: of a pair of 16 bits, a word.
llvm::Type *plainType(llvm::Type *type) {
  return type->isVectorTy() ? llvm::Type::getInt32Ty(type->getContext()) : type;
}

/// Passes pairs as words, and several results through a pointer that comes
/// first.
void passPlainly(llvm::Function &function) {
  llvm::IRBuilder<> b(function.getContext());
  llvm::Type *result = function.getReturnType();
  bool several = result->isStructTy();
  llvm::SmallVector<llvm::Type *> types;
  if (several) {
    types.push_back(b.getPtrTy());
  }
  for (llvm::Argument &argument : function.args()) {
    types.push_back(plainType(argument.getType()));
  }
  auto *type = llvm::FunctionType::get(
      several ? b.getVoidTy() : plainType(result), types, /*isVarArg=*/false);
  llvm::FunctionCallee plain = function.getParent()->getOrInsertFunction(
      "plain." + function.getName().str(), type);
  std::map<llvm::Function *, llvm::Value *> places;
  for (llvm::User *user : llvm::make_early_inc_range(function.users())) {
    auto *call = llvm::cast<llvm::CallInst>(user);
    llvm::SmallVector<llvm::Value *> arguments;
    if (several) {
      llvm::Value *&place = places[call->getFunction()];
      if (!place) {
        b.SetInsertPoint(&*call->getFunction()->getEntryBlock().begin());
        place = b.CreateAlloca(result);
      }
      arguments.push_back(place);
    }
    b.SetInsertPoint(call);
    for (llvm::Value *argument : call->args()) {
      arguments.push_back(
          b.CreateBitCast(argument, plainType(argument->getType())));
    }
    llvm::Value *value = b.CreateCall(plain, arguments);
    call->replaceAllUsesWith(several ? b.CreateLoad(result, arguments.front())
                                     : b.CreateBitCast(value, result));
    call->eraseFromParent();
  }
  std::string name = function.getName().str();
  function.eraseFromParent();
  plain.getCallee()->setName(name);
}

void nameIntrinsics(llvm::Module &module) {
  for (llvm::Function &function : llvm::make_early_inc_range(module)) {
    llvm::StringRef name = function.getName();
    if (name.consume_front(kIntrinsics)) {
      function.setName("emulator." + name.str());
      function.setAttributes({});
      passPlainly(function);
    }
  }
  if (auto *annotations = module.getNamedMetadata("nvvm.annotations")) {
    annotations->eraseFromParent();
  }
}

/// An access of several elements is one instruction where the code says that it
/// is aligned to all of them; else PTX has as many as it says.
void watch(llvm::Instruction &access, llvm::Value *pointer, llvm::Type *type,
           uint64_t alignment, bool write) {
  unsigned memory = pointer->getType()->getPointerAddressSpace();
  if (memory != kGlobalMemory && memory != kSharedMemory) {
    return;
  }
  llvm::Module &module = *access.getModule();
  llvm::IRBuilder<> b(&access);
  llvm::FunctionCallee touch = module.getOrInsertFunction(
      "emulator.touch", b.getVoidTy(), b.getInt64Ty(), b.getInt32Ty(),
      b.getInt32Ty());
  uint64_t bytes = module.getDataLayout().getTypeStoreSize(type);
  uint64_t part = type->isVectorTy() ? std::min(bytes, alignment) : bytes;
  llvm::Value *address = b.CreatePtrToInt(pointer, b.getInt64Ty());
  for (uint64_t done = 0; done < bytes; done += part) {
    b.CreateCall(touch, {b.CreateAdd(address, b.getInt64(done)),
                         b.getInt32(uint32_t(part)), b.getInt32(write)});
  }
}

void watchAccesses(llvm::Function &kernel) {
  for (llvm::Instruction &instruction :
       llvm::make_early_inc_range(llvm::instructions(kernel))) {
    if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      watch(*load, load->getPointerOperand(), load->getType(),
            load->getAlign().value(), false);
    } else if (auto *store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      watch(*store, store->getPointerOperand(),
            store->getValueOperand()->getType(), store->getAlign().value(),
            true);
    }
  }
}

/// The instructions of a kernel that have the address of an array.
std::map<llvm::Function *, llvm::SmallVector<llvm::Use *>>
usesOf(llvm::GlobalVariable &array) {
  std::map<llvm::Function *, llvm::SmallVector<llvm::Use *>> uses;
  for (llvm::Use &use : array.uses()) {
    uses[llvm::cast<llvm::Instruction>(use.getUser())->getFunction()].push_back(
        &use);
  }
  return uses;
}

std::vector<zerograph::emulator::SharedArray> findShared(llvm::Module &module) {
  llvm::SmallVector<llvm::Constant *> constants;
  std::vector<llvm::GlobalVariable *> arrays;
  for (llvm::GlobalVariable &global : module.globals()) {
    if (global.getAddressSpace() == kSharedMemory) {
      arrays.push_back(&global);
      constants.push_back(&global);
    }
  }
  llvm::convertUsersOfConstantsToInstructions(constants);
  std::vector<zerograph::emulator::SharedArray> found;
  std::map<llvm::Function *, int32_t> counts;
  llvm::FunctionCallee shared = module.getOrInsertFunction(
      "emulator.shared",
      llvm::PointerType::get(module.getContext(), kSharedMemory),
      llvm::Type::getInt32Ty(module.getContext()));
  for (llvm::GlobalVariable *array : arrays) {
    auto *type = llvm::cast<llvm::ArrayType>(array->getValueType());
    const llvm::DataLayout &layout = module.getDataLayout();
    for (auto &[kernel, uses] : usesOf(*array)) {
      found.push_back(
          {kernel->getName().str(), array->getName().str(),
           layout.getTypeAllocSize(type),
           uint32_t(layout.getTypeAllocSize(type->getElementType()))});
      llvm::IRBuilder<> b(&*kernel->getEntryBlock().begin());
      llvm::Value *begin = b.CreateCall(shared, b.getInt32(counts[kernel]++));
      for (llvm::Use *use : uses) {
        use->set(begin);
      }
    }
    array->eraseFromParent();
  }
  return found;
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

std::vector<zerograph::emulator::SharedArray>
zerograph::emulator::makeTwin(llvm::Module &module) {
  llvm::SmallVector<llvm::Function *> kernels;
  for (llvm::Function &function : module) {
    if (!function.isDeclaration()) {
      kernels.push_back(&function);
    }
  }
  nameIntrinsics(module);
  std::vector<SharedArray> arrays = findShared(module);
  for (llvm::Function *kernel : kernels) {
    kernel->setCallingConv(llvm::CallingConv::C);
    watchAccesses(*kernel);
    addCaller(*kernel);
  }
  return arrays;
}
