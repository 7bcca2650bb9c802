//===- LocalFailureTest.cpp - threads that fail, end, or never come -------===//

#include "tests/runtime/comm/OnRanks.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

/// However close together the ranks' deadlines pass, one rank says it.
TEST(LocalFailureTest, OneOfThoseWhoWaitSaysThatTheDeadlineHasPassed) {
  for (unsigned turn = 0; turn < 50; ++turn) {
    LocalGroupOptions options;
    options.world = 8;
    options.deadline = std::chrono::milliseconds(10);
    std::atomic<unsigned> over{0};
    auto statuses = onRanks(options, [&](HostCommunicator &comm) {
      while (comm.rank() == 7 && over < 7) { // busy elsewhere
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      absl::Status status = comm.barrier("saving weights");
      ++over;
      return status;
    });
    EXPECT_EQ(std::count_if(statuses.begin(), statuses.end(),
                            [](const absl::Status &status) {
                              return absl::IsDeadlineExceeded(status);
                            }),
              1);
  }
}

/// A stream that waits for its turn is woken by a failure of its own rank.
TEST(LocalFailureTest, AFailureWakesWhoWaitsForItsTurn) {
  LocalGroupOptions options;
  options.world = 1;
  auto group = makeLocalGroup(options);
  group[0]->beginProgram();
  absl::Status status;
  std::thread stream([&] { status = group[0]->allGather(siteOf(3), {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  group[0]->abort(absl::DataLossError("elsewhere"));
  stream.join();
  expectSays(status, "elsewhere");
}

/// Calls `collective` on two ranks. Rank 0 gives up waiting, returns and
/// reuses the memory that its call was described in, by `spoil`; only then
/// rank 1 reads what rank 0 contributes.
template <typename Collective, typename Spoil>
void returnWhileAPeerReads(const Collective &collective, const Spoil &spoil) {
  LocalGroupOptions options;
  options.world = 2;
  options.deadline = std::chrono::seconds(3); // in which both come
  std::atomic<bool> returned{false};
  options.on_met = [&](unsigned rank) {
    while (rank == 1 && !returned) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  auto statuses = onRanks(options, [&](HostCommunicator &comm) {
    comm.beginProgram();
    absl::Status status = collective(comm);
    if (comm.rank() == 0) {
      spoil();
      returned = true;
    }
    return status;
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(statuses[0])) << statuses[0];
  expectSays(statuses[0], "for rank 1");
  EXPECT_EQ(statuses[1].message(),
            absl::StrCat("rank 0 failed: ", statuses[0].message()));
}

std::byte *bytesOf(float *values) {
  return reinterpret_cast<std::byte *>(values);
}

TEST(LocalFailureTest, APeerGathersFromARankThatHasGivenUp) {
  float shards[2] = {10, 11}, wholes[2][2] = {};
  std::vector<GatherSegment> segments[2];
  for (unsigned rank = 0; rank < 2; ++rank) {
    segments[rank] = {{bytesOf(&shards[rank]), bytesOf(wholes[rank]), 4}};
  }
  returnWhileAPeerReads(
      [&](HostCommunicator &comm) {
        return comm.allGather(siteOf(0), segments[comm.rank()]);
      },
      [&] { segments[0] = {GatherSegment{}}; });
  EXPECT_EQ(wholes[1][0], 10);
  EXPECT_EQ(wholes[1][1], 11);
}

TEST(LocalFailureTest, APeerReadsTheTextOfARankThatHasGivenUp) {
  std::string texts[2] = {std::string(100, 'a'), std::string(100, 'b')};
  returnWhileAPeerReads(
      [&](HostCommunicator &comm) {
        return comm.exchange("texts", texts[comm.rank()]).status();
      },
      [&] { std::string().swap(texts[0]); });
}

/// Computing is no waiting: a stream may wait for its turn, after one that
/// computes, for longer than the deadline.
TEST(LocalFailureTest, AStreamsTurnHasNoDeadline) {
  LocalGroupOptions options;
  options.world = 1;
  options.deadline = std::chrono::milliseconds(20);
  auto group = makeLocalGroup(options);
  group[0]->beginProgram();
  absl::Status prefetch;
  std::thread stream([&] { prefetch = group[0]->allGather(siteOf(1), {}); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  absl::Status reduction = group[0]->allReduce(siteOf(0), plan::F32, {});
  stream.join();
  EXPECT_TRUE(reduction.ok()) << reduction;
  EXPECT_TRUE(prefetch.ok()) << prefetch;
}

/// A peer that never comes is named within the deadline, to the streams that
/// wait for their turn too.
TEST(LocalFailureTest, APeerThatNeverComesEndsWhoWaitsForItsTurn) {
  LocalGroupOptions options;
  options.world = 2;
  options.deadline = std::chrono::milliseconds(200);
  auto group = makeLocalGroup(options);
  group[0]->beginProgram();
  absl::Status prefetch;
  std::thread stream([&] { prefetch = group[0]->allGather(siteOf(1), {}); });
  absl::Status reduction =
      group[0]->allReduce(siteOf(0, "loss"), plan::F32, {});
  group[0]->abort(reduction);
  stream.join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(reduction)) << reduction;
  for (const absl::Status &status : {reduction, prefetch}) {
    expectSays(status, "all_reduce loss", "for rank 1");
  }
}

/// Any deadline is taken: none overflows the clock.
TEST(LocalFailureTest, ADeadlineBeyondAllClocksIsALongOne) {
  for (double seconds : {1e10, 1e300, HUGE_VAL}) {
    LocalGroupOptions options;
    options.world = 2;
    options.deadline = std::chrono::duration<double>(seconds);
    options.on_enter = [](unsigned rank, const CollectiveSite &) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
    };
    auto statuses = onRanks(options, [&](HostCommunicator &comm) {
      comm.beginProgram();
      return comm.allReduce(siteOf(0), plan::F32, {});
    });
    for (const absl::Status &status : statuses) {
      EXPECT_TRUE(status.ok()) << seconds << ": " << status;
    }
  }
}

} // namespace
