//===- TrafficTest.cpp - sectors and banks that a warp touches ------------===//

#include "tests/emulator/Traffic.h"

#include "gtest/gtest.h"

#include <functional>

using namespace zerograph::emulator;

namespace {

/// Returns what one request of a warp costs whose lanes access these places.
Traffic::Requests ask(uint32_t bytes, bool shared,
                      const std::function<uint64_t(uint32_t)> &place) {
  Traffic traffic;
  TrafficRecorder recorder(traffic);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    recorder.note(lane, /*site=*/1, /*buffer=*/0, place(lane), bytes,
                  /*store=*/false, shared);
  }
  recorder.endBlock();
  Traffic::Requests found = shared ? traffic.shared : traffic.loads;
  EXPECT_EQ(found.count, 1u);
  return found;
}

uint64_t costOf(uint32_t bytes, bool shared,
                const std::function<uint64_t(uint32_t)> &place) {
  return ask(bytes, shared, place).cost;
}

TEST(Traffic, SectorsOfGlobalMemory) {
  EXPECT_EQ(costOf(4, false, [](uint32_t lane) { return 4 * lane; }), 4u);
  EXPECT_EQ(costOf(16, false, [](uint32_t lane) { return 16 * lane; }), 16u);
  EXPECT_EQ(costOf(4, false, [](uint32_t lane) { return 64 * lane; }), 32u);
  EXPECT_EQ(costOf(4, false, [](uint32_t) { return 8; }), 1u);
  // Side by side, and across one sector more.
  Traffic::Requests shifted =
      ask(4, false, [](uint32_t lane) { return 16 + 4 * lane; });
  EXPECT_EQ(shifted.least, 4u);
  EXPECT_EQ(shifted.cost, 5u);
}

TEST(Traffic, BanksOfSharedMemory) {
  EXPECT_EQ(costOf(4, true, [](uint32_t lane) { return 4 * lane; }), 1u);
  EXPECT_EQ(costOf(4, true, [](uint32_t lane) { return 8 * lane; }), 2u);
  EXPECT_EQ(costOf(4, true, [](uint32_t lane) { return 128 * lane; }), 32u);
  EXPECT_EQ(costOf(4, true, [](uint32_t lane) { return 132 * lane; }), 1u);
  EXPECT_EQ(costOf(4, true, [](uint32_t) { return 8; }), 1u);
  // A quarter of a warp at a time.
  EXPECT_EQ(costOf(16, true, [](uint32_t lane) { return 16 * lane; }), 4u);
  EXPECT_EQ(costOf(16, true, [](uint32_t lane) { return 32 * lane; }), 8u);
}

TEST(Traffic, TurnsOfALoop) {
  Traffic traffic;
  TrafficRecorder recorder(traffic);
  for (uint32_t turn = 0; turn < 3; ++turn) {
    for (uint32_t thread = 0; thread < 64; ++thread) {
      if (turn == 1 && thread % 2) {
        recorder.pass(thread, 7);
      } else {
        recorder.note(thread, 7, 0, 256 * turn + 4 * thread, 4, true, false);
      }
    }
  }
  recorder.endBlock();
  EXPECT_EQ(traffic.stores.count, 6u);
  EXPECT_EQ(traffic.stores.least, 2u * (4 + 2 + 4));
  EXPECT_EQ(traffic.stores.cost, 24u);
  EXPECT_EQ(traffic.loads.count, 0u);
}

} // namespace
