//===- PtxArithmetic.h - what instructions of PTX compute -----------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PTXARITHMETIC_H
#define ZEROGRAPH_TESTS_EMULATOR_PTXARITHMETIC_H

#include "tests/emulator/PtxTypes.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace zerograph::emulator::ptx {

/// An instruction that computes a result of its operands and nothing else.
/// Values are integers, and floats where the types are.
struct Operation {
  Opcode opcode;
  llvm::SmallVector<Type, 4> inputs;
  Type result;
  llvm::Value *(*compute)(llvm::IRBuilder<> &b, const Opcode &opcode,
                          llvm::ArrayRef<llvm::Value *> inputs);
};
/// Returns nothing for an instruction that is not one of these, and for a
/// rounding or another word that is not computed.
std::optional<Operation> operationOf(const Opcode &opcode);

} // namespace zerograph::emulator::ptx

#endif // ZEROGRAPH_TESTS_EMULATOR_PTXARITHMETIC_H
