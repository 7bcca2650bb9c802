//===- PlanFileTest.cpp - plan files are whole and right, or refused ------===//

#include "PlanBuilder.h"

#include "runtime/plan/PlanFile.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

namespace zerograph {
namespace {

std::string bytesOf(const plan::Plan &plan) {
  absl::StatusOr<std::string> bytes = serializePlan(plan);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *bytes;
}

TEST(PlanFile, SamePlanHasSameBytesAndComesBack) {
  std::string bytes = bytesOf(testing::stageThreePlan());
  EXPECT_EQ(bytes, bytesOf(testing::stageThreePlan()));
  auto loaded = parsePlan(bytes).value();
  EXPECT_EQ(bytes, bytesOf(loaded.plan));
  EXPECT_EQ(loaded.hash_hex.size(), 32u);
}

TEST(PlanFile, RanksMayHaveCopiesOfAModelsFolder) {
  auto hashOf = [](const char *folder) {
    plan::Plan plan = testing::stageOnePlan();
    plan.mutable_units(0)->mutable_parameters(0)->mutable_source()->set_folder(
        folder);
    return hashOfRanks(std::move(plan));
  };
  EXPECT_EQ(hashOf("/tmp/a/model.content-1"), hashOf("/tmp/b/model.content-1"));
  EXPECT_NE(hashOf("/tmp/a/model.content-1"), hashOf("/tmp/a/model.content-2"));
  EXPECT_NE(hashOf("/tmp/a/model"), hashOf("/tmp/b/model"));
}

TEST(PlanFile, EveryPrefixIsRefused) {
  std::string bytes = bytesOf(testing::stageOnePlan());
  for (size_t length = 0; length < bytes.size(); ++length) {
    absl::StatusOr<LoadedPlan> loaded = parsePlan(bytes.substr(0, length));
    expectSays(loaded.status(), "cut short");
  }
}

TEST(PlanFile, EveryFlippedByteIsRefused) {
  std::string bytes = bytesOf(testing::stageOnePlan());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int mask : {1, 0x80, 0xff}) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      ASSERT_FALSE(parsePlan(flipped).ok()) << at;
    }
  }
}

TEST(PlanFile, EachDamageHasItsOwnMessage) {
  std::string bytes = bytesOf(testing::stageOnePlan());
  auto message = [](const std::string &of) {
    return std::string(parsePlan(of).status().message());
  };
  expectSays(message("\x89PNG\r\n\x1a\n and more than a header of bytes"),
             "not a Zerograph plan");
  expectSays(message(bytes + "x"), "1 bytes after its end");
  std::string newer = bytes;
  newer[8] = kPlanVersion + 1;
  expectSays(message(newer), "newer Zerograph");
  std::string older = bytes;
  older[8] = kPlanVersion - 1;
  expectSays(message(older), "compile the model again");
  std::string damaged = bytes;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  expectSays(message(damaged), "damaged");
}

TEST(PlanFile, NamesThatAreNotTextAreNotWritten) {
  plan::Plan plan = testing::stageOnePlan();
  plan.set_model("\xff\xfe.onnx");
  expectSays(serializePlan(plan).status(), "UTF-8");
}

TEST(PlanFile, WritesWholeFilesOnly) {
  testing::Folder owned;
  std::filesystem::path folder = owned.path;
  std::string path = folder / "a.zgplan";
  ASSERT_TRUE(writePlan(testing::stageOnePlan(), path).ok());
  ASSERT_TRUE(writePlan(testing::stageThreePlan(), path).ok());
  auto loaded = readPlan(path).value();
  EXPECT_EQ(loaded.plan.zero_stage(), 3u);
  // Nothing temporary is left, and a failed write leaves the old file.
  plan::Plan bad;
  bad.set_model("\xff");
  EXPECT_FALSE(writePlan(bad, path).ok());
  EXPECT_FALSE(writePlan(bad, folder / "none" / "b.zgplan").ok());
  EXPECT_FALSE(
      writePlan(testing::stageOnePlan(), folder / "none" / "b.zgplan").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_TRUE(readPlan(path).ok());
  expectSays(readPlan(folder / "c").status(), "cannot open a plan");
  EXPECT_FALSE(readPlan(folder).ok());
}

} // namespace
} // namespace zerograph
