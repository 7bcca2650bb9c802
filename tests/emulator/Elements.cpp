//===- Elements.cpp - numbers as they lie in a GPU's memory ---------------===//

#include "tests/emulator/Elements.h"

#include <bit>
#include <cstring>

using namespace zerograph;
using namespace zerograph::emulator;

namespace {

template <typename T>
T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store(char *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

} // namespace

uint64_t zerograph::emulator::elementBytes(cudaDataType_t type) {
  switch (type) {
  case CUDA_R_64F:
    return 8;
  case CUDA_R_32F:
    return 4;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  default:
    return 0;
  }
}

double zerograph::emulator::loadElement(cudaDataType_t type, const char *from) {
  switch (type) {
  case CUDA_R_64F:
    return load<double>(from);
  case CUDA_R_16F:
    return double(load<_Float16>(from));
  case CUDA_R_16BF:
    return std::bit_cast<float>(uint32_t(load<uint16_t>(from)) << 16);
  default:
    return load<float>(from);
  }
}

void zerograph::emulator::storeElement(cudaDataType_t type, char *to,
                                       double value) {
  switch (type) {
  case CUDA_R_64F:
    return store(to, value);
  case CUDA_R_16F:
    return store(to, _Float16(float(value)));
  case CUDA_R_16BF:
    return store(
        to, uint16_t(std::bit_cast<uint32_t>(rounded(float(value), 16)) >> 16));
  default:
    return store(to, float(value));
  }
}

float zerograph::emulator::rounded(float value, int dropped) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) {
    return value; // a NaN stays one
  }
  bits += (1u << (dropped - 1)) - 1 + (bits >> dropped & 1);
  return std::bit_cast<float>(bits >> dropped << dropped);
}
