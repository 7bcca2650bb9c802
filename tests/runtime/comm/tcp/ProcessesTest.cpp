//===- ProcessesTest.cpp - processes that die, stop, or never come --------===//

#include "tests/runtime/comm/tcp/Processes.h"

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Once the others have met it, too, and wait for it.
absl::Status die(TcpControlPlane &) {
  std::this_thread::sleep_for(milliseconds(2000));
  kill(getpid(), SIGKILL);
  return absl::OkStatus();
}

absl::Status barrier(TcpControlPlane &comm) { return comm.barrier("saving"); }

/// Does nothing but look whether it is told of a failure.
absl::Status compute(TcpControlPlane &comm) {
  while (comm.failure().ok()) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  return comm.failure();
}

void expectSaid(Processes &processes, unsigned rank,
                const std::vector<std::string> &parts) {
  std::string said = processes.said(rank);
  for (const std::string &part : parts) {
    EXPECT_NE(said.find(part), std::string::npos)
        << "rank " << rank << " said: " << said << "\nwithout: " << part;
  }
}

std::string nameOf(Processes &processes, unsigned rank) {
  return absl::StrCat("rank ", rank, " (process ", processes.numberOf(rank),
                      " on ");
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

TEST(Processes, Meet) {
  Processes processes(3, Deadline(60));
  // Rank 0 comes last: the others try again.
  for (unsigned rank : {2, 1, 0}) {
    processes.start(rank, [](TcpControlPlane &comm) -> absl::Status {
      ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                          comm.exchange("numbers", absl::StrCat(getpid())));
      if (texts[comm.rank()] != absl::StrCat(getpid())) {
        return absl::InternalError("another number");
      }
      return comm.finish();
    });
    std::this_thread::sleep_for(milliseconds(100));
  }
  for (unsigned rank : {0, 1, 2}) {
    EXPECT_EQ(processes.said(rank), "OK");
  }
}

TEST(Processes, OneThatIsKilledIsNamedAtOnce) {
  for (unsigned victim : {1, 0}) {
    Processes processes(3, Deadline(60));
    Clock::time_point begin = Clock::now();
    for (unsigned rank : {0, 1, 2}) {
      processes.start(rank, rank == victim ? die : barrier);
    }
    unsigned other = victim == 0 ? 1 : 0;
    for (unsigned rank : {other, 2u}) {
      expectSaid(
          processes, rank,
          {absl::StrCat(", saving: ", nameOf(processes, victim)), "has ended"});
    }
    EXPECT_LT(since(begin), 50);
  }
}

/// As ranks that wait in NCCL would not learn it otherwise.
TEST(Processes, OneThatIsKilledIsToldToThoseWhoDoNotWait) {
  for (unsigned victim : {1, 0}) {
    Processes processes(3, Deadline(60));
    for (unsigned rank : {0, 1, 2}) {
      processes.start(rank, rank == victim ? die : compute);
    }
    unsigned other = victim == 0 ? 1 : 0;
    for (unsigned rank : {other, 2u}) {
      expectSaid(processes, rank, {nameOf(processes, victim), "has ended"});
    }
  }
}

/// As one whose host has gone: its connection stays, and says nothing.
TEST(Processes, OneThatIsStoppedIsGivenUp) {
  for (unsigned victim : {1, 0}) {
    Processes processes(3, Deadline(5));
    Clock::time_point begin = Clock::now();
    for (unsigned rank : {0, 1, 2}) {
      processes.start(rank, [victim](TcpControlPlane &comm) {
        if (comm.rank() == victim) {
          comm.setBusy(true); // which alone excuses nobody
          std::this_thread::sleep_for(milliseconds(1000));
          kill(getpid(), SIGSTOP);
        }
        absl::Status status = comm.barrier("saving");
        return status.ok() ? comm.barrier("saving more") : status;
      });
    }
    unsigned other = victim == 0 ? 1 : 0;
    for (unsigned rank : {other, 2u}) {
      expectSaid(
          processes, rank,
          {"saving: heard nothing for 5 s of ", nameOf(processes, victim)});
    }
    EXPECT_GT(since(begin), 4.5);
    EXPECT_LT(since(begin), 60);
    // Awake again it learns of it, too, at the latest in the next call.
    kill(processes.numberOf(victim), SIGCONT);
    expectSaid(processes, victim, {"heard nothing for 5 s of "});
  }
}

TEST(Processes, OneThatNeverComesIsNamed) {
  Processes processes(4, Deadline(4)); // in which two come
  for (unsigned rank : {0, 2}) {
    processes.start(rank, barrier);
  }
  for (unsigned rank : {0, 2}) {
    expectSaid(processes, rank,
               {"meeting the other ranks: waited 4 s for rank 1 (has not come "
                "to 127.0.0.1:",
                "(a free port)), rank 3 (has not come"});
  }
}

TEST(Processes, RankZeroThatNeverComesIsNamed) {
  Processes processes(2, Deadline(1));
  processes.start(1, barrier);
  expectSaid(processes, 1,
             {"DEADLINE_EXCEEDED: rank 1: waited 1 s for rank 0 to listen at "
              "127.0.0.1:",
              "(a free port): Connection refused"});
}

TEST(Processes, ABusyOneThatIsKilledIsNotWaitedFor) {
  Processes processes(3, Deadline(60));
  for (unsigned rank : {0, 1, 2}) {
    processes.start(rank, [](TcpControlPlane &comm) {
      if (comm.rank() == 1) {
        comm.setBusy(true);
        std::this_thread::sleep_for(milliseconds(100));
        kill(getpid(), SIGKILL);
      }
      return comm.barrier("what takes long");
    });
  }
  Clock::time_point begin = Clock::now();
  for (unsigned rank : {0, 2}) {
    expectSaid(processes, rank, {nameOf(processes, 1), "has ended"});
  }
  EXPECT_LT(since(begin), 50);
}

/// The process ends at once after it, without a goodbye.
TEST(Processes, TheLastWordsOfAFailureArrive) {
  for (unsigned victim : {1, 0}) {
    Processes processes(3, Deadline(60));
    for (unsigned rank : {0, 1, 2}) {
      processes.start(rank, [victim](TcpControlPlane &comm) {
        if (comm.rank() == victim) {
          std::this_thread::sleep_for(milliseconds(1000));
          comm.abort(absl::DataLossError("a bad sample"));
          _exit(1);
        }
        return compute(comm);
      });
    }
    unsigned other = victim == 0 ? 1 : 0;
    for (unsigned rank : {other, 2u}) {
      EXPECT_EQ(processes.said(rank), absl::StrCat("ABORTED: rank ", victim,
                                                   " failed: a bad sample"));
    }
  }
}

} // namespace
