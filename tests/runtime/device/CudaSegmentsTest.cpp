//===- CudaSegmentsTest.cpp - where a program is cut into graphs ----------===//

#include "runtime/device/cuda/CudaSegments.h"

#include <gtest/gtest.h>

namespace zerograph {
namespace {

using Segments = std::vector<std::vector<size_t>>;

SegmentStep step(unsigned stream) { return {stream, /*replays=*/true}; }
SegmentStep awaits(SegmentStep step) {
  step.awaits = true;
  return step;
}
SegmentStep awaited(SegmentStep step) {
  step.awaited = true;
  return step;
}
SegmentStep alone(SegmentStep step) {
  step.replays = false;
  return step;
}

TEST(CudaSegments, OneStreamIsOne) {
  EXPECT_EQ(cutSegments({step(0), step(0), step(0)}), (Segments{{0, 1, 2}}));
}

TEST(CudaSegments, StreamsInTurn) {
  EXPECT_EQ(cutSegments({step(0), step(1), step(0), step(1)}),
            (Segments{{0, 2}, {1, 3}}));
}

// A step that awaits step 1 need not wait for step 2.
TEST(CudaSegments, EndsWhereItIsAwaited) {
  EXPECT_EQ(cutSegments({step(0), awaited(step(0)), step(0), awaits(step(1))}),
            (Segments{{0, 1}, {2}, {3}}));
}

// Steps 0 and 1 need not wait for what step 3 awaits.
TEST(CudaSegments, BeginsWhereItAwaits) {
  EXPECT_EQ(cutSegments(
                {step(0), step(0), awaited(step(1)), awaits(step(0)), step(0)}),
            (Segments{{0, 1}, {2}, {3, 4}}));
}

TEST(CudaSegments, WhatNoGraphReplaysIsAlone) {
  EXPECT_EQ(cutSegments({step(0), alone(step(0)), alone(step(0)), step(0)}),
            (Segments{{0}, {1}, {2}, {3}}));
}

} // namespace
} // namespace zerograph
