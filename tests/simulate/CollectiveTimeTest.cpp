//===- CollectiveTimeTest.cpp - how long ranks take to exchange -----------===//

#include "simulate/CollectiveTime.h"

#include "gtest/gtest.h"

namespace zerograph::simulate {
namespace {

constexpr double kGiB = 1 << 30;

// Rings of eight GPUs reached so many bytes a second over each link
// (ml-engineering, 2026-08).
TEST(CollectiveTime, LargeRingsAreNearMeasurements) {
  auto rate = [](const char *name) {
    Machine machine = findMachine(name).value();
    return kGiB * 7 / 8 / ringOf(kGiB, machine, {1, 8}).seconds / 1e9;
  };
  EXPECT_NEAR(rate("h200"), 361.4, 0.15 * 361.4);
  EXPECT_NEAR(rate("b200"), 682.2, 0.15 * 682.2);
}

// An all-reduce of so many MiB on four nodes of eight B200 had this bus
// bandwidth (ml-engineering, 2026-08): a ring of it gathers as fast.
TEST(CollectiveTime, LargeRingsOfNodesAreNearMeasurements) {
  Machine machine = findMachine("b200").value();
  for (auto [mib, rate] : {std::pair{512, 326.90},
                           {1024, 361.99},
                           {2048, 372.42},
                           {4096, 377.34},
                           {8192, 380.39},
                           {16384, 381.80}}) {
    double bytes = mib * kGiB / 1024;
    double seconds = ringOf(bytes, machine, {4, 8}).seconds;
    EXPECT_NEAR(bytes * 31 / 32 / seconds / 1e9, rate, 0.05 * rate) << mib;
  }
}

// The latency that NCCL's own table gives: LL is fastest, seven hops.
TEST(CollectiveTime, SmallRingsTakeTheirLatency) {
  Machine machine = findMachine("h100-sxm").value();
  EXPECT_NEAR(ringOf(64, machine, {1, 8}).seconds, (6.6 + 7 * 0.6) * 1e-6,
              1e-7);
}

TEST(CollectiveTime, NodesAreSlower) {
  Machine machine = findMachine("h100-sxm").value();
  Exchange one = ringOf(kGiB, machine, {1, 8});
  Exchange four = ringOf(kGiB, machine, {4, 8});
  EXPECT_EQ(one.network, 0);
  EXPECT_GT(four.network, 0);
  EXPECT_GT(four.seconds, one.seconds);
  // Hops of 64 nodes count: what is gathered must be large.
  EXPECT_GT(ringOf(64, machine, {64, 8}).seconds, 0.3e-3);
  // One GPU a node has no links.
  EXPECT_EQ(ringOf(kGiB, machine, {8, 1}).link, 0);
}

// Without NVLink what goes to other nodes takes the way of what stays.
TEST(CollectiveTime, LinksOverTheHostAreTheNetworksToo) {
  Machine machine = findMachine("l40s").value();
  double one = allToAllOf(kGiB, kGiB, machine, {1, 8}).seconds;
  EXPECT_GT(allToAllOf(kGiB, kGiB, machine, {2, 4}).seconds, one);
}

TEST(CollectiveTime, ChunksEachTakeTheirLatency) {
  Machine machine = findMachine("h100-sxm").value();
  double whole = allToAllOf(kGiB, kGiB, machine, {1, 8}).seconds;
  double chunks = allToAllOf(kGiB, kGiB / 8 / 16, machine, {1, 8}).seconds;
  EXPECT_NEAR(chunks - whole, 15 * (8.4 + machine.link_latency) * 1e-6, 1e-7);
}

} // namespace
} // namespace zerograph::simulate
