//===- Permutation.cpp - an order that is computed place by place ---------===//

#include "runtime/state/Permutation.h"

#include "runtime/state/Philox.h"

#include <cmath>

using namespace zerograph;

namespace {

/// Four make a permutation that looks random. With twelve all orders of a few
/// numbers are equally likely too, as far as one can count.
constexpr uint32_t kRounds = 12;

/// Beside the rounds' numbers in a word of the counter, so that the same seed
/// gives made up weights and masks other numbers.
constexpr uint32_t kStream = 0x5368'7500;

/// The least number whose square is at least `value`.
uint64_t rootOf(uint64_t value) {
  auto root = uint64_t(std::sqrt(double(value))); // off by a little
  while (root > 0 && (root - 1) * (root - 1) >= value) {
    --root;
  }
  while (root * root < value) {
    ++root;
  }
  return root;
}

} // namespace

Permutation::Permutation(uint64_t seed, uint64_t count)
    : key{uint32_t(seed), uint32_t(seed >> 32)}, count(count) {
  sizes[0] = rootOf(count);
  sizes[1] = (count + sizes[0] - 1) / sizes[0];
}

uint64_t Permutation::mix(uint64_t epoch, uint64_t number) const {
  // Halves change places with their sizes: `left` is below sizes[round % 2].
  uint64_t left = number % sizes[0], right = number / sizes[0];
  for (uint32_t round = 0; round < kRounds; ++round) {
    auto bits = philox({uint32_t(right), kStream | round, uint32_t(epoch),
                        uint32_t(epoch >> 32)},
                       key);
    uint64_t random = uint64_t(bits[0]) << 32 | bits[1];
    uint64_t size = sizes[round % 2];
    uint64_t mixed = (left + random % size) % size;
    left = right;
    right = mixed;
  }
  return right * sizes[0] + left;
}

uint64_t Permutation::at(uint64_t epoch, uint64_t place) const {
  // A cycle that begins below `count` comes back there.
  do {
    place = mix(epoch, place);
  } while (place >= count);
  return place;
}
