//===- Half.h - numbers of 16 bits as floats ------------------------------===//

#ifndef ZEROGRAPH_RUNTIME_BASE_HALF_H
#define ZEROGRAPH_RUNTIME_BASE_HALF_H

#include <bit>
#include <cstdint>

namespace zerograph {

inline float fromBf16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Exact. No operand is a denormal float: processors are slow with these.
inline float fromF16(uint16_t bits) {
  constexpr uint32_t kBias = (127u - 15u) << 23; // between the two exponents
  uint32_t magnitude = uint32_t(bits & 0x7fff) << 13;
  float denormal = float(int32_t(bits & 0x3ff)) * 0x1p-24f;
  uint32_t exponent = bits & 0x7c00;
  uint32_t number = exponent == 0 ? std::bit_cast<uint32_t>(denormal)
                    : exponent == 0x7c00
                        ? magnitude | 0x7f800000 // infinity or NaN
                        : magnitude + kBias;
  return std::bit_cast<float>(uint32_t(bits & 0x8000) << 16 | number);
}

} // namespace zerograph

#endif // ZEROGRAPH_RUNTIME_BASE_HALF_H
