//===- PtxTypes.cpp - types and opcodes of PTX ----------------------------===//

#include "tests/emulator/PtxTypes.h"

using namespace zerograph::emulator::ptx;
using llvm::StringRef;

std::optional<Type> zerograph::emulator::ptx::parseType(StringRef name) {
  if (name == "pred") {
    return Type{};
  }
  Type type;
  switch (name.empty() ? ' ' : name[0]) {
  case 'b':
    type.kind = Type::Kind::kBits;
    break;
  case 's':
    type.kind = Type::Kind::kSigned;
    break;
  case 'u':
    type.kind = Type::Kind::kUnsigned;
    break;
  case 'f':
    type.kind = Type::Kind::kFloat;
    break;
  default:
    return std::nullopt;
  }
  bool wrong = name.drop_front().getAsInteger(10, type.bits);
  return wrong ? std::nullopt : std::optional(type);
}

llvm::Type *zerograph::emulator::ptx::typeOf(llvm::IRBuilder<> &b,
                                             const Type &type) {
  if (!type.isFloat()) {
    return b.getIntNTy(type.bits);
  }
  return type.bits == 64   ? b.getDoubleTy()
         : type.bits == 32 ? b.getFloatTy()
                           : b.getHalfTy();
}

std::optional<Opcode> zerograph::emulator::ptx::parseOpcode(StringRef text) {
  Opcode opcode;
  text.split(opcode.words, '.');
  opcode.base = opcode.words.front();
  opcode.words.erase(opcode.words.begin());
  if (opcode.words.empty()) {
    return std::nullopt;
  }
  std::optional<Type> type = parseType(opcode.words.back());
  if (!type) {
    return std::nullopt;
  }
  opcode.type = *type;
  return opcode;
}
