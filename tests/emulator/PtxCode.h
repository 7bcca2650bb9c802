//===- PtxCode.h - kernels in PTX as code for the CPU ---------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_PTXCODE_H
#define ZEROGRAPH_TESTS_EMULATOR_PTXCODE_H

#include "tests/emulator/Block.h"
#include "tests/emulator/PtxText.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace llvm {
class Module;
} // namespace llvm

namespace zerograph::emulator::ptx {

/// Runs one thread of a kernel. `parameters` are where they lie, as a
/// launch has them, and `shared` is where the arrays of its block begin. It
/// adds the instructions that it executes up.
using ThreadFunction = void (*)(const void *const *parameters,
                                void *const *shared, uint32_t thread,
                                uint32_t block, uint64_t *instructions);

/// Adds the function of a kernel, by its name, to a module for this machine.
/// It calls `touch` before each access of memory, and the functions of
/// Instructions.h by their names. `addressOf` says where an array of global
/// memory lies. Returns the arrays that the threads of a block share; an error
/// names an instruction that the emulator does not have.
absl::StatusOr<std::vector<SharedArray>>
addKernel(const Kernel &kernel, const Text &text, llvm::Module &module,
          llvm::function_ref<uint64_t(llvm::StringRef)> addressOf);

} // namespace zerograph::emulator::ptx

#endif // ZEROGRAPH_TESTS_EMULATOR_PTXCODE_H
