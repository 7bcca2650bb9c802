//===- RangesTest.cpp - bytes of a slice, of every rank -------------------===//

#include "runtime/plan/Ranges.h"
#include "runtime/plan/ByteMap.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace zerograph {
namespace {

plan::Plan planOf(const std::vector<uint32_t> &sizes) {
  plan::Plan plan;
  for (uint32_t size : sizes) {
    plan.add_mesh()->set_size(size);
  }
  return plan;
}

TEST(Mesh, TheLastAxisIsTheFastest) {
  Mesh mesh(planOf({2, 3, 4}));
  EXPECT_EQ(mesh.world(), 24u);
  EXPECT_EQ(mesh.coordinate(0, 17), 1u); // 17 = 12 + 4 + 1
  EXPECT_EQ(mesh.coordinate(1, 17), 1u);
  EXPECT_EQ(mesh.coordinate(2, 17), 1u);
  Axes axes;
  axes.Add(0);
  axes.Add(2);
  EXPECT_EQ(mesh.groupSize(axes), 8u);
  EXPECT_EQ(mesh.rankInGroup(axes, 17), 5u);
  EXPECT_EQ(mesh.group(axes, 17),
            (std::vector<unsigned>{4, 5, 6, 7, 16, 17, 18, 19}));
  // Parts of 10 over these axes: 40 from a coordinate of the first to the next.
  Strides strides = mesh.shardStrides(axes, 10);
  EXPECT_EQ(strides, (Strides{40, 0, 10, 0}));
  EXPECT_EQ(mesh.offset(strides, 17), 50u);
  EXPECT_EQ(mesh.lastOffset(strides), 70u);
}

TEST(Mesh, OneCoordinateIsNoStride) {
  Mesh mesh(planOf({1, 2}));
  plan::Access access;
  access.add_strides(8);
  access.add_strides(16);
  EXPECT_EQ(mesh.strides(access), (Strides{0, 16, 0, 0}));
}

TEST(Mesh, RangesThatFollowEachOtherAreOne) {
  Mesh mesh(planOf({2, 3}));
  auto rangesOf = [&](uint64_t count, Strides strides) {
    std::vector<std::pair<uint64_t, uint64_t>> ranges;
    mesh.visitRanks(100, count, strides, [&](uint64_t begin, uint64_t end) {
      ranges.emplace_back(begin, end);
    });
    return ranges;
  };
  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(rangesOf(10, {30, 10}), (Ranges{{100, 160}}));
  EXPECT_EQ(rangesOf(10, {50, 10}), (Ranges{{100, 130}, {150, 180}}));
  EXPECT_EQ(rangesOf(10, {20, 0}), (Ranges{{100, 110}, {120, 130}}));
}

// The closed form agrees with looking at every rank.
TEST(Ranges, OverlapLooksAtEveryRank) {
  std::mt19937 random(2);
  for (int i = 0; i < 100000; ++i) {
    std::vector<uint32_t> sizes = {uint32_t(1 + random() % 6)};
    if (i % 2 != 0) {
      sizes.push_back(1 + random() % 3);
    }
    Mesh mesh(planOf(sizes));
    auto range = [&] {
      Range range{0, random() % 40, random() % 6, {}};
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        range.strides[axis] = sizes[axis] == 1 ? 0 : random() % 9;
      }
      return range;
    };
    Range a = range(), b = range();
    bool expected = false;
    for (uint32_t rank = 0; rank < mesh.world(); ++rank) {
      uint64_t x = a.begin + mesh.offset(a.strides, rank);
      uint64_t y = b.begin + mesh.offset(b.strides, rank);
      expected |= std::max(x, y) < std::min(x + a.bytes, y + b.bytes);
    }
    ASSERT_EQ(overlap(mesh, a, b), expected);
  }
}

// Against an array of bytes.
TEST(ByteMap, LaterValuesCutEarlierOnes) {
  constexpr int kBytes = 40;
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    ByteMap<int> map;
    std::vector<int> bytes(kBytes, 0);
    for (int step = 1; step < 12; ++step) {
      uint64_t begin = random() % kBytes, end = begin + random() % 12;
      end = std::min<uint64_t>(end, kBytes);
      bool erase = random() % 4 == 0;
      erase ? map.erase(begin, end) : map.assign(begin, end, step);
      std::fill(bytes.begin() + begin, bytes.begin() + end, erase ? 0 : step);
    }
    std::vector<int> found(kBytes, 0);
    map.visit(3, kBytes, [&](uint64_t begin, uint64_t end, int value) {
      std::fill(found.begin() + begin, found.begin() + end, value);
    });
    std::fill(bytes.begin(), bytes.begin() + 3, 0);
    ASSERT_EQ(found, bytes);
    bytes[0] = 1; // outside of what is asked for
    auto gap = map.firstGap(3, kBytes);
    auto first = std::find(bytes.begin() + 3, bytes.end(), 0);
    ASSERT_EQ(gap.has_value(), first != bytes.end());
    if (gap) {
      ASSERT_EQ(gap->first, uint64_t(first - bytes.begin()));
      auto last =
          std::find_if(first, bytes.end(), [](int v) { return v != 0; });
      ASSERT_EQ(gap->second, uint64_t(last - bytes.begin()));
    }
    ASSERT_EQ(map.touches(3, kBytes),
              std::any_of(bytes.begin() + 3, bytes.end(),
                          [](int v) { return v != 0; }));
  }
}

} // namespace
} // namespace zerograph
