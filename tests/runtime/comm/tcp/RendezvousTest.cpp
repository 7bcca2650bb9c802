//===- RendezvousTest.cpp - what rank 0 makes of what ranks say -----------===//

#include "runtime/comm/tcp/Rendezvous.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

using namespace zerograph;
using namespace zerograph::tcp;

namespace {

using std::chrono::seconds;

class RendezvousTest : public ::testing::Test {
protected:
  static constexpr unsigned kRanks = 4;

  absl::Status enter(unsigned rank, const std::string &run = "run",
                     unsigned world = kRanks) {
    return rendezvous.enter(
        {run, rank, world, absl::StrCat("process ", 100 + rank, " on h")}, now);
  }

  void SetUp() override {
    for (unsigned rank = 0; rank < kRanks; ++rank) {
      ASSERT_TRUE(enter(rank).ok());
    }
    rendezvous.outgoing.clear();
  }

  void call(unsigned rank, Operation operation = Operation::kBarrier,
            const std::string &what = "saving", const std::string &text = "",
            uint64_t round = 0) {
    rendezvous.take(
        rank, {FrameKind::kCall, pack(Call{round, operation, what, text})},
        now);
  }

  void alive(unsigned rank, bool busy = false) {
    rendezvous.hear(rank, false, now);
    rendezvous.take(rank, {FrameKind::kAlive, pack(Alive{busy})}, now);
  }

  /// Time passes, in which all ranks but `silent` say that they live.
  void pass(int count, unsigned silent = kRanks) {
    for (int i = 0; i < count; ++i) {
      now += seconds(1);
      for (unsigned rank = 0; rank < kRanks; ++rank) {
        if (rank != silent && rendezvous.isHere(rank)) {
          alive(rank, busy[rank]);
        }
      }
      rendezvous.look(now);
    }
  }

  /// The one failure that all who are here are sent.
  Failure failure() {
    Failure found;
    std::vector<bool> told(kRanks);
    for (const auto &[rank, bytes] : rendezvous.outgoing) {
      FrameReader reader(kLongestPayload);
      std::vector<Frame> frames;
      EXPECT_TRUE(reader.take(*bytes, frames).ok());
      if (frames[0].kind == FrameKind::kFailure) {
        EXPECT_TRUE(unpack(frames[0].payload, found).ok());
        EXPECT_FALSE(told[rank]);
        told[rank] = true;
      }
    }
    for (unsigned rank = 0; rank < kRanks; ++rank) {
      EXPECT_EQ(told[rank], rendezvous.isHere(rank)) << rank;
    }
    EXPECT_EQ(rendezvous.failure().message(), found.message);
    return found;
  }

  void expectFailure(unsigned rank, absl::StatusCode code,
                     const std::string &message) {
    Failure found = failure();
    EXPECT_EQ(found.rank, rank);
    EXPECT_EQ(found.code, code);
    EXPECT_EQ(found.message, message);
  }

