//===- PtxRegisters.h - registers of PTX as variables ---------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PTXREGISTERS_H
#define ZEROGRAPH_TESTS_EMULATOR_PTXREGISTERS_H

#include "tests/emulator/PtxText.h"
#include "tests/emulator/PtxTypes.h"

#include "absl/status/status.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/IRBuilder.h"

namespace zerograph::emulator::ptx {

/// The registers of a kernel and what else its operands name. A register is a
/// variable of the function, an integer; LLVM makes values of it. What cannot
/// be is noted once, and a zero goes in its place.
class Registers {
public:
  /// Code is written by `b`. `entry` writes what comes before all of it.
  Registers(llvm::IRBuilder<> &b, llvm::IRBuilder<> &entry)
      : b(b), entry(entry) {}

  /// Declares a group of registers, or anew one that is of a scope of its own.
  void declare(const Statement &statement);
  /// Lets a name stand for a value.
  void name(llvm::StringRef name, llvm::Value *value) { values[name] = value; }

  /// Returns what an operand holds: an integer as wide as it happens to be; of
  /// an address, where it is, in 64 bits.
  llvm::Value *read(const Operand &operand);
  /// The same as a value of the type.
  llvm::Value *read(const Operand &operand, const Type &type);
  /// Fills the bits of a wider register by the sign if the type has one.
  void assign(const Operand &operand, llvm::Value *value, const Type &type);

  /// Returns the first thing that was wrong; empty if nothing was.
  const std::string &error() const { return wrong; }
  void refuse(const std::string &what) { wrong = wrong.empty() ? what : wrong; }

private:
  /// Returns the variable of a register; null if it is not one.
  llvm::AllocaInst *variable(llvm::StringRef name);

  llvm::IRBuilder<> &b, &entry;
  llvm::StringMap<unsigned> widths; // by what names begin with
  llvm::StringMap<llvm::AllocaInst *> variables;
  llvm::StringMap<llvm::Value *> values;
  std::string wrong;
};

} // namespace zerograph::emulator::ptx

#endif // ZEROGRAPH_TESTS_EMULATOR_PTXREGISTERS_H
