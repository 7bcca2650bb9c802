//===- PtxTypes.h - types and opcodes of PTX ------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PTXTYPES_H
#define ZEROGRAPH_TESTS_EMULATOR_PTXTYPES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
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
/// Returns nothing where an opcode does not end with a type.
std::optional<Opcode> parseOpcode(llvm::StringRef text);

} // namespace zerograph::emulator::ptx

#endif // ZEROGRAPH_TESTS_EMULATOR_PTXTYPES_H
