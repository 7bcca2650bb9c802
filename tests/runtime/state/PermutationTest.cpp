//===- PermutationTest.cpp - orders that are computed place by place ------===//

#include "runtime/state/Permutation.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>
#include <set>
#include <vector>

using namespace zerograph;

namespace {

std::vector<uint64_t> orderOf(uint64_t seed, uint64_t count, uint64_t epoch) {
  Permutation permutation(seed, count);
  std::vector<uint64_t> order;
  for (uint64_t place = 0; place < count; ++place) {
    order.push_back(permutation.at(epoch, place));
  }
  return order;
}

TEST(Permutation, EachNumberHasOnePlace) {
  auto isWhole = [](uint64_t count) {
    std::vector<uint64_t> order = orderOf(count * 7, count, 3);
    std::set<uint64_t> numbers(order.begin(), order.end());
    return numbers.size() == count && *numbers.rbegin() == count - 1;
  };
  for (uint64_t count = 1; count < 600; ++count) {
    EXPECT_TRUE(isWhole(count)) << count;
  }
  for (uint64_t count : {4095, 4096, 4097, 50021}) {
    EXPECT_TRUE(isWhole(count)) << count;
  }
}

/// A run that is resumed, now or with a later version, gets the same samples.
TEST(Permutation, OrdersNeverChange) {
  EXPECT_EQ(orderOf(42, 10, 1),
            (std::vector<uint64_t>{6, 2, 1, 4, 9, 7, 0, 5, 3, 8}));
  Permutation most(uint64_t(1) << 63 | 5, uint64_t(1) << 62);
  EXPECT_EQ(most.at(uint64_t(1) << 40, 123456789), 1206949644372722224u);
  EXPECT_EQ(Permutation(0, 1281167).at(89, 1281166), 616073u);
}

TEST(Permutation, SeedAndEpochChangeTheOrder) {
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t high : {0, 1}) {
    for (uint64_t low : {0, 1, 2}) {
      uint64_t number = high << 32 | low;
      orders.insert(orderOf(number, 50, 0));
      orders.insert(orderOf(0, 50, number));
    }
  }
  EXPECT_EQ(orders.size(), 11u); // one is both
}

/// All 120 orders of five numbers come about as often: 500 times, where the
/// standard deviation is 22.
TEST(Permutation, AllOrdersAreEquallyLikely) {
  std::map<std::vector<uint64_t>, int> times;
  for (uint64_t epoch = 0; epoch < 60000; ++epoch) {
    ++times[orderOf(1, 5, epoch)];
  }
  EXPECT_EQ(times.size(), 120u);
  for (const auto &[order, count] : times) {
    EXPECT_GT(count, 400);
    EXPECT_LT(count, 600);
  }
}

/// Neither do neighbours stay near each other.
TEST(Permutation, NeighboursAreApart) {
  constexpr uint64_t kCount = 100003;
  std::vector<uint64_t> order = orderOf(7, kCount, 0);
  double near = 0, product = 0;
  for (uint64_t place = 1; place < kCount; ++place) {
    double a = double(order[place - 1]) / kCount - 0.5;
    double b = double(order[place]) / kCount - 0.5;
    near += std::abs(a - b) < 0.01;
    product += a * b * 12 / kCount;
  }
  EXPECT_NEAR(near / kCount, 0.02, 0.002);
  EXPECT_NEAR(product, 0, 0.02); // 6 standard deviations
}

} // namespace
