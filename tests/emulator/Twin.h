//===- Twin.h - a GPU's module as one for the CPU -------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_TWIN_H
#define ZEROGRAPH_TESTS_EMULATOR_TWIN_H

#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace zerograph::emulator {

/// Makes of llvm.nvvm.X calls of emulator.X, before every load and store of the
/// GPU's memory a call of emulator.touch(address, bytes, is a store), and for
/// each kernel a function `call.NAME(void **parameters)`.
void makeTwin(llvm::Module &module);

/// Instructions of the GPU that a twin calls and that the emulator does not
/// have.
std::vector<std::string> missingInstructions(const llvm::Module &twin);

/// What `makeTwin` names the function that calls a kernel.
std::string callerOf(const std::string &kernel);

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_TWIN_H
