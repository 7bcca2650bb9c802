//===- PtxCode.cpp - kernels in PTX as code for the CPU -------------------===//

#include "tests/emulator/PtxCode.h"

#include "runtime/base/Status.h"
#include "tests/emulator/Instructions.h"
#include "tests/emulator/PtxArithmetic.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

using namespace zerograph;
using namespace zerograph::emulator;
using namespace zerograph::emulator::ptx;
using llvm::StringRef;
using llvm::Value;

namespace {

/// A register is a variable of the function, an integer; LLVM makes values of
/// it.
class Writer {
public:
  Writer(const Kernel &kernel, const Text &text, llvm::Module &module,
         llvm::function_ref<uint64_t(StringRef)> addressOf)
      : kernel(kernel), text(text), module(module), addressOf(addressOf),
        b(module.getContext()), entry(module.getContext()) {}

  absl::StatusOr<std::vector<SharedArray>> run() {
    begin();
    findShared();
    for (const Statement &statement : kernel.statements) {
      ZG_RETURN_IF_ERROR(write(statement));
    }
    if (!b.GetInsertBlock()->getTerminator()) {
      addUp();
      b.CreateRetVoid();
    }
    return arrays;
  }

private:
  void begin() {
    auto *type =
        llvm::FunctionType::get(b.getVoidTy(),
                                {b.getPtrTy(), b.getPtrTy(), b.getInt32Ty(),
                                 b.getInt32Ty(), b.getPtrTy()},
                                /*isVarArg=*/false);
    function = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                      kernel.name, module);
    // Variables, and what is the same all along, are made before the code.
    auto *first = llvm::BasicBlock::Create(b.getContext(), "", function);
    auto *body = llvm::BasicBlock::Create(b.getContext(), "", function);
    entry.SetInsertPoint(llvm::BranchInst::Create(body, first));
    b.SetInsertPoint(body);
  }

  //===--- arrays ---------------------------------------------------------===//

  static void eachName(const Operand &operand,
                       llvm::function_ref<void(StringRef)> visit) {
    visit(operand.name);
    for (const Operand &part : operand.parts) {
      eachName(part, visit);
    }
  }

  /// Returns the bytes that the least access of shared memory has: all accesses
  /// are of whole elements of this size.
  uint32_t sharedElement() const {
    uint32_t least = 16;
    for (const Statement &statement : kernel.statements) {
      StringRef opcode = statement.opcode;
      std::optional<Opcode> parsed = parseOpcode(opcode);
      if (parsed && (opcode.starts_with("ld.shared") ||
                     opcode.starts_with("st.shared"))) {
        least = std::min(least, parsed->type.bits / 8);
      }
    }
    return least;
  }

  void findShared() {
    llvm::StringMap<const Array *> declared;
    for (const auto *list : {&text.shared, &kernel.shared}) {
      for (const Array &array : *list) {
        declared[array.name] = &array;
      }
    }
    const uint32_t element = sharedElement();
    for (const Statement &statement : kernel.statements) {
      for (const Operand &operand : statement.operands) {
        eachName(operand, [&](StringRef name) {
          auto found = declared.find(name);
          if (found != declared.end() && !shared.count(name)) {
            Value *place = entry.CreateConstGEP1_32(
                b.getPtrTy(), function->getArg(1), unsigned(arrays.size()));
            shared[name] = entry.CreatePtrToInt(
                entry.CreateLoad(b.getPtrTy(), place), b.getInt64Ty());
            arrays.push_back({name.str(), found->second->bytes, element});
          }
        });
      }
    }
  }

  //===--- registers ------------------------------------------------------===//

  absl::Status wrong(const Statement &statement, StringRef what) const {
    return absl::UnimplementedError(absl::StrCat(
        "line ", statement.line, " of the PTX: ", what.str(), " in '",
        statement.opcode.str(), "' of kernel ", kernel.name.str()));
  }
  absl::Status missing(const Statement &statement) const {
    return absl::UnimplementedError(
        absl::StrCat("the emulator has no '", statement.opcode.str(),
                     "', line ", statement.line, " of the PTX"));
  }

  /// Declares a group of registers, or anew one that is of a scope of its own.
  void declare(const Statement &statement) {
    StringRef name = statement.operands[0].name;
    widths[name] = unsigned(statement.operands[1].bits);
    registers.erase(name);
  }

