//===- Twin.h - a GPU's module as one for the CPU -------------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_TWIN_H
#define ZEROGRAPH_TESTS_EMULATOR_TWIN_H

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Module;
} // namespace llvm

namespace zerograph::emulator {

/// An array that the threads of a block share.
struct SharedArray {
  std::string kernel, name;
  uint64_t bytes = 0;
  /// Bytes of an element.
  uint32_t element = 0;
};

/// Makes of llvm.nvvm.X calls of emulator.X, before every load and store of the
/// GPU's memory a call of emulator.touch(address, bytes, is a store), of a
/// kernel's n-th shared array a call of emulator.shared(n), and for each kernel
/// a function `call.NAME(void **parameters)`. The arrays of all kernels, those
/// of one in this order.
std::vector<SharedArray> makeTwin(llvm::Module &module);

/// Instructions of the GPU that a twin calls and that the emulator does not
/// have.
std::vector<std::string> missingInstructions(const llvm::Module &twin);

/// Returns what `makeTwin` names the function that calls a kernel.
std::string callerOf(const std::string &kernel);

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_TWIN_H
