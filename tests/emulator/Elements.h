//===- Elements.h - numbers as they lie in a GPU's memory -----------------===//

#ifndef ZEROGRAPH_TESTS_EMULATOR_ELEMENTS_H
#define ZEROGRAPH_TESTS_EMULATOR_ELEMENTS_H

#include "runtime/device/cuda/CublasLtApi.h"

#include <cstdint>

namespace zerograph::emulator {

/// Returns the bytes of a number; 0 of a type that is not known.
uint64_t elementBytes(cudaDataType_t type);

/// Returns the number at `from`, exactly.
double loadElement(cudaDataType_t type, const char *from);

/// Rounds a number that is a float or, of f64, any to the nearest of the type,
/// ties to even.
void storeElement(cudaDataType_t type, char *to, double value);

/// To the nearest float with `dropped` bits less, ties to even.
float rounded(float value, int dropped);

} // namespace zerograph::emulator

#endif // ZEROGRAPH_TESTS_EMULATOR_ELEMENTS_H
