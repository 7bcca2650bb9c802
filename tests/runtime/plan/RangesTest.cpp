//===- RangesTest.cpp - bytes of a slice, of every rank -------------------===//

#include "runtime/plan/Ranges.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

namespace zerograph {
namespace {

// The closed form agrees with looking at every rank.
TEST(Ranges, OverlapLooksAtEveryRank) {
  std::mt19937 random(2);
  for (int i = 0; i < 200000; ++i) {
    uint32_t world = 1 + random() % 6;
    Range a{0, random() % 40, random() % 6, random() % 9};
    Range b{0, random() % 40, random() % 6, random() % 9};
    bool expected = false;
    for (uint64_t rank = 0; rank < world; ++rank) {
      uint64_t x = a.begin + rank * a.stride;
      uint64_t y = b.begin + rank * b.stride;
      expected |= std::max(x, y) < std::min(x + a.bytes, y + b.bytes);
    }
    ASSERT_EQ(overlap(a, b, world), expected);
  }
}

} // namespace
} // namespace zerograph
