//===- PtxText.h - PTX as the driver is given it --------------------------===//
//
// Reads the part of PTX that LLVM writes for our kernels, by the grammar of
// NVIDIA's "PTX ISA", chapters 4 and 5. Parts of a text point into it.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PTXTEXT_H
#define ZEROGRAPH_TESTS_EMULATOR_PTXTEXT_H

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace zerograph::emulator::ptx {

struct Operand {
  enum class Kind {
    kName,    // a register, a special register, an array or a label
    kNumber,  // `bits`: of a float, how it lies in memory
    kAddress, // `name` or `bits`, and so many bytes after it
    kVector
  };
  Kind kind = Kind::kName;
  llvm::StringRef name;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::vector<Operand> parts;
};

/// An instruction; a label, which names the instruction after it; or, with
/// opcode ".reg", a declaration. Its operands are a name and bits, 1 for
/// predicates: all registers whose names are that and a number, or one of that
/// name, have so many.
struct Statement {
  unsigned line = 0;
  llvm::StringRef label; // else empty
  /// The predicate without which the instruction does nothing; may be empty.
  llvm::StringRef guard;
  bool guardNegated = false;
  llvm::StringRef opcode; // "ld.global.v4.f32"
  std::vector<Operand> operands;
};

/// An array of bytes in global memory, which is a constant with `values` or, if
/// there are none, a variable that begins as zeros; or one that the threads of
/// a block share.
struct Array {
  llvm::StringRef name;
  uint64_t bytes = 0;
  std::vector<uint8_t> values;
};

struct Kernel {
  llvm::StringRef name;
  std::vector<llvm::StringRef> parameters; // of 64 bits each
  /// The only number of threads that a block may have; 0: any.
  uint32_t threads = 0;
  std::vector<Array> shared;
  std::vector<Statement> statements;
};

struct Text {
  unsigned target = 0; // 80 for sm_80
  std::vector<Array> global, shared;
  std::vector<Kernel> kernels;
};

/// Parses a text, which must outlive the result. An error says which line is
/// not as expected.
absl::StatusOr<Text> parse(llvm::StringRef text);

} // namespace zerograph::emulator::ptx

#endif // ZEROGRAPH_TESTS_EMULATOR_PTXTEXT_H