  /// Returns the variable of a register; null if it is not one.
  llvm::AllocaInst *variable(StringRef name) {
    auto [found, added] = registers.try_emplace(name, nullptr);
    if (added) {
      auto width = widths.find(name.rtrim("0123456789"));
      if (width != widths.end()) {
        found->second = entry.CreateAlloca(b.getIntNTy(width->second));
      }
    }
    return found->second;
  }

  /// Returns what an operand holds, an integer of any width; null if there is
  /// no such name.
  Value *read(const Operand &operand) {
    if (operand.kind == Operand::Kind::kNumber) {
      return b.getInt64(operand.bits);
    }
    StringRef name = operand.name;
    if (llvm::AllocaInst *place = variable(name)) {
      return b.CreateLoad(place->getAllocatedType(), place);
    }
    if (name == "%tid.x" || name == "%ctaid.x") {
      return function->getArg(name == "%tid.x" ? 2 : 3);
    }
    if (Value *array = shared.lookup(name)) {
      return array;
    }
    uint64_t address = addressOf(name);
    return address ? b.getInt64(address) : nullptr;
  }

  llvm::Type *floatOf(unsigned bits) {
    return bits == 64   ? b.getDoubleTy()
           : bits == 32 ? b.getFloatTy()
                        : b.getHalfTy();
  }

  Value *readAs(const Operand &operand, const Type &type) {
    Value *value = read(operand);
    if (!value) {
      return nullptr;
    }
    value = b.CreateZExtOrTrunc(value, b.getIntNTy(type.bits));
    return type.isFloat() ? b.CreateBitCast(value, floatOf(type.bits)) : value;
  }

  /// Fills the bits of a wider register by the sign if the type has one.
  bool assign(const Operand &operand, Value *value, const Type &type) {
    llvm::AllocaInst *place = variable(operand.name);
    if (!place) {
      return false;
    }
    value = b.CreateBitCast(value, b.getIntNTy(type.bits));
    b.CreateStore(type.isSigned()
                      ? b.CreateSExtOrTrunc(value, place->getAllocatedType())
                      : b.CreateZExtOrTrunc(value, place->getAllocatedType()),
                  place);
    return true;
  }

  //===--- statements -----------------------------------------------------===//

  llvm::BasicBlock *blockOf(StringRef label) {
    llvm::BasicBlock *&block = labels[label];
    if (!block) {
      block = llvm::BasicBlock::Create(b.getContext(), label, function);
    }
    return block;
  }

  llvm::BasicBlock *newBlock() {
    return llvm::BasicBlock::Create(b.getContext(), "", function);
  }

