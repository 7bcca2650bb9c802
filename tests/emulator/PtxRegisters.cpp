//===- PtxRegisters.cpp - registers of PTX as variables -------------------===//

#include "tests/emulator/PtxRegisters.h"

using namespace zerograph::emulator::ptx;
using llvm::StringRef;
using llvm::Value;

void Registers::declare(const Statement &statement) {
  StringRef name = statement.operands[0].name;
  widths[name] = unsigned(statement.operands[1].bits);
  variables.erase(name);
}

llvm::AllocaInst *Registers::variable(StringRef name) {
  auto [found, added] = variables.try_emplace(name, nullptr);
  if (added) {
    auto width = widths.find(name.rtrim("0123456789"));
    if (width != widths.end()) {
      found->second = entry.CreateAlloca(b.getIntNTy(width->second));
    }
  }
  return found->second;
}

Value *Registers::read(const Operand &operand) {
  Value *value = nullptr;
  if (operand.kind == Operand::Kind::kNumber) {
    return b.getInt64(operand.bits);
  }
  if (llvm::AllocaInst *place = variable(operand.name)) {
    value = b.CreateLoad(place->getAllocatedType(), place);
  } else {
    value = values.lookup(operand.name);
  }
  if (!value) {
    refuse("unknown operand");
    return b.getInt64(0);
  }
  return operand.kind != Operand::Kind::kAddress
             ? value
             : b.CreateAdd(b.CreateZExt(value, b.getInt64Ty()),
                           b.getInt64(uint64_t(operand.offset)));
}

Value *Registers::read(const Operand &operand, const Type &type) {
  Value *value = b.CreateZExtOrTrunc(read(operand), b.getIntNTy(type.bits));
  return type.isFloat() ? b.CreateBitCast(value, typeOf(b, type)) : value;
}

void Registers::assign(const Operand &operand, Value *value, const Type &type) {
  llvm::AllocaInst *place = variable(operand.name);
  if (!place) {
    refuse("unknown result");
    return;
  }
  value = b.CreateBitCast(value, b.getIntNTy(type.bits));
  llvm::Type *width = place->getAllocatedType();
  b.CreateStore(type.isSigned() ? b.CreateSExtOrTrunc(value, width)
                                : b.CreateZExtOrTrunc(value, width),
                place);
}
