//===- TensorInstructions.h - tensor cores on the CPU ---------------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_TENSORINSTRUCTIONS_H
#define ZEROGRAPH_TESTS_EMULATOR_TENSORINSTRUCTIONS_H

#include "tests/emulator/Instructions.h"

namespace zerograph::emulator {

/// Returns products of matrices by a warp, what loads their operands, and what
/// makes them. Sums are in ascending order and in f32; a GPU's are not rounded
/// as often.
const std::vector<Instruction> &tensorInstructions();

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_TENSORINSTRUCTIONS_H
