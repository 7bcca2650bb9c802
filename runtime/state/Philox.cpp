//===- Philox.cpp - counter-based random numbers --------------------------===//

#include "runtime/state/Philox.h"

#include <cmath>

using namespace zerograph;

namespace {

/// FNV-1a: names become streams the same way everywhere.
uint64_t hashOf(absl::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char letter : name) {
    hash = (hash ^ uint8_t(letter)) * 0x100000001b3;
  }
  return hash;
}

uint32_t low(uint64_t value) { return uint32_t(value); }
uint32_t high(uint64_t value) { return uint32_t(value >> 32); }

/// In (0, 1): 53 random bits and a half.
double unit(uint32_t a, uint32_t b) {
  uint64_t bits = (uint64_t(a) << 32 | b) >> 11;
  return (double(bits) + 0.5) * 0x1p-53;
}

} // namespace

std::array<uint32_t, 4> zerograph::philox(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57) * counter[2];
    counter = {high(second) ^ counter[1] ^ key[0], low(second),
               high(first) ^ counter[3] ^ key[1], low(first)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomArray::RandomArray(uint64_t seed, absl::string_view name)
    : key{low(seed), high(seed)}, stream(hashOf(name)) {}

std::array<double, 2> RandomArray::uniformPair(uint64_t pair) const {
  auto bits = philox({low(pair), high(pair), low(stream), high(stream)}, key);
  return {unit(bits[0], bits[1]), unit(bits[2], bits[3])};
}

std::array<double, 2> RandomArray::normalPair(uint64_t pair) const {
  auto [first, second] = uniformPair(pair);
  // Box and Muller's method.
  double radius = std::sqrt(-2 * std::log(first));
  double angle = 2 * M_PI * second;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

template <typename Element>
void RandomArray::normal(uint64_t first, uint64_t count, double deviation,
                         Element *to) const {
  std::array<double, 2> pair{};
  for (uint64_t i = first; i < first + count; ++i) {
    if (i == first || i % 2 == 0) {
      pair = normalPair(i / 2);
    }
    *to++ = Element(pair[i % 2] * deviation);
  }
}

template <typename Element>
void RandomArray::uniform(uint64_t first, uint64_t count, double bound,
                          Element *to) const {
  std::array<double, 2> pair{};
  for (uint64_t i = first; i < first + count; ++i) {
    if (i == first || i % 2 == 0) {
      pair = uniformPair(i / 2);
    }
    *to++ = Element((2 * pair[i % 2] - 1) * bound);
  }
}

template void RandomArray::normal(uint64_t, uint64_t, double, float *) const;
template void RandomArray::normal(uint64_t, uint64_t, double, double *) const;
template void RandomArray::uniform(uint64_t, uint64_t, double, float *) const;
template void RandomArray::uniform(uint64_t, uint64_t, double, double *) const;