  Rendezvous::Clock::time_point now = Rendezvous::Clock::now();
  std::vector<bool> busy = std::vector<bool>(kRanks);
  Rendezvous rendezvous{kRanks, "run", "h:1 (here)", seconds(10)};
};

TEST_F(RendezvousTest, WhoDoesNotBelongIsRefused) {
  Rendezvous other(2, "job 7", "h:1 (here)", seconds(10));
  auto refused = [&](const Hello &hello, const std::string &part) {
    expectSays(other.enter(hello, now), part);
    EXPECT_TRUE(other.outgoing.empty());
  };
  refused({"job 8", 1, 2, "p"}, "('job 7', and this one is 'job 8')");
  refused({"job 7", 1, 3, "p"}, "one of 2 ranks, and this is rank 1 of 3");
  refused({"job 7", 2, 2, "p"}, "rank 2 of 2");
  refused({"job 7", UINT32_MAX, 2, "p"}, "rank 4294967295 of 2");
  EXPECT_TRUE(other.enter({"job 7", 1, 2, "process 5"}, now).ok());
  other.outgoing.clear();
  refused({"job 7", 1, 2, "p"}, "rank 1 (process 5) has come already");
  other.lose(1, "has ended");
  other.outgoing.clear();
  refused({"job 7", 1, 2, "p"}, "has come already");
  // A rank that comes after a failure is told it.
  refused({"job 7", 0, 2, "p"}, "rank 1 (process 5) has ended");
}

TEST_F(RendezvousTest, WhoIsLateIsNamed) {
  pass(100); // nobody waits
  call(2);
  pass(5);
  call(0);
  pass(4);
  EXPECT_TRUE(rendezvous.failure().ok());
  pass(1);
  expectFailure(2, absl::StatusCode::kDeadlineExceeded,
                "rank 2, saving: waited 10 s for rank 1 (process 101 on h), "
                "rank 3 (process 103 on h)");
}

TEST_F(RendezvousTest, WhoHasNotComeIsNamed) {
  Rendezvous other(30, "run", "h:1 (here)", seconds(10));
  ASSERT_TRUE(other.enter({"run", 0, 30, "process 5"}, now).ok());
  other.take(
      0, {FrameKind::kCall, pack(Call{0, Operation::kExchange, "meeting", ""})},
      now);
  other.look(now + seconds(10));
  std::string message(other.failure().message());
  EXPECT_EQ(message.find("rank 0, meeting: waited 10 s for rank 1 (has not "
                         "come to h:1 (here)), rank 2 ("),
            0)
      << message;
  expectSays(message, " and 13 more");
}

TEST_F(RendezvousTest, ABusyRankIsWaitedForWhileItLives) {
  busy[1] = true;
  alive(1, true);
  for (unsigned rank : {0, 2, 3}) {
    call(rank);
  }
  pass(100);
  busy[1] = false; // the others' patience begins anew
  alive(1);
  pass(9);
  EXPECT_TRUE(rendezvous.failure().ok());
  pass(1);
  expectSays(failure().message, "waited 10 s for rank 1 (");
}

TEST_F(RendezvousTest, ABusyRankThatVanishesIsGivenUp) {
  busy[1] = true;
  alive(1, true);
  call(0);
  call(2);
  call(3);
  pass(9, 1);
  EXPECT_TRUE(rendezvous.failure().ok());
  pass(1, 1);
  expectFailure(0, absl::StatusCode::kDeadlineExceeded,
                "rank 0, saving: heard nothing for 10 s of rank 1 (process 101 "
                "on h): stopped, or not reachable any more");
}

/// They may wait for it elsewhere, as in NCCL.
TEST_F(RendezvousTest, ARankThatVanishesIsGivenUpWhereNobodyWaits) {
  pass(50);
  pass(10, 3);
  expectFailure(Failure::kNobody, absl::StatusCode::kDeadlineExceeded,
                "heard nothing for 10 s of rank 3 (process 103 on h): stopped, "
                "or not reachable any more");
}

TEST_F(RendezvousTest, ACallThatTakesLongToArriveIsNoLateOne) {
  for (unsigned rank : {0, 2, 3}) {
    call(rank);
  }
  for (int i = 0; i < 100; ++i) {
    rendezvous.hear(1, /*call=*/true, now);
    pass(1);
  }
  EXPECT_TRUE(rendezvous.failure().ok());
  pass(10);
  EXPECT_FALSE(rendezvous.failure().ok());
}

TEST_F(RendezvousTest, WhoWasStoppedHimselfBlamesNobody) {
  call(0);
  now += seconds(1000);
  rendezvous.excuse(now);
  rendezvous.look(now);
  pass(9);
  EXPECT_TRUE(rendezvous.failure().ok());
  pass(1);
  EXPECT_FALSE(rendezvous.failure().ok());
}

TEST_F(RendezvousTest, WhoIsLostIsSaidAtOnce) {
  call(3, Operation::kBarrier, "saving");
  rendezvous.lose(1, "has ended");
  expectFailure(3, absl::StatusCode::kUnavailable,
                "rank 3, saving: rank 1 (process 101 on h) has ended, and was "
                "waited for");
}

TEST_F(RendezvousTest, WhoIsLostIsSaidWhereNobodyWaits) {
  rendezvous.lose(1, "has ended");
  rendezvous.lose(2, "has ended"); // the first counts
  EXPECT_EQ(rendezvous.failure(),
            absl::UnavailableError("rank 1 (process 101 on h) has ended"));
}

/// The one who waited the longest may be the one who is lost.
TEST_F(RendezvousTest, WhoIsLostDoesNotSpeak) {
  call(1);
  call(2);
  rendezvous.lose(1, "has ended");
  expectFailure(2, absl::StatusCode::kUnavailable,
                "rank 2, saving: rank 1 (process 101 on h) has ended");
}

TEST_F(RendezvousTest, WhoLeavesInGoodOrderIsMissedOnlyWhereWaitedFor) {
  rendezvous.take(1, {FrameKind::kBye, ""}, now);
  rendezvous.lose(1, "has ended"); // as its connection does
  pass(100);
  EXPECT_TRUE(rendezvous.failure().ok());
  call(0);
  expectFailure(0, absl::StatusCode::kUnavailable,
                "rank 0, saving: rank 1 (process 101 on h) has ended, and was "
                "waited for");
}

TEST_F(RendezvousTest, RanksThatAreOutOfStepAreNamed) {
  call(0, Operation::kExchange, "numbers");
  call(3, Operation::kBarrier, "saving");
  expectFailure(3, absl::StatusCode::kInternal,
                "rank 3 is out of step: it comes to the barrier 'saving', and "
                "rank 0 to the exchange 'numbers'");
}

TEST_F(RendezvousTest, ACallOfAnotherRoundIsAnError) {
  call(0, Operation::kBarrier, "saving", "", 1);
  expectSays(failure().message, "of rank 0 (process 100 on h): it makes "
                                "call 1, 'saving', where call 0 is due");
}

TEST_F(RendezvousTest, CallingTwiceIsAnError) {
  call(0);
  call(0);
  EXPECT_FALSE(rendezvous.failure().ok());
}

TEST_F(RendezvousTest, WhatNoRankSendsIsAnError) {
  for (FrameKind kind : {FrameKind::kHello, FrameKind::kWelcome,
                         FrameKind::kRefused, FrameKind::kResult}) {
    Rendezvous other(1, "run", "h:1", seconds(10));
    ASSERT_TRUE(other.enter({"run", 0, 1, "p"}, now).ok());
    other.take(0, {kind, ""}, now);
    EXPECT_FALSE(other.failure().ok());
  }
  rendezvous.take(2, {FrameKind::kCall, "?"}, now);
  expectSays(failure().message, "of rank 2 (process 102 on h): a call came "
                                "that is none");
}

TEST_F(RendezvousTest, AFailureWithoutAReasonIsNamed) {
  rendezvous.take(
      2,
      {FrameKind::kFailure, pack(Failure{2, absl::StatusCode::kInternal, ""})},
      now);
  expectFailure(2, absl::StatusCode::kInternal,
                "rank 2 (process 102 on h) failed and gave no reason");
}

TEST_F(RendezvousTest, AnswersGoToWhomTheyAreFor) {
  for (unsigned rank = 0; rank < kRanks; ++rank) {
    call(rank, Operation::kCollect, "texts", absl::StrCat(rank));
  }
  ASSERT_EQ(rendezvous.outgoing.size(), kRanks);
  for (const auto &[rank, bytes] : rendezvous.outgoing) {
    Result expected = {0, {}};
    if (rank == 0) {
      expected.texts = {"0", "1", "2", "3"};
    }
    EXPECT_EQ(*bytes, *encode(FrameKind::kResult, pack(expected)));
  }
}

} // namespace
