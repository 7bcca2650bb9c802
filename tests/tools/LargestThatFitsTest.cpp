//===- LargestThatFitsTest.cpp - how much fits into a memory --------------===//

#include "tools/compiler/LargestThatFits.h"

#include <gtest/gtest.h>

#include <numeric>

namespace zerograph {
namespace {

using Sizes = std::vector<uint64_t>;

/// Searches where `bytes(size)` are needed of 1000; counts the answers.
template <typename Bytes>
LargestFit search(const Sizes &sizes, const Bytes &bytes, int &answers) {
  answers = 0;
  return largestThatFits(sizes,
                         [&](uint64_t size) -> absl::StatusOr<Room> {
                           ++answers;
                           uint64_t needed = bytes(size);
                           return Room{needed, 1000, needed <= 1000};
                         })
      .value();
}

Sizes upTo(uint64_t last) {
  Sizes sizes(last);
  std::iota(sizes.begin(), sizes.end(), 1);
  return sizes;
}

TEST(LargestThatFits, IsFoundAndTheNextIsRefused) {
  int answers;
  for (uint64_t slope : {1, 7, 90, 300, 800}) {
    for (uint64_t step : {1, 16, 64}) { // buffers are rounded up
      auto bytes = [&](uint64_t size) {
        return (90 + slope * size + step - 1) / step * step;
      };
      LargestFit found = search(upTo(65536), bytes, answers);
      ASSERT_TRUE(found.fits && found.refused) << slope << " " << step;
      EXPECT_EQ(found.fits->size + 1, found.refused->size);
      EXPECT_LE(bytes(found.fits->size), 1000u);
      EXPECT_GT(bytes(found.refused->size), 1000u);
      EXPECT_LE(answers, 24);
    }
  }
}

TEST(LargestThatFits, MayBeNoneOrAll) {
  int answers;
  auto much = [](uint64_t) { return 2000; };
  LargestFit none = search(upTo(100), much, answers);
  EXPECT_FALSE(none.fits);
  EXPECT_EQ(none.refused->size, 1u);
  EXPECT_EQ(answers, 1);
  auto little = [](uint64_t) { return 10; };
  LargestFit all = search({1, 2, 4, 8}, little, answers);
  EXPECT_EQ(all.fits->size, 8u);
  EXPECT_FALSE(all.refused);
}

TEST(LargestThatFits, ChoosesOfTheGivenSizes) {
  int answers;
  auto bytes = [](uint64_t size) { return 100 + 20 * size; };
  LargestFit found = search(microBatchSizes(120), bytes, answers);
  EXPECT_EQ(found.fits->size, 40u);
  EXPECT_EQ(found.refused->size, 60u);
}

TEST(LargestThatFits, EndsWithTheFirstError) {
  absl::StatusOr<LargestFit> found =
      largestThatFits({1, 2}, [](uint64_t) -> absl::StatusOr<Room> {
        return absl::InternalError("no plan");
      });
  EXPECT_EQ(found.status().message(), "no plan");
}

TEST(MicroBatchSizes, DivideAPartAndAscend) {
  EXPECT_EQ(microBatchSizes(1), Sizes({1}));
  EXPECT_EQ(microBatchSizes(12), Sizes({1, 2, 3, 4, 6, 12}));
  EXPECT_EQ(microBatchSizes(12, 5), Sizes({1, 2, 3, 4}));
  EXPECT_EQ(microBatchSizes(0, 3), Sizes({1, 2, 3}));
  EXPECT_EQ(microBatchSizes(0).size(), 65536u);
  EXPECT_EQ(microBatchSizes(1 << 22).front(), 4u);
  EXPECT_EQ(microBatchSizes(1 << 22).back(), 65536u);
  EXPECT_EQ(microBatchSizes((1 << 30) - 35), Sizes()); // a prime
}

} // namespace
} // namespace zerograph
