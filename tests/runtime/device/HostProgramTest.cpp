//===- HostProgramTest.cpp - steps side by side on a stream ---------------===//

#include "runtime/device/host/HostProgram.h"

#include "gtest/gtest.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>

using namespace zerograph;

namespace {

class PartsOperation final : public SharedOperation {
public:
  PartsOperation(WorkerPool &pool, uint32_t parts,
                 std::function<absl::Status()> function)
      : SharedOperation(pool, parts), function(std::move(function)) {}

  void runPart(uint32_t part) noexcept override {
    absl::Status status = function();
    if (part == 0) {
      failure = status;
    }
  }
  absl::Status result() override {
    return std::exchange(failure, absl::OkStatus());
  }

private:
  std::function<absl::Status()> function;
  absl::Status failure;
};

/// Two threads meet here, or the first to arrive waits in vain. That one alone
/// says so: the other may arrive later, and leave sooner.
class Meeting {
public:
  explicit Meeting(std::chrono::milliseconds patience) : patience(patience) {}

  absl::Status arrive() {
    if (arrived++ > 0) {
      return absl::OkStatus();
    }
    auto end = std::chrono::steady_clock::now() + patience;
    while (arrived < 2 && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    met = arrived == 2;
    return absl::OkStatus();
  }
  std::atomic<bool> met{false};

private:
  std::chrono::milliseconds patience;
  std::atomic<int> arrived{0};
};

constexpr std::chrono::milliseconds kLong(20000), kShort(20);
constexpr size_t kBytes = 32 << 10;

class SideBySideTest : public ::testing::Test {
protected:
  SideBySideTest() { timelines.addStreams(2); }

  Touch touch(size_t buffer, bool writes, size_t bytes = kBytes) {
    return {memory[buffer], memory[buffer] + bytes, writes};
  }

  /// The work of the next step, if it is not just to wait for the other one.
  struct Step {
    std::vector<Touch> touches = {};
    std::function<absl::Status()> function = {};
    std::vector<uint32_t> waits = {};
    uint32_t parts = 1;
  };
  void add(HostStream &stream, unsigned index, Step step,
           std::optional<StreamEntry::Count> publishes = {}) {
    StreamEntry entry;
    StreamStep &made = entry.steps.emplace_back();
    made.number = 10 + count++;
    made.operation = std::make_unique<PartsOperation>(
        stream.workers(), step.parts, std::move(step.function));
    made.shared = static_cast<SharedOperation *>(made.operation.get());
    entry.publishes = publishes;
    program.add(stream, index, std::move(entry), std::move(step.touches),
                step.waits);
  }
  void add(Step step) { add(stream, 0, std::move(step)); }

  absl::Status run() {
    program.prepare();
    program.start(0);
    return program.finish(failed);
  }

  /// Returns whether two steps that would meet do.
  bool meet(Step one, Step two, std::chrono::milliseconds patience,
            std::optional<StreamEntry::Count> publishes = {}) {
    Meeting meeting(patience);
    one.function = two.function = [&] { return meeting.arrive(); };
    add(stream, 0, std::move(one), publishes);
    add(std::move(two));
    EXPECT_TRUE(run().ok());
    return meeting.met;
  }

  /// Makes the work of a step that takes a while, and counts in `done` how many
  /// have done it.
  std::function<absl::Status()> slow() {
    return [this] {
      std::this_thread::sleep_for(kShort);
      ++done;
      return absl::OkStatus();
    };
  }
  /// Notes how many had when it ran.
  std::function<absl::Status()> look() {
    return [this] {
      seen = done;
      return absl::OkStatus();
    };
  }

