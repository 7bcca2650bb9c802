//===- ControlPlaneChecks.h - what every control plane does ---------------===//
//
// Each is called by all ranks, threads or processes, with their own.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_TESTS_RUNTIME_COMM_CONTROLPLANECHECKS_H
#define ZEROGRAPH_TESTS_RUNTIME_COMM_CONTROLPLANECHECKS_H

#include "runtime/comm/ControlPlane.h"

#include "gtest/gtest.h"

#include <chrono>
#include <thread>

namespace zerograph::testing {

/// Checks texts of lengths that differ, some longer than any one piece that is
/// sent.
inline void checkTexts(ControlPlane &comm) {
  unsigned world = comm.world(), rank = comm.rank();
  auto text = [](unsigned from) {
    return std::string(from * 3'000'000, char('a' + from)) +
           std::to_string(from);
  };
  auto all = comm.exchange("texts", text(rank));
  ASSERT_TRUE(all.ok()) << all.status();
  auto some = comm.collect("texts", text(rank));
  ASSERT_TRUE(some.ok()) << some.status();
  ASSERT_EQ(all->size(), world);
  EXPECT_EQ(some->size(), rank == 0 ? world : 0);
  for (unsigned peer = 0; peer < world; ++peer) {
    EXPECT_TRUE((*all)[peer] == text(peer));
    EXPECT_TRUE(rank != 0 || (*some)[peer] == text(peer));
  }
  auto first = comm.broadcast("a text", rank == 0 ? "from 0" : "not this");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(*first, "from 0");
  absl::Status status = comm.barrier("all texts");
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(comm.failure().ok());
}

/// A transfer that is empty on some ranks alone is one on all.
inline void checkEmptyTexts(ControlPlane &comm) {
  unsigned world = comm.world(), rank = comm.rank();
  for (unsigned empty = 0; empty < world; ++empty) {
    auto some = comm.collect("texts", rank == empty ? "" : "a text");
    ASSERT_TRUE(some.ok()) << some.status();
    auto all = comm.exchange("texts", std::to_string(rank));
    ASSERT_TRUE(all.ok()) << all.status();
    for (unsigned peer = 0; peer < world; ++peer) {
      EXPECT_EQ((*all)[peer], std::to_string(peer));
      EXPECT_EQ(rank == 0 ? (*some)[peer] : "",
                rank == 0 && peer != empty ? "a text" : "");
    }
  }
}

/// Checks the agreement of at least two ranks.
inline void checkAgreement(ControlPlane &comm) {
  unsigned world = comm.world(), rank = comm.rank();
  EXPECT_TRUE(agree(comm, "opening", absl::OkStatus()).ok());
  absl::Status one =
      agree(comm, "opening",
            rank == 1 ? absl::NotFoundError("no such file") : absl::OkStatus());
  absl::Status same = agree(comm, "opening", absl::NotFoundError("no disk"));
  // Values may hold anything, and be given on some ranks only.
  std::map<std::string, std::string> given = {{"a", ""}, {"b", "1 2 \n"}};
  EXPECT_TRUE(compareSettings(comm, given).ok());
  absl::Status settings = compareSettings(
      comm, {{"--steps", rank == world - 1 ? "3" : "5"}, {"--lr", "1"}});
  if (rank == world - 1) {
    given["c d"] = "7";
  }
  absl::Status more = compareSettings(comm, given);
  if (rank == 0) {
    EXPECT_EQ(one.message(), "rank 1: no such file");
    EXPECT_EQ(same, absl::NotFoundError("no disk"));
    EXPECT_EQ(settings.message(),
              absl::StrCat("the ranks were started differently: --steps: 5 on "
                           "rank 0, 3 on rank ",
                           world - 1));
    EXPECT_EQ(more.message(),
              absl::StrCat("the ranks were started differently: c d: not given "
                           "on rank 0, 7 on rank ",
                           world - 1));
  } else {
    for (const absl::Status &status : {one, same, settings, more}) {
      EXPECT_TRUE(absl::IsCancelled(status)) << status;
    }
  }
  absl::Status plans = compareHashes(comm, rank == 1 ? "bbbb" : "aaaa");
  EXPECT_NE(plans.message().find("rank 0 has aaaa, rank 1 has bbbb"),
            std::string::npos)
      << plans;
}

/// A rank that says it is busy may take longer than the deadline.
inline void checkBusy(ControlPlane &comm,
                      std::chrono::milliseconds beyond_deadline) {
  if (comm.rank() == 1) {
    comm.setBusy(true);
    std::this_thread::sleep_for(beyond_deadline);
    comm.setBusy(false);
  }
  absl::Status status = comm.barrier("what takes long");
  EXPECT_TRUE(status.ok()) << status;
}

} // namespace zerograph::testing

#endif // ZEROGRAPH_TESTS_RUNTIME_COMM_CONTROLPLANECHECKS_H