  /// Counts what was written since the last time, before a block of it ends.
  void addUp() {
    if (instructionCount > 0) {
      Value *place = function->getArg(4);
      Value *sum = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), place),
                               b.getInt64(instructionCount));
      b.CreateStore(sum, place);
      instructionCount = 0;
    }
  }

  void continueIn(llvm::BasicBlock *block) {
    if (!b.GetInsertBlock()->getTerminator()) {
      addUp();
      b.CreateBr(block);
    }
    b.SetInsertPoint(block);
  }

  absl::Status write(const Statement &statement) {
    if (!statement.label.empty()) {
      continueIn(blockOf(statement.label));
      return absl::OkStatus();
    }
    if (statement.opcode == ".reg") {
      declare(statement);
      return absl::OkStatus();
    }
    if (statement.guard.empty()) {
      return writeInstruction(statement);
    }
    Operand guard;
    guard.name = statement.guard;
    Value *condition = readAs(guard, Type{});
    if (!condition) {
      return wrong(statement, "unknown predicate");
    }
    llvm::BasicBlock *then = newBlock(), *after = newBlock();
    addUp();
    b.CreateCondBr(condition, statement.guardNegated ? after : then,
                   statement.guardNegated ? then : after);
    b.SetInsertPoint(then);
    ZG_RETURN_IF_ERROR(writeInstruction(statement));
    continueIn(after);
    return absl::OkStatus();
  }

  absl::Status writeInstruction(const Statement &statement) {
    StringRef opcode = statement.opcode;
    ++instructionCount;
    if (opcode == "ret") {
      addUp();
      b.CreateRetVoid();
      b.SetInsertPoint(newBlock());
      return absl::OkStatus();
    }
    if (opcode == "bra" || opcode == "bra.uni") {
      addUp();
      b.CreateBr(blockOf(statement.operands[0].name));
      b.SetInsertPoint(newBlock());
      return absl::OkStatus();
    }
    for (const Instruction &instruction : instructions()) {
      if (opcode == instruction.name) {
        return writeCall(statement, instruction);
      }
    }
    std::optional<Opcode> parsed = parseOpcode(opcode);
    if (!parsed) {
      return missing(statement);
    }
    if (parsed->base == "mov") {
      return writeMove(statement, *parsed);
    }
    if (opcode.starts_with("ld.param.")) {
      return loadParameter(statement, *parsed);
    }
    if (parsed->base == "ld" || parsed->base == "st") {
      return writeAccess(statement, *parsed);
    }
    return compute(statement, *parsed);
  }

  absl::Status compute(const Statement &statement, const Opcode &opcode) {
    std::optional<Operation> operation = operationOf(opcode);
    if (!operation) {
      return missing(statement);
    }
    if (statement.operands.size() != operation->inputs.size() + 1) {
      return wrong(statement, "another number of operands");
    }
    std::vector<Value *> inputs;
    for (size_t i = 0; i < operation->inputs.size(); ++i) {
      inputs.push_back(readAs(statement.operands[i + 1], operation->inputs[i]));
      if (!inputs.back()) {
        return wrong(statement, "unknown operand");
      }
    }
    Value *result = operation->compute(b, opcode, inputs);
    if (!result) {
      return missing(statement);
    }
    return assign(statement.operands[0], result, operation->result)
               ? absl::OkStatus()
               : wrong(statement, "unknown result");
  }

  /// Moves a value, packs parts into a register, or takes it apart.
  absl::Status writeMove(const Statement &statement, const Opcode &opcode) {
    if (statement.operands.size() != 2) {
      return wrong(statement, "another number of operands");
    }
    const Operand &to = statement.operands[0], &from = statement.operands[1];
    Type whole = opcode.type;
    whole.kind = Type::Kind::kBits;
    size_t count = std::max(to.parts.size(), from.parts.size());
    Type part{Type::Kind::kBits,
              whole.bits / unsigned(std::max(count, size_t(1)))};
    Value *value =
        from.parts.empty() ? readAs(from, whole) : b.getIntN(whole.bits, 0);
    for (size_t i = 0; value && i < from.parts.size(); ++i) {
      Value *piece = readAs(from.parts[i], part);
      value =
          piece ? b.CreateOr(value,
                             b.CreateShl(b.CreateZExt(piece, value->getType()),
                                         i * part.bits))
                : nullptr;
    }
    if (!value) {
      return wrong(statement, "unknown operand");
    }
    if (to.parts.empty()) {
      return assign(to, value, whole) ? absl::OkStatus()
                                      : wrong(statement, "unknown result");
    }
    for (size_t i = 0; i < to.parts.size(); ++i) {
      Value *piece = b.CreateTrunc(b.CreateLShr(value, i * part.bits),
                                   b.getIntNTy(part.bits));
      if (!assign(to.parts[i], piece, part)) {
        return wrong(statement, "unknown result");
      }
    }
    return absl::OkStatus();
  }

  absl::Status loadParameter(const Statement &statement, const Opcode &opcode) {
    auto found = llvm::find(kernel.parameters, statement.operands[1].name);
    if (found == kernel.parameters.end() || statement.operands[1].offset != 0) {
      return wrong(statement, "unknown parameter");
    }
    Value *place =
        b.CreateConstGEP1_64(b.getPtrTy(), function->getArg(0),
                             uint64_t(found - kernel.parameters.begin()));
    Value *value = b.CreateLoad(b.getIntNTy(opcode.type.bits),
                                b.CreateLoad(b.getPtrTy(), place));
    return assign(statement.operands[0], value, opcode.type)
               ? absl::OkStatus()
               : wrong(statement, "unknown result");
  }

  //===--- memory ---------------------------------------------------------===//

  Value *addressAt(const Operand &operand) {
    Value *base = read(operand);
    return base ? b.CreateAdd(b.CreateZExt(base, b.getInt64Ty()),
                              b.getInt64(uint64_t(operand.offset)))
                : nullptr;
  }

  /// Tells the block of an access, which a vector makes as one.
  void touch(const Statement &statement, Value *address, uint32_t bytes,
             bool store) {
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        kTouch, b.getVoidTy(), b.getInt64Ty(), b.getInt32Ty(), b.getInt32Ty(),
        b.getInt32Ty());
    b.CreateCall(callee, {address, b.getInt32(bytes), b.getInt32(store),
                          b.getInt32(statement.line)});
  }

  absl::Status writeAccess(const Statement &statement, const Opcode &opcode) {
    bool store = opcode.base == "st";
    StringRef space = opcode.words.front();
    if ((space != "global" && space != "shared") ||
        statement.operands.size() != 2) {
      return missing(statement);
    }
    Value *address = addressAt(statement.operands[store ? 0 : 1]);
    if (!address) {
      return wrong(statement, "unknown address");
    }
    const Operand &other = statement.operands[store ? 1 : 0];
    llvm::ArrayRef<Operand> parts = other.parts;
    parts = parts.empty() ? llvm::ArrayRef<Operand>(other) : parts;
    Type type = opcode.type;
    if (type.isFloat()) {
      type.kind = Type::Kind::kBits;
    }
    const uint32_t bytes = type.bits / 8;
    touch(statement, address, bytes * uint32_t(parts.size()), store);
    for (size_t i = 0; i < parts.size(); ++i) {
      Value *place = b.CreateIntToPtr(
          b.CreateAdd(address, b.getInt64(i * bytes)), b.getPtrTy());
      if (store) {
        Value *value = readAs(parts[i], type);
        if (!value) {
          return wrong(statement, "unknown operand");
        }
        b.CreateAlignedStore(value, place, llvm::Align(bytes));
      } else if (!assign(parts[i],
                         b.CreateAlignedLoad(b.getIntNTy(type.bits), place,
                                             llvm::Align(bytes)),
                         type)) {
        return wrong(statement, "unknown result");
      }
    }
    return absl::OkStatus();
  }

  //===--- what the emulator's functions do
  //---------------------------------===//

  /// Passes operands as numbers of 64 bits, and takes words as results.
  absl::Status writeCall(const Statement &statement,
                         const Instruction &instruction) {
    std::vector<Value *> inputs;
    std::vector<const Operand *> results;
    for (const Operand &operand : statement.operands) {
      bool result = instruction.results && &operand == &statement.operands[0];
      llvm::ArrayRef<Operand> parts = operand.parts;
      for (const Operand &part :
           parts.empty() ? llvm::ArrayRef<Operand>(operand) : parts) {
        if (result) {
          results.push_back(&part);
          continue;
        }
        Value *value =
            part.kind == Operand::Kind::kAddress ? addressAt(part) : read(part);
        if (!value) {
          return wrong(statement, "unknown operand");
        }
        inputs.push_back(b.CreateZExtOrTrunc(value, b.getInt64Ty()));
      }
    }
    if (results.size() != instruction.results ||
        inputs.size() < instruction.operands || inputs.size() > kMostOperands) {
      return wrong(statement, "another number of operands");
    }
    call(instruction, inputs, statement.line);
    for (size_t i = 0; i < results.size(); ++i) {
      Value *word = b.CreateLoad(
          b.getInt32Ty(), b.CreateConstGEP1_64(b.getInt32Ty(), resultWords, i));
      if (!assign(*results[i], word, Type{Type::Kind::kBits, 32})) {
        return wrong(statement, "unknown result");
      }
    }
    return absl::OkStatus();
  }

  void call(const Instruction &instruction, llvm::ArrayRef<Value *> inputs,
            unsigned line) {
    if (!operandWords) {
      operandWords =
          entry.CreateAlloca(b.getInt64Ty(), b.getInt64(kMostOperands));
      resultWords =
          entry.CreateAlloca(b.getInt32Ty(), b.getInt64(kMostResults));
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      b.CreateStore(inputs[i],
                    b.CreateConstGEP1_64(b.getInt64Ty(), operandWords, i));
    }
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        instruction.name, b.getVoidTy(), b.getPtrTy(), b.getPtrTy(),
        b.getInt32Ty(), b.getInt32Ty());
    b.CreateCall(callee,
                 {resultWords, operandWords,
                  b.getInt32(uint32_t(inputs.size())), b.getInt32(line)});
  }

  const Kernel &kernel;
  const Text &text;
  llvm::Module &module;
  llvm::function_ref<uint64_t(StringRef)> addressOf;
  llvm::IRBuilder<> b, entry;
  llvm::Function *function = nullptr;
  llvm::StringMap<unsigned> widths;
  llvm::StringMap<llvm::AllocaInst *> registers;
  llvm::StringMap<llvm::BasicBlock *> labels;
  llvm::StringMap<Value *> shared; // where they begin
  std::vector<SharedArray> arrays;
  Value *operandWords = nullptr, *resultWords = nullptr;
  uint64_t instructionCount = 0;
};

} // namespace

absl::StatusOr<std::vector<SharedArray>>
ptx::addKernel(const Kernel &kernel, const Text &text, llvm::Module &module,
               llvm::function_ref<uint64_t(StringRef)> addressOf) {
  return Writer(kernel, text, module, addressOf).run();
}
