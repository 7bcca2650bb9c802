//===- PlanFileTest.cpp - plan files are whole and right, or refused ------===//

#include "PlanBuilder.h"

#include "runtime/plan/PlanFile.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>

namespace zerograph {
namespace {

using ::testing::HasSubstr;

std::string bytesOf(const plan::Plan &plan) {
  absl::StatusOr<std::string> bytes = serializePlan(plan);
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return *bytes;
}

TEST(PlanFile, SamePlanHasSameBytesAndComesBack) {
  std::string bytes = bytesOf(testing::stageThreePlan());
  EXPECT_EQ(bytes, bytesOf(testing::stageThreePlan()));
  absl::StatusOr<LoadedPlan> loaded = parsePlan(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(bytes, bytesOf(loaded->plan));
  EXPECT_EQ(loaded->hash_hex.size(), 32u);
}

TEST(PlanFile, EveryPrefixIsRefused) {
  std::string bytes = bytesOf(testing::stageOnePlan());
  for (size_t length = 0; length < bytes.size(); ++length) {
    absl::StatusOr<LoadedPlan> loaded = parsePlan(bytes.substr(0, length));
    ASSERT_FALSE(loaded.ok()) << length;
    EXPECT_THAT(std::string(loaded.status().message()), HasSubstr("cut short"));
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
  EXPECT_THAT(message("\x89PNG\r\n\x1a\n and more than a header of bytes"),
              HasSubstr("not a Zerograph plan"));
  EXPECT_THAT(message(bytes + "x"), HasSubstr("1 bytes after its end"));
  std::string newer = bytes;
  newer[8] = kPlanVersion + 1;
  EXPECT_THAT(message(newer), HasSubstr("newer Zerograph"));
  std::string older = bytes;
  older[8] = kPlanVersion - 1;
  EXPECT_THAT(message(older), HasSubstr("compile the model again"));
  std::string damaged = bytes;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  EXPECT_THAT(message(damaged), HasSubstr("damaged"));
}

TEST(PlanFile, NamesThatAreNotTextAreNotWritten) {
  plan::Plan plan = testing::stageOnePlan();
  plan.set_model("\xff\xfe.onnx");
  EXPECT_THAT(std::string(serializePlan(plan).status().message()),
              HasSubstr("UTF-8"));
}

TEST(PlanFile, WritesWholeFilesOnly) {
  std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                 ("planfile." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string path = folder / "a.zgplan";
  ASSERT_TRUE(writePlan(testing::stageOnePlan(), path).ok());
  ASSERT_TRUE(writePlan(testing::stageThreePlan(), path).ok());
  absl::StatusOr<LoadedPlan> loaded = readPlan(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->plan.zero_stage(), 3u);
  // Nothing temporary is left, and a failed write leaves the old file.
  plan::Plan bad;
  bad.set_model("\xff");
  EXPECT_FALSE(writePlan(bad, path).ok());
  EXPECT_FALSE(writePlan(bad, folder / "none" / "b.zgplan").ok());
  EXPECT_FALSE(
      writePlan(testing::stageOnePlan(), folder / "none" / "b.zgplan").ok());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_TRUE(readPlan(path).ok());
  EXPECT_THAT(std::string(readPlan(folder / "c").status().message()),
              HasSubstr("cannot open a plan"));
  EXPECT_FALSE(readPlan(folder).ok());
  std::filesystem::remove_all(folder);
}

} // namespace
} // namespace zerograph
