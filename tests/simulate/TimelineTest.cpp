//===- TimelineTest.cpp - when steps run ----------------------------------===//

#include "simulate/Timeline.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace zerograph::simulate {
namespace {

Work workOn(Resource resource, double seconds) {
  Work work;
  work.of(resource) = seconds;
  work.last(0);
  return work;
}

struct Steps {
  /// Adds a step that awaits others.
  void add(uint32_t stream, Work work, std::vector<uint32_t> waits = {}) {
    plan::Step &step = *program.add_steps();
    step.set_stream(stream);
    step.mutable_waits()->Add(waits.begin(), waits.end());
    works.push_back(work);
    while (plan.streams_size() <= int(stream)) {
      plan.add_streams();
    }
  }
  Timeline run() const { return simulate(plan, program, works); }

  plan::Plan plan;
  plan::Program program;
  std::vector<Work> works;
};

TEST(Timeline, StepsOfAStreamFollowEachOther) {
  Steps steps;
  steps.add(0, workOn(Resource::Compute, 1));
  steps.add(0, workOn(Resource::Memory, 2));
  Timeline timeline = steps.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 3);
  EXPECT_DOUBLE_EQ(timeline.steps[1].begin, 1);
  EXPECT_THAT(timeline.after, testing::ElementsAre(-1, 0));
}

TEST(Timeline, StreamsRunSideBySideUntilTheyWait) {
  Steps steps;
  steps.add(0, workOn(Resource::Compute, 1));
  steps.add(1, workOn(Resource::Link, 3));
  steps.add(0, workOn(Resource::Compute, 1), {1});
  Timeline timeline = steps.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 4);
  EXPECT_EQ(timeline.after[2], 1) << "not the step before on its stream";
}

// Two that each need all of a memory take twice as long; once one has ended,
// the other goes on at its own speed.
TEST(Timeline, ResourcesAreShared) {
  Steps steps;
  steps.add(0, workOn(Resource::Memory, 1));
  steps.add(1, workOn(Resource::Memory, 3));
  Timeline timeline = steps.run();
  EXPECT_NEAR(timeline.steps[0].end, 2, 1e-9);
  EXPECT_NEAR(timeline.steps[1].end, 4, 1e-9);
}

TEST(Timeline, WhatLeavesRoomSlowsNobody) {
  Work half = workOn(Resource::Link, 2);
  half.of(Resource::Memory) = 1; // half of the time
  Work other = half;
  Steps steps;
  steps.add(0, half);
  other.of(Resource::Link) = 0;
  steps.add(1, other);
  EXPECT_NEAR(steps.run().seconds, 2, 1e-9);
}

TEST(Timeline, StepsThatTakeNoTimeEnd) {
  Steps steps;
  steps.add(0, Work());
  steps.add(0, workOn(Resource::Compute, 1));
  steps.add(1, Work(), {1});
  Timeline timeline = steps.run();
  EXPECT_DOUBLE_EQ(timeline.seconds, 1);
  EXPECT_DOUBLE_EQ(timeline.steps[2].end, 1);
}

} // namespace
} // namespace zerograph::simulate
