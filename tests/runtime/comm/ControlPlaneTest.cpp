//===- ControlPlaneTest.cpp - what ranks tell each other, over any way ----===//

#include "tests/runtime/comm/ControlPlaneChecks.h"
#include "tests/runtime/comm/ControlPlanes.h"
#include "tests/support/Says.h"

#include <atomic>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

using std::chrono::milliseconds;

class ControlPlaneTest : public ::testing::TestWithParam<Transport> {
protected:
  template <typename Body>
  std::vector<absl::Status> on(unsigned world, Deadline deadline,
                               const Body &body) {
    return onPlanes(GetParam(), world, deadline, body);
  }

  template <typename Check>
  void check(unsigned world, const Check &check) {
    auto statuses = on(world, Deadline(60), [&](ControlPlane &comm) {
      check(comm);
      return absl::OkStatus();
    });
    for (const absl::Status &status : statuses) {
      EXPECT_TRUE(status.ok()) << status;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Any, ControlPlaneTest,
                         ::testing::Values(Transport::kLocal, Transport::kTcp),
                         [](const auto &info) { return nameOf(info.param); });

TEST_P(ControlPlaneTest, TextsReachWhoTheyAreFor) {
  for (unsigned world : {1, 2, 5}) {
    check(world, checkTexts);
    check(world, checkEmptyTexts);
  }
}

TEST_P(ControlPlaneTest, WhatFailsBeforeTheRunIsSaidOnce) {
  check(3, checkAgreement);
}

TEST_P(ControlPlaneTest, ErrorsOfSeveralRanksAreOneMessage) {
  auto statuses = on(3, Deadline(60), [](ControlPlane &comm) {
    absl::Status own = comm.rank() == 0
                           ? absl::OkStatus()
                           : absl::NotFoundError(absl::StrCat(comm.rank()));
    absl::Status agreed = agree(comm, "opening", own);
    EXPECT_EQ(agreed.message(),
              comm.rank() == 0 ? "rank 1: 1\n  rank 2: 2" : "rank 0 says why");
    return absl::OkStatus();
  });
  EXPECT_TRUE(statuses[0].ok()) << statuses[0];
}

TEST_P(ControlPlaneTest, OtherChoicesOfALibraryAreNamed) {
  auto statuses = on(3, Deadline(60), [](ControlPlane &comm) {
    EXPECT_TRUE(compareChoices(comm, "").ok());
    EXPECT_TRUE(compareChoices(comm, "one").ok());
    return compareChoices(comm, comm.rank() == 1 ? "another" : "one");
  });
  for (const absl::Status &status : statuses) {
    EXPECT_EQ(status.message(),
              "the ranks would compute the same differently: rank 0 has one, "
              "rank 1 has another. Give every rank the same version of the "
              "library and the same kind of GPU");
  }
}

TEST_P(ControlPlaneTest, ManyCallsKeepTheirOrder) {
  auto statuses = on(4, Deadline(60), [](ControlPlane &comm) -> absl::Status {
    for (unsigned i = 0; i < 300; ++i) {
      ZG_ASSIGN_OR_RETURN(
          std::vector<std::string> texts,
          comm.exchange("numbers", absl::StrCat(i * 10 + comm.rank())));
      for (unsigned rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(texts[rank], absl::StrCat(i * 10 + rank));
      }
      ZG_ASSIGN_OR_RETURN(std::string text,
                          comm.broadcast("a number", absl::StrCat(i)));
      EXPECT_EQ(text, absl::StrCat(i));
      ZG_RETURN_IF_ERROR(comm.barrier("each turn"));
    }
    return absl::OkStatus();
  });
  for (const absl::Status &status : statuses) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

/// Past the deadline the error says who waits where for whom, on every rank.
TEST_P(ControlPlaneTest, TheDeadlineNamesWhoIsMissing) {
  std::atomic<bool> over{false};
  auto statuses = on(4, Deadline(3), [&](ControlPlane &comm) {
    if (comm.rank() % 2 == 1) { // busy elsewhere
      while (!over) {
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
    absl::Status status = comm.barrier("saving weights");
    over = true;
    return status;
  });
  absl::Status original;
  for (const absl::Status &status : statuses) {
    ASSERT_FALSE(status.ok());
    if (absl::IsDeadlineExceeded(status)) {
      original = status;
    }
  }
  std::string message(original.message());
  expectSays(message, ", saving weights: waited 3 s for rank 1", ", rank 3");
  for (const absl::Status &status : statuses) {
    expectSays(status, message);
  }
}

TEST_P(ControlPlaneTest, ARankThatFailsEndsAllWithItsError) {
  auto begin = std::chrono::steady_clock::now();
  auto statuses = on(3, Deadline(60), [](ControlPlane &comm) {
    if (comm.rank() == 1) {
      std::this_thread::sleep_for(milliseconds(50));
      return absl::DataLossError("a bad sample");
    }
    return comm.barrier("weights");
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(absl::IsDataLoss(statuses[1]));
  for (unsigned rank : {0, 2}) {
    EXPECT_EQ(statuses[rank],
              absl::AbortedError("rank 1 failed: a bad sample"));
  }
}

/// Also those that compute, and ask from time to time; and whoever comes later.
TEST_P(ControlPlaneTest, AFailureIsToldToThoseWhoDoNotWait) {
  auto statuses = on(3, Deadline(60), [](ControlPlane &comm) {
    if (comm.rank() == 0) {
      comm.abort(absl::DataLossError("a bad sample"));
      comm.abort(absl::InternalError("what came of it"));
      return comm.barrier("more");
    }
    while (comm.rank() == 2 && comm.failure().ok()) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_FALSE(comm.barrier("weights").ok());
    EXPECT_FALSE(comm.barrier("weights again").ok());
    return comm.rank() == 2 ? comm.failure() : comm.barrier("and again");
  });
  for (const absl::Status &status : statuses) {
    EXPECT_EQ(status, absl::AbortedError("rank 0 failed: a bad sample"));
  }
}

TEST_P(ControlPlaneTest, WaitingForARankThatHasEndedIsAnError) {
  for (unsigned ended : {0u, 1u}) {
    auto planes = makePlanes(GetParam(), 3, Deadline(60));
    std::vector<absl::Status> statuses(3);
    std::vector<std::thread> waiting;
    for (unsigned rank = 0; rank < 3; ++rank) {
      if (rank != ended) {
        waiting.emplace_back(
            [&, rank] { statuses[rank] = planes[rank]->barrier("the end"); });
      }
    }
    // Until they wait.
    std::this_thread::sleep_for(milliseconds(1000));
    planes[ended].reset();
    for (std::thread &thread : waiting) {
      thread.join();
    }
    for (unsigned rank = 0; rank < 3; ++rank) {
      for (const std::string &part :
           {std::string("the end: rank "), absl::StrCat("rank ", ended),
            std::string("has ended")}) {
        EXPECT_TRUE(rank == ended ||
                    statuses[rank].message().find(part) != std::string::npos)
            << "rank " << rank << ": " << statuses[rank];
      }
    }
  }
}

} // namespace
