//===- AgreementTest.cpp - what ranks settle before a run -----------------===//

#include "tests/runtime/comm/OnRanks.h"

#include "gtest/gtest.h"

#include <map>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

TEST(Agreement, TextsReachWhoTheyAreFor) {
  LocalGroupOptions options;
  options.world = 3;
  auto statuses = onRanks(options, [&](ControlPlane &comm) -> absl::Status {
    ZG_ASSIGN_OR_RETURN(std::vector<std::string> texts,
                        comm.collect("texts", absl::StrCat(comm.rank())));
    std::vector<std::string> all = {"0", "1", "2"};
    EXPECT_EQ(texts, comm.rank() == 0 ? all : std::vector<std::string>());
    ZG_ASSIGN_OR_RETURN(std::string first,
                        comm.broadcast("text", absl::StrCat(comm.rank())));
    EXPECT_EQ(first, "0");
    return absl::OkStatus();
  });
  for (const absl::Status &status : statuses) {
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(Agreement, ErrorsBeforeARunAreSaidByTheFirstRank) {
  LocalGroupOptions options;
  options.world = 3;
  auto statuses = onRanks(options, [&](ControlPlane &comm) {
    absl::Status own = comm.rank() == 0
                           ? absl::OkStatus()
                           : absl::NotFoundError(absl::StrCat(comm.rank()));
    EXPECT_TRUE(agree(comm, "nothing", absl::OkStatus()).ok());
    return agree(comm, "opening", own);
  });
  EXPECT_EQ(statuses[0].message(), "rank 1: 1\n  rank 2: 2");
  EXPECT_TRUE(absl::IsCancelled(statuses[1])) << statuses[1];
  EXPECT_TRUE(absl::IsCancelled(statuses[2])) << statuses[2];
}

/// Values may hold anything, and be given on some ranks only.
TEST(Agreement, SettingsThatDifferAreNamed) {
  LocalGroupOptions options;
  options.world = 3;
  auto statuses = onRanks(options, [&](ControlPlane &comm) {
    std::map<std::string, std::string> same = {{"a", ""}, {"b", "1 2 \n"}};
    EXPECT_TRUE(compareSettings(comm, same).ok());
    if (comm.rank() > 0) {
      same["c d"] = absl::StrCat(comm.rank());
    }
    return compareSettings(comm, same);
  });
  EXPECT_EQ(statuses[0].message(),
            "the ranks were started differently: c d: not given on rank 0, 1 "
            "on rank 1; c d: not given on rank 0, 2 on rank 2");
}

TEST(Agreement, AnotherPlanIsRefusedByRankAndHash) {
  LocalGroupOptions options;
  options.world = 3;
  auto statuses = onRanks(options, [&](ControlPlane &comm) {
    return compareHashes(comm, comm.rank() == 2 ? "bbbb" : "aaaa");
  });
  for (const absl::Status &status : statuses) {
    EXPECT_NE(status.message().find("rank 0 has aaaa, rank 2 has bbbb"),
              std::string::npos)
        << status;
  }
}

} // namespace
