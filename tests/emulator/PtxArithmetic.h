//===- PtxArithmetic.h - what instructions of PTX compute -----------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PTXARITHMETIC_H
#define ZEROGRAPH_TESTS_EMULATOR_PTXARITHMETIC_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"

#include <optional>

namespace zerograph::emulator::ptx {

/// The type that an instruction names: ".s32".
struct Type {
  enum class Kind { kBits, kSigned, kUnsigned, kFloat };
  Kind kind = Kind::kBits;
  unsigned bits = 1; // 1: a predicate

  bool isFloat() const { return kind == Kind::kFloat; }
  bool isSigned() const { return kind == Kind::kSigned; }
  Type wide() const { return {kind, 2 * bits}; }
};
std::optional<Type> parseType(llvm::StringRef name);
llvm::Type *typeOf(llvm::IRBuilder<> &b, const Type &type);

/// "setp.lt.s32": words after the first, the last of which is the type.
struct Opcode {
  llvm::StringRef base;
  llvm::SmallVector<llvm::StringRef, 4> words;
  Type type;

  bool has(llvm::StringRef word) const {
    return llvm::is_contained(words, word);
  }
};
/// Nothing where an opcode does not end with a type.
std::optional<Opcode> parseOpcode(llvm::StringRef text);

/// An instruction that computes a result of its operands and nothing else.
/// Values are integers, and floats where the types are.
struct Operation {
  Opcode opcode;
  llvm::SmallVector<Type, 4> inputs;
  Type result;
  llvm::Value *(*compute)(llvm::IRBuilder<> &b, const Opcode &opcode,
                          llvm::ArrayRef<llvm::Value *> inputs);
};
/// Nothing for an instruction that is not one of these.
std::optional<Operation> operationOf(const Opcode &opcode);

} // namespace zerograph::emulator::ptx

#endif // ZEROGRAPH_TESTS_EMULATOR_PTXARITHMETIC_H
