//===- PtxCode.cpp - kernels in PTX as code for the CPU -------------------===//

#include "tests/emulator/PtxCode.h"

#include "runtime/base/Status.h"
#include "tests/emulator/Accesses.h"
#include "tests/emulator/Instructions.h"
#include "tests/emulator/PtxArithmetic.h"
#include "tests/emulator/PtxRegisters.h"

#include "llvm/IR/Module.h"

using namespace zerograph;
using namespace zerograph::emulator;
using namespace zerograph::emulator::ptx;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Value;

namespace {

/// The parameters of a ThreadFunction.
enum Parameter { kParameters, kShared, kThread, kBlock, kInstructions };

class Writer {
public:
  Writer(const Kernel &kernel, const Text &text, llvm::Module &module)
      : kernel(kernel), text(text), module(module), b(module.getContext()),
        entry(module.getContext()), registers(b, entry) {}

  absl::StatusOr<std::vector<SharedArray>>
  run(llvm::function_ref<uint64_t(StringRef)> addressOf) {
    begin();
    registers.name("%tid.x", function->getArg(kThread));
    registers.name("%ctaid.x", function->getArg(kBlock));
    for (const Array &array : text.global) {
      registers.name(array.name, b.getInt64(addressOf(array.name)));
    }
    nameShared();
    for (const Statement &statement : kernel.statements) {
      write(statement);
      if (!registers.error().empty()) {
        return absl::UnimplementedError(absl::StrCat(
            "line ", statement.line, " of the PTX: ", registers.error(),
            " in '", statement.opcode.str(), "' of kernel ",
            kernel.name.str()));
      }
    }
    addUp();
    b.CreateRetVoid();
    for (const auto &label : labels) {
      if (label.second->empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("kernel ", kernel.name.str(), ": there is no label ",
                         label.first().str()));
      }
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

  //===--- shared memory --------------------------------------------------===//

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

  bool isUsed(const Array &array) const {
    return llvm::any_of(kernel.statements, [&](const Statement &statement) {
      return llvm::any_of(statement.operands, [&](const Operand &operand) {
        return operand.name == array.name;
      });
    });
  }

  void nameShared() {
    const uint32_t element = sharedElement();
    for (const auto *declared : {&text.shared, &kernel.shared}) {
      for (const Array &array : *declared) {
        if (isUsed(array)) {
          Value *place = entry.CreateConstGEP1_32(
              b.getPtrTy(), function->getArg(kShared), unsigned(arrays.size()));
          registers.name(array.name, entry.CreatePtrToInt(
                                         entry.CreateLoad(b.getPtrTy(), place),
                                         b.getInt64Ty()));
          arrays.push_back({array.name.str(), array.bytes, element});
        }
      }
    }
  }

  //===--- the order of statements ----------------------------------------===//

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
      Value *place = function->getArg(kInstructions);
      Value *sum = b.CreateAdd(b.CreateLoad(b.getInt64Ty(), place),
                               b.getInt64(instructionCount));
      b.CreateStore(sum, place);
      instructionCount = 0;
    }
  }

  /// Goes to a block; what is written then is in another one.
  void jump(llvm::BasicBlock *to, llvm::BasicBlock *then) {
    addUp();
    b.CreateBr(to);
    b.SetInsertPoint(then);
  }

  void write(const Statement &statement) {
    if (!statement.label.empty()) {
      llvm::BasicBlock *block = blockOf(statement.label);
      jump(block, block);
    } else if (statement.opcode == ".reg") {
      registers.declare(statement);
    } else if (statement.guard.empty()) {
      writeInstruction(statement);
    } else {
      Operand guard;
      guard.name = statement.guard;
      Value *condition = registers.read(guard, Type{});
      llvm::BasicBlock *then = newBlock(), *after = newBlock();
      addUp();
      b.CreateCondBr(condition, statement.guardNegated ? after : then,
                     statement.guardNegated ? then : after);
      b.SetInsertPoint(then);
      writeInstruction(statement);
      jump(after, after);
    }
  }