  std::byte memory[4][kBytes];
  Timelines timelines;
  HostStream stream{timelines, 0, "compute", {2}};
  HostStream other{timelines, 1, "other", {2}};
  HostProgram program{timelines};
  uint32_t count = 0;
  uint32_t failed = 0;
  std::atomic<int> done{0};
  int seen = 0;
};

TEST_F(SideBySideTest, StepsThatOnlyReadTheSameMeet) {
  EXPECT_TRUE(meet({{touch(0, false), touch(1, true)}},
                   {{touch(0, false), touch(2, true)}}, kLong));
}
TEST_F(SideBySideTest, AReaderComesAfterItsWriter) {
  EXPECT_FALSE(
      meet({{touch(0, true)}}, {{touch(0, false), touch(1, true)}}, kShort));
}
TEST_F(SideBySideTest, AWriterComesAfterWhoReadsABit) {
  Touch last = touch(0, false);
  last.begin = last.end - 1;
  EXPECT_FALSE(meet({{last, touch(1, true)}}, {{touch(0, true)}}, kShort));
}
TEST_F(SideBySideTest, TwoWritersComeInOrder) {
  EXPECT_FALSE(meet({{touch(0, true)}}, {{touch(0, true)}}, kShort));
}
TEST_F(SideBySideTest, WhoWaitsComesAfter) {
  EXPECT_FALSE(meet({{touch(0, true)}}, {{touch(1, true)}, {}, {0}}, kShort));
}
TEST_F(SideBySideTest, WhatIsSmallComesAlone) {
  EXPECT_FALSE(meet({{touch(0, true)}}, {{touch(1, true, 64)}}, kShort));
}
TEST_F(SideBySideTest, NothingHoldsUpWhatIsPublished) {
  uint32_t counter = 0;
  EXPECT_FALSE(meet({{touch(0, true)}}, {{touch(1, true)}}, kShort,
                    StreamEntry::Count{&counter, 7}));
  EXPECT_EQ(counter, 7u);
}

/// Two parts are work for two threads: the next step comes after them.
TEST_F(SideBySideTest, WhatHasPartsForAllComesAlone) {
  add({{touch(0, true)}, slow(), {}, 2});
  add({{touch(1, true)}, look()});
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(seen, 2);
}

/// The step that failed is named, and the next run begins without its error.
TEST_F(SideBySideTest, AFailureIsItsSteps) {
  bool fail = true;
  int ran = 0;
  add({{touch(0, true)}, [&] { return absl::OkStatus(); }});
  add({{touch(1, true)},
       [&] { return fail ? absl::DataLossError("lost") : absl::OkStatus(); }});
  add({{touch(0, false)}, [&] {
         ++ran;
         return absl::OkStatus();
       }});
  EXPECT_TRUE(absl::IsDataLoss(run()));
  EXPECT_EQ(failed, 11u);
  EXPECT_EQ(ran, 0);
  fail = false;
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(ran, 1);
}

/// Another stream that waits for one of them finds it done.
TEST_F(SideBySideTest, OtherStreamsWaitForAll) {
  add({{touch(0, true)}, slow()});
  add({{touch(1, true)}, slow()});
  add(other, 1, {{}, look(), {1}});
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(seen, 2);
}

/// Each has its own time, and they overlap.
TEST_F(SideBySideTest, TimesAreEachSteps) {
  Meeting meeting(kLong);
  add({{touch(0, true)}, [&] { return meeting.arrive(); }});
  add({{touch(1, true)}, [&] {
         absl::Status status = meeting.arrive();
         std::this_thread::sleep_for(kShort);
         return status;
       }});
  program.recordTimes();
  ASSERT_TRUE(run().ok());
  std::vector<StepTime> times = program.times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_LT(times[1].begin, times[0].end);
  EXPECT_LT(times[0].begin, times[1].end);
  EXPECT_GE(times[1].end - times[1].begin,
            std::chrono::nanoseconds(kShort).count());
  EXPECT_NE(times[0].end, times[1].end);
}

/// Passes a step on after both, in the list's order, and before one that
/// waits.
TEST_F(SideBySideTest, EachStepIsPassedOn) {
  Meeting meeting(kLong);
  std::vector<uint32_t> places, seen;
  add({{touch(0, true)}, [&] { return meeting.arrive(); }});
  add({{touch(1, true)}, [&] { return meeting.arrive(); }});
  add(other, 1,
      {{},
       [&] {
         seen = places;
         return absl::OkStatus();
       },
       {1}});
  program.afterSteps([&](uint32_t place) {
    EXPECT_TRUE(meeting.met);
    places.push_back(place);
    return absl::OkStatus();
  });
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(seen, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(places, (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(SideBySideTest, WhatFailsBehindAStepIsTheSteps) {
  auto nothing = [] { return absl::OkStatus(); };
  add({{touch(0, true)}, nothing});
  add({{touch(1, true)}, nothing});
  program.afterSteps([](uint32_t place) {
    return place == 1 ? absl::DataLossError("bad") : absl::OkStatus();
  });
  EXPECT_EQ(run().message(), "bad");
  EXPECT_EQ(failed, 11u);
}

} // namespace
