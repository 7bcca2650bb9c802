//===- FolderTest.cpp - names of checkpoints, and who may write them ------===//

#include "StatePlan.h"

#include "runtime/checkpoint/Folder.h"
#include "tests/support/Says.h"

#include <fstream>

using namespace zerograph;
using namespace zerograph::testing;
namespace fs = std::filesystem;

namespace {

class CheckpointFolderTest : public FolderCase {
protected:
  void make(const std::string &name,
            const std::vector<std::string> &files = {}) {
    fs::create_directories(folder / name);
    for (const std::string &file : files) {
      std::ofstream(folder / name / file) << "x";
    }
  }
  std::vector<uint64_t> published() {
    std::vector<uint64_t> steps;
    auto found = publishedIn(folder);
    EXPECT_TRUE(found.ok()) << found.status();
    for (const PublishedCheckpoint &one : *found) {
      EXPECT_EQ(one.path, path(checkpointName(one.steps)));
      steps.push_back(one.steps);
    }
    return steps;
  }
};

TEST(NamesTest, AreTakenStrictly) {
  EXPECT_EQ(checkpointName(100), "step-00000100");
  EXPECT_EQ(checkpointName(12345678901), "step-12345678901");
  EXPECT_EQ(*rankOfShard(shardName(65535)), 65535u);
  for (const char *bad : {"rank-1.safetensors", "rank-000001.safetensors",
                          "rank-00001.safetensors.tmp", "rank-00001.json",
                          "../rank-00001.safetensors", "rank--0001.safetensors",
                          "rank-+0001.safetensors"}) {
    EXPECT_FALSE(rankOfShard(bad)) << bad;
  }
}

TEST_F(CheckpointFolderTest, OnlyPublishedOnesAreFoundInOrder) {
  for (const char *name :
       {"step-00000020", "step-100000000", "step-00000003", "step-3", "step-",
        "step-00000004.writing", "step-00000005.removing", "step-0000000x",
        "other"}) {
    make(name);
  }
  std::ofstream(folder / "step-00000006") << "a file";
  EXPECT_EQ(published(), (std::vector<uint64_t>{3, 20, 100000000}));
  EXPECT_EQ(publishedIn(path("none")).status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(CheckpointFolderTest, PublishingAndRemoving) {
  auto opened = CheckpointFolder::open(folder).value();
  for (uint64_t steps : {1, 2, 3, 4}) {
    ASSERT_TRUE(opened->begin(steps).ok());
    ASSERT_TRUE(opened->begin(steps).ok()) << "by another rank";
    EXPECT_EQ(published().size(), steps - 1);
    ASSERT_TRUE(opened->publish(steps).ok());
    EXPECT_EQ(published().back(), steps);
  }
  ASSERT_TRUE(opened->removeAllBut(2).ok());
  EXPECT_EQ(published(), (std::vector<uint64_t>{3, 4}));
  ASSERT_TRUE(opened->removeAllBut(2).ok());
  make("step-00000003", {"index.json", "rank-00000.safetensors"});
  ASSERT_TRUE(opened->removeAllBut(1).ok());
  EXPECT_EQ(published(), (std::vector<uint64_t>{4}));
  EXPECT_FALSE(fs::exists(path("step-00000003.removing")));
  // Somebody's own file is nothing of ours.
  make("step-00000004", {"notes"});
  make("step-00000005");
  expectSays(opened->removeAllBut(1), "it holds notes");
  EXPECT_EQ(published(), (std::vector<uint64_t>{5})) << "but it has no name";
}

TEST_F(CheckpointFolderTest, LeftoversAreRemovedAndOthersStay) {
  make("step-00000004.writing", {"rank-00000.safetensors.7.tmp",
                                 "rank-00000.json.tmp", "index.json.tmp"});
  make("step-00000005.removing", {"index.json"});
  make("mine.writing", {"rank-00000.json"});
  make("step-00000006", {"index.json"});
  ASSERT_TRUE(CheckpointFolder::open(folder).ok());
  EXPECT_FALSE(fs::exists(path("step-00000004.writing")));
  EXPECT_FALSE(fs::exists(path("step-00000005.removing")));
  EXPECT_TRUE(fs::exists(path("mine.writing/rank-00000.json")));
  EXPECT_TRUE(fs::exists(path("step-00000006/index.json")));
}

TEST_F(CheckpointFolderTest, OneRunWritesAtATime) {
  std::string place = path("new");
  auto first = CheckpointFolder::open(place).value();
  auto second = CheckpointFolder::open(place);
  expectSays(second.status(), "another run");
  auto joined = CheckpointFolder::join(place, first->token());
  EXPECT_TRUE(joined.ok()) << joined.status();
  auto elsewhere = CheckpointFolder::join(folder, first->token());
  expectSays(elsewhere.status(), "that their hosts share");
  first.reset();
  EXPECT_TRUE(CheckpointFolder::open(place).ok());
  std::ofstream(folder / "file") << "x";
  expectSays(CheckpointFolder::open(path("file")).status(),
             "no checkpoints can be written there");
}

} // namespace
