//===- Instructions.h - what kernels of CUDA call on the CPU --------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_INSTRUCTIONS_H
#define ZEROGRAPH_TESTS_EMULATOR_INSTRUCTIONS_H

#include <vector>

namespace zerograph::emulator {

/// A function that a twin calls (see Twin.h) instead of an instruction.
struct Instruction {
  const char *name;
  void *function;
};

/// All that generated kernels use. A twin that calls another is refused by name
/// when it is linked.
const std::vector<Instruction> &instructions();

/// Returns a function as an instruction's.
template <typename Function>
void *pointerTo(Function *function) {
  return reinterpret_cast<void *>(function);
}

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_INSTRUCTIONS_H
