//===- Instructions.h - what kernels of CUDA call on the CPU --------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_INSTRUCTIONS_H
#define ZEROGRAPH_TESTS_EMULATOR_INSTRUCTIONS_H

#include <cstdint>
#include <vector>

namespace zerograph::emulator {

/// Executes an instruction for the thread that runs now: `operands` are those
/// of the text after the result, vectors part by part, and `results` the words
/// that it gives. `site` names the statement.
using Execute = void (*)(uint32_t *results, const uint64_t *operands,
                         uint32_t count, uint32_t site);

/// Bounds of the operands and results of an instruction.
inline constexpr uint32_t kMostOperands = 16, kMostResults = 8;

/// An instruction of PTX that needs the other threads, or that is none of
/// LLVM's.
struct Instruction {
  const char *name;
  uint32_t results;
  uint32_t least, most; // operands
  Execute execute;
};

/// The instructions that generated kernels use besides those that
/// PtxArithmetic.h computes and plain accesses.
const std::vector<Instruction> &instructions();

/// The name of the function that is called before each plain access:
/// `touch(address, bytes, is Access, site)`.
inline constexpr char kTouch[] = "touch";
void touch(uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_INSTRUCTIONS_H
