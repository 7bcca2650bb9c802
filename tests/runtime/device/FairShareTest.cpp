//===- FairShareTest.cpp - threads beside busy neighbours -----------------===//

#include "runtime/device/host/SpareProcessors.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace zerograph;

namespace {

/// A scheduler that divides processors fairly by threads, and neighbours that
/// take whatever we leave as far as they have threads.
Load beside(unsigned processors, unsigned used, unsigned neighbours) {
  double own = std::min<double>(used, double(processors) * used /
                                          double(used + neighbours));
  return {std::min<double>(neighbours, processors - own), double(neighbours)};
}

unsigned settle(ShareFollower &follower, unsigned processors, unsigned used,
                unsigned neighbours) {
  for (int look = 0; look < 40; ++look) {
    used = follower.next(beside(processors, used, neighbours));
  }
  return used;
}

TEST(FairShareTest, AGreedyNeighbourGetsItsShareAndNotMore) {
  for (unsigned processors : {2u, 16u, 64u}) {
    for (unsigned neighbours : {processors / 2, processors, 3 * processors}) {
      ShareFollower follower(processors, processors);
      unsigned used = settle(follower, processors, processors, neighbours);
      unsigned share = processors * processors / (processors + neighbours);
      EXPECT_EQ(used, std::max(1u, share))
          << processors << " processors beside " << neighbours << " threads";
      used = settle(follower, processors, used, 0);
      EXPECT_EQ(used, processors) << "after the neighbour went";
    }
  }
}

/// Also where the number of runnable threads is not seen at all.
TEST(FairShareTest, WithoutRunnableThreadsTimeStandsForThem) {
  EXPECT_DOUBLE_EQ(fairShare(2, 2, {1.0, 0}), 4.0 / 3);
  EXPECT_DOUBLE_EQ(fairShare(16, 16, {16, 0}), 8);
}

TEST(FairShareTest, LittleIsTolerated) {
  EXPECT_EQ(fairShare(2, 2, {0.25, 9}), 2);
  EXPECT_LT(fairShare(2, 2, {0.3, 9}), 2);
  EXPECT_EQ(fairShare(64, 64, {2, 9}), 64);
  EXPECT_LT(fairShare(64, 64, {2.1, 9}), 64);
}

/// The rest that others leave is ours, however many threads they have.
TEST(FairShareTest, WhatIsLeftIsUsed) {
  EXPECT_DOUBLE_EQ(fairShare(16, 16, {4, 64}), 12);
}

TEST(FairShareTest, ABurstAndAShareNearABorderChangeNothing) {
  ShareFollower follower(16, 16);
  for (int look = 0; look < 50; ++look) {
    Load burst = look % 3 == 0 ? Load{0, 0} : Load{16, 64};
    EXPECT_EQ(follower.next(burst), 16u) << look;
  }
  EXPECT_EQ(settle(follower, 16, 16, 16), 8u);
  unsigned changes = 0;
  for (int look = 0, last = 8; look < 200; ++look) {
    // 7.9 and 8.2 of 16 in turns, each for long enough to be believed.
    double others = look / 5 % 2 == 0 ? 8.1 : 7.8;
    int now = int(follower.next({others, 16.4}));
    changes += now != last;
    last = now;
  }
  EXPECT_EQ(changes, 0u);
}

TEST(FairShareTest, RanksDivideTheShare) {
  ShareFollower follower(16, 16);
  EXPECT_EQ(follower.perRank(4), 4u);
  settle(follower, 16, 16, 16);
  EXPECT_EQ(follower.perRank(1), 8u);
  EXPECT_EQ(follower.perRank(4), 2u);
  EXPECT_EQ(follower.perRank(16), 1u);
  ShareFollower crowded(2, 8); // more threads than processors: as asked for
  EXPECT_EQ(crowded.perRank(4), 2u);
  EXPECT_EQ(settle(crowded, 2, 2, 8), 1u);
  EXPECT_EQ(crowded.perRank(4), 1u);
}

TEST(SpareProcessorsTest, ReadsTheProcessorsThatWeMayUse) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  CPU_SET(11, &set);
  ProcessorStat stat =
      readProcessorStat("cpu  900 900 900 900 900 900 900 0 0 0\n"
                        "cpu0 1 20 300 7000 8000 4 50 9 9 9\n"
                        "cpu1 100 100 100 100 100 100 100 0 0 0\n"
                        "cpu11 1000 0 0 7 7 0 0\n"
                        "intr 99 99\ncpux\nprocs_running 17\nprocs_blocked 3\n",
                        set);
  EXPECT_EQ(stat.busy, 1u + 20 + 300 + 4 + 50 + 1000);
  EXPECT_EQ(stat.all, 3u);
  EXPECT_EQ(stat.runnable, 17u);
}

} // namespace
