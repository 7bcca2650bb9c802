//===- Convert.cpp - numbers in another type ------------------------------===//

#include "runtime/state/Convert.h"

#include "runtime/base/Half.h"
#include "runtime/plan/Describe.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace zerograph;

namespace {

template <typename T>
T load(const std::byte *from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

float loadAsFloat(plan::ElementType type, const std::byte *from) {
  switch (type) {
  case plan::BF16:
    return fromBf16(load<uint16_t>(from));
  case plan::F16:
    return fromF16(load<uint16_t>(from));
  default:
    return load<float>(from);
  }
}

uint16_t toBf16(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) {
    return uint16_t(bits >> 16 | 0x40); // not to be rounded to infinity
  }
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t toF16(float value) {
  auto sign = uint16_t(std::signbit(value) ? 0x8000 : 0);
  float magnitude = std::fabs(value);
  if (std::isnan(value)) {
    return sign | 0x7e00;
  }
  if (magnitude >= 65520) { // half a unit above the greatest
    return sign | 0x7c00;
  }
  // Below 2^-14 numbers are as far apart as there.
  int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
  auto fraction =
      uint16_t(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // The leading bit of a normal number adds one to the exponent, and so does a
  // fraction that was rounded up to the next power of 2.
  return uint16_t(sign | (((exponent + 14) << 10) + fraction));
}

} // namespace

bool zerograph::canConvert(plan::ElementType from, plan::ElementType to) {
  bool number = from == plan::F32 || from == plan::BF16 || from == plan::F16;
  return from == to ||
         (number && (to == plan::F32 || to == plan::BF16 || to == plan::F16));
}

void zerograph::convertElements(plan::ElementType from, const std::byte *source,
                                plan::ElementType to, std::byte *destination,
                                uint64_t count) {
  uint64_t read = elementSize(from), written = elementSize(to);
  if (from == to) {
    std::memcpy(destination, source, count * read);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    float value = loadAsFloat(from, source + i * read);
    if (to == plan::BF16 || to == plan::F16) {
      uint16_t bits = to == plan::BF16 ? toBf16(value) : toF16(value);
      std::memcpy(destination + i * written, &bits, sizeof(bits));
    } else {
      std::memcpy(destination + i * written, &value, sizeof(value));
    }
  }
}