  void writeInstruction(const Statement &statement) {
    StringRef name = statement.opcode;
    ++instructionCount;
    auto instruction =
        llvm::find_if(instructions(), [&](const Instruction &known) {
          return name == known.name;
        });
    std::optional<Opcode> opcode = parseOpcode(name);
    if (name == "ret") {
      addUp();
      b.CreateRetVoid();
      b.SetInsertPoint(newBlock());
    } else if (name == "bra" || name == "bra.uni") {
      if (expect(statement.operands.size() == 1)) {
        jump(blockOf(statement.operands[0].name), newBlock());
      }
    } else if (instruction != instructions().end()) {
      writeCall(statement, *instruction);
    } else if (!opcode) {
      refuseInstruction();
    } else if (opcode->base == "mov") {
      writeMove(statement, *opcode);
    } else if (name.starts_with("ld.param.")) {
      loadParameter(statement, *opcode);
    } else if (opcode->base == "ld" || opcode->base == "st") {
      writeAccess(statement, *opcode);
    } else {
      compute(statement, *opcode);
    }
  }

  void refuseInstruction() {
    registers.refuse("the emulator has no such instruction");
  }

  bool expect(bool operandsFit) {
    if (!operandsFit) {
      registers.refuse("another number of operands");
    }
    return operandsFit;
  }

  //===--- instructions ---------------------------------------------------===//

  void compute(const Statement &statement, const Opcode &opcode) {
    std::optional<Operation> operation = operationOf(opcode);
    if (!operation) {
      refuseInstruction();
      return;
    }
    if (!expect(statement.operands.size() == operation->inputs.size() + 1)) {
      return;
    }
    std::vector<Value *> inputs;
    for (size_t i = 0; i < operation->inputs.size(); ++i) {
      inputs.push_back(
          registers.read(statement.operands[i + 1], operation->inputs[i]));
    }
    if (Value *result = operation->compute(b, opcode, inputs)) {
      registers.assign(statement.operands[0], result, operation->result);
    } else {
      refuseInstruction();
    }
  }

  /// Returns the parts of an operand, or itself.
  static ArrayRef<Operand> partsOf(const Operand &operand) {
    return operand.parts.empty() ? ArrayRef<Operand>(operand)
                                 : ArrayRef<Operand>(operand.parts);
  }

  /// Moves a value, packs parts into a register, or takes it apart.
  void writeMove(const Statement &statement, const Opcode &opcode) {
    if (!expect(statement.operands.size() == 2)) {
      return;
    }
    const unsigned bits = opcode.type.bits;
    auto typeOfPart = [&](ArrayRef<Operand> parts) {
      return Type{Type::Kind::kBits, bits / unsigned(parts.size())};
    };
    ArrayRef<Operand> from = partsOf(statement.operands[1]);
    ArrayRef<Operand> to = partsOf(statement.operands[0]);
    Type read = typeOfPart(from), written = typeOfPart(to);
    Value *value = b.getIntN(bits, 0);
    for (size_t i = 0; i < from.size(); ++i) {
      Value *part =
          b.CreateZExt(registers.read(from[i], read), value->getType());
      value = b.CreateOr(value, b.CreateShl(part, i * read.bits));
    }
    for (size_t i = 0; i < to.size(); ++i) {
      Value *part = b.CreateLShr(value, i * written.bits);
      registers.assign(to[i], b.CreateTrunc(part, b.getIntNTy(written.bits)),
                       written);
    }
  }

  void loadParameter(const Statement &statement, const Opcode &opcode) {
    if (!expect(statement.operands.size() == 2)) {
      return;
    }
    auto found = llvm::find(kernel.parameters, statement.operands[1].name);
    if (found == kernel.parameters.end() || statement.operands[1].offset != 0) {
      registers.refuse("unknown parameter");
      return;
    }
    Value *place =
        b.CreateConstGEP1_64(b.getPtrTy(), function->getArg(kParameters),
                             uint64_t(found - kernel.parameters.begin()));
    Value *value = b.CreateLoad(b.getIntNTy(opcode.type.bits),
                                b.CreateLoad(b.getPtrTy(), place));
    registers.assign(statement.operands[0], value, opcode.type);
  }

