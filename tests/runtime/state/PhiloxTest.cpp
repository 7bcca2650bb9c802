//===- PhiloxTest.cpp - numbers that are made up --------------------------===//

#include "runtime/state/Philox.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <vector>

using namespace zerograph;

namespace {

/// The known answers of the authors' test vectors.
TEST(PhiloxTest, TheGeneratorIsPhilox) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
                                     0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6,
                                     0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                   {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420,
                                     0x24126ea1}));
}

TEST(PhiloxTest, AnyPartOfAnArrayIsTheSame) {
  RandomArray normals(42, "w");
  std::vector<float> whole(1001);
  normals.normal(0, 1001, 0.5, whole.data());
  for (uint64_t first : {0, 1, 2, 333, 1000}) {
    std::vector<float> part(1001 - first);
    normals.normal(first, part.size(), 0.5, part.data());
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first));
  }
  std::vector<float> other(1001);
  RandomArray(42, "v").normal(0, 1001, 0.5, other.data());
  EXPECT_NE(other, whole);
  RandomArray(43, "w").normal(0, 1001, 0.5, other.data());
  EXPECT_NE(other, whole);
}

TEST(PhiloxTest, NormalsHaveTheirMoments) {
  std::vector<double> values(200000);
  RandomArray(1, "w").normal(0, values.size(), 2.0, values.data());
  double sum = 0, squares = 0, fourths = 0;
  for (double value : values) {
    sum += value;
    squares += value * value;
    fourths += std::pow(value, 4);
  }
  double n = double(values.size());
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 4, 0.06);
  EXPECT_NEAR(fourths / n, 48, 2);
}

TEST(PhiloxTest, UniformNumbersFillTheirRange) {
  std::vector<double> values(100000), part(1001);
  RandomArray(1, "w").uniform(0, values.size(), 0.5, values.data());
  RandomArray(1, "w").uniform(333, part.size(), 0.5, part.data());
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 333));
  double sum = 0, squares = 0;
  for (double value : values) {
    EXPECT_LT(std::abs(value), 0.5);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.003);
  EXPECT_NEAR(squares / 1e5, 1.0 / 12, 0.001);
}

} // namespace
