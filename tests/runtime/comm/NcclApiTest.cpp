//===- NcclApiTest.cpp - the NCCL of this machine -------------------------===//
//
// Tests what NCCL does without a driver: it is found, has all functions, and
// makes ids.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/nccl/NcclApi.h"
#include "tests/support/Says.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <cstring>

using namespace zerograph;
using ::testing::MatchesRegex;

namespace {

class RealNccl : public ::testing::Test {
protected:
  void SetUp() override {
    auto opened = ncclApi();
    if (!opened.ok()) {
      GTEST_SKIP() << opened.status().message();
    }
    api = *opened;
  }
  const NcclApi *api = nullptr;
};

TEST_F(RealNccl, TellsItsVersion) {
  auto version = ncclVersion(*api).value();
  EXPECT_THAT(version, MatchesRegex("2\\.[0-9]+\\.[0-9]+"));
}

/// Two of them differ.
TEST_F(RealNccl, MakesIds) {
  ncclUniqueId ids[2] = {};
  for (ncclUniqueId &id : ids) {
    absl::Status status = ncclStatus(*api, api->ncclGetUniqueId(&id),
                                     "ncclGetUniqueId", /*comm=*/nullptr);
    if (!status.ok()) {
      GTEST_SKIP() << "NCCL finds no network here: " << status.message();
    }
  }
  EXPECT_NE(std::memcmp(&ids[0], &ids[1], sizeof(ids[0])), 0);
}

/// It reads the environment once, when it is loaded.
TEST_F(RealNccl, ConnectsWhenACommunicatorIsMade) {
  EXPECT_STREQ(std::getenv("NCCL_RUNTIME_CONNECT"), "0");
}

TEST_F(RealNccl, ErrorsNameTheCall) {
  expectSays(ncclStatus(*api, ncclInvalidUsage, "ncclSend", nullptr),
             "ncclSend: ", "(5)");
}

/// A call that NCCL refuses, as every one without a driver.
TEST_F(RealNccl, TellsWhyThereIsNoCommunicator) {
  auto driver = cudaApi();
  if (driver.ok()) {
    GTEST_SKIP() << "this machine has a driver";
  }
  ncclUniqueId id = {};
  if (api->ncclGetUniqueId(&id) != ncclSuccess) {
    GTEST_SKIP() << "NCCL finds no network here";
  }
  ncclConfig_t config;
  ncclComm_t comm = nullptr;
  ncclResult_t result = api->ncclCommInitRankConfig(&comm, 1, id, 0, &config);
  EXPECT_NE(result, ncclSuccess);
  EXPECT_NE(result, ncclInProgress);
  expectSays(
      ncclStatus(*api, result, "ncclCommInitRankConfig", /*comm=*/nullptr),
      "pip install nvidia-nccl-cu1");
}

} // namespace