  /// Tells the block of an access, which a vector makes as one.
  void touch(const Statement &statement, Value *address, uint32_t bytes,
             Access access) {
    llvm::FunctionCallee callee = module.getOrInsertFunction(
        kTouch, b.getVoidTy(), b.getInt64Ty(), b.getInt32Ty(), b.getInt32Ty(),
        b.getInt32Ty());
    b.CreateCall(callee,
                 {address, b.getInt32(bytes), b.getInt32(uint32_t(access)),
                  b.getInt32(statement.line)});
  }

  void writeAccess(const Statement &statement, const Opcode &opcode) {
    bool store = opcode.base == "st";
    StringRef space = opcode.words.front();
    bool constant = !store && space == "global" && opcode.has("nc");
    if (space != "global" && space != "shared") {
      refuseInstruction();
      return;
    }
    if (!expect(statement.operands.size() == 2)) {
      return;
    }
    Value *address = registers.read(statement.operands[store ? 0 : 1]);
    ArrayRef<Operand> parts = partsOf(statement.operands[store ? 1 : 0]);
    Type type = opcode.type;
    if (type.isFloat()) {
      type.kind = Type::Kind::kBits;
    }
    const uint32_t bytes = type.bits / 8;
    touch(statement, address, bytes * uint32_t(parts.size()),
          store      ? Access::kWrite
          : constant ? Access::kReadConstant
                     : Access::kRead);
    for (size_t i = 0; i < parts.size(); ++i) {
      Value *place = b.CreateIntToPtr(
          b.CreateAdd(address, b.getInt64(i * bytes)), b.getPtrTy());
      llvm::Align alignment(bytes);
      if (store) {
        b.CreateAlignedStore(registers.read(parts[i], type), place, alignment);
      } else {
        registers.assign(
            parts[i],
            b.CreateAlignedLoad(b.getIntNTy(type.bits), place, alignment),
            type);
      }
    }
  }

  /// Passes operands as numbers of 64 bits, and takes words as results.
  void writeCall(const Statement &statement, const Instruction &instruction) {
    ArrayRef<Operand> operands = statement.operands, results;
    if (instruction.results > 0 && !operands.empty()) {
      results = partsOf(operands.front());
      operands = operands.drop_front();
    }
    std::vector<Value *> inputs;
    for (const Operand &operand : operands) {
      for (const Operand &part : partsOf(operand)) {
        inputs.push_back(
            b.CreateZExtOrTrunc(registers.read(part), b.getInt64Ty()));
      }
    }
    if (!expect(results.size() == instruction.results &&
                inputs.size() >= instruction.least &&
                inputs.size() <= instruction.most)) {
      return;
    }
    call(instruction, inputs, statement.line);
    for (size_t i = 0; i < results.size(); ++i) {
      Value *place = b.CreateConstGEP1_64(b.getInt32Ty(), resultWords, i);
      registers.assign(results[i], b.CreateLoad(b.getInt32Ty(), place),
                       Type{Type::Kind::kBits, 32});
    }
  }

  void call(const Instruction &instruction, ArrayRef<Value *> inputs,
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
  llvm::IRBuilder<> b, entry;
  Registers registers;
  llvm::Function *function = nullptr;
  llvm::StringMap<llvm::BasicBlock *> labels;
  std::vector<SharedArray> arrays;
  Value *operandWords = nullptr, *resultWords = nullptr;
  uint64_t instructionCount = 0; // of the block
};

} // namespace

absl::StatusOr<std::vector<SharedArray>>
ptx::addKernel(const Kernel &kernel, const Text &text, llvm::Module &module,
               llvm::function_ref<uint64_t(StringRef)> addressOf) {
  return Writer(kernel, text, module).run(addressOf);
}
