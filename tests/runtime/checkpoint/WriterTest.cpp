//===- WriterTest.cpp - writing a checkpoint while training goes on -------===//

#include "StatePlan.h"

#include "runtime/checkpoint/Verify.h"
#include "runtime/checkpoint/Writer.h"
#include "tests/support/Says.h"

#include <csignal>
#include <fstream>
#include <sys/resource.h>

using namespace zerograph;
using namespace zerograph::testing;
namespace fs = std::filesystem;

namespace {

class WriterTest : public FolderCase {
protected:
  /// Ranks of a plan, each with its states and a writer.
  void open(const StatePlanOptions &options,
            std::optional<uint64_t> keep = std::nullopt,
            plan::Space space = plan::DEVICE) {
    plan = statePlan(options);
    for (plan::Arena &arena : *plan.mutable_arenas()) {
      arena.set_space(space);
    }
    checkpoints = CheckpointFolder::open(folder).value();
    for (unsigned rank = 0; rank < options.world; ++rank) {
      ranks.push_back(std::make_unique<HeldStates>(plan, rank));
      fill(plan, ranks.back()->memory);
      writers.push_back(CheckpointWriter::create(plan, ranks.back()->memory,
                                                 *checkpoints, keep)
                            .value());
    }
  }
  CheckpointRun at(uint64_t steps) const {
    CheckpointRun run;
    run.steps = run.updates = steps;
    run.ranks = uint32_t(ranks.size());
    run.optimizer = "adamw";
    return run;
  }
  static absl::Status goOn() { return absl::OkStatus(); }
  absl::Status save(unsigned rank, uint64_t steps) {
    return writers[rank]->save(at(steps), goOn);
  }
  absl::Status wait(unsigned rank) { return writers[rank]->wait(goOn); }
  absl::Status saveAll(uint64_t steps) {
    absl::Status status;
    for (unsigned rank = 0; rank < writers.size(); ++rank) {
      status.Update(save(rank, steps));
    }
    for (unsigned rank = 0; rank < writers.size(); ++rank) {
      status.Update(wait(rank));
    }
    return status;
  }

  void checkMoment(plan::Space space);

  plan::Plan plan;
  std::unique_ptr<CheckpointFolder> checkpoints;
  std::vector<std::unique_ptr<HeldStates>> ranks;
  std::vector<std::unique_ptr<CheckpointWriter>> writers;
};

TEST_F(WriterTest, AllRanksWriteAllBytesOnce) {
  open({3, true});
  ASSERT_TRUE(saveAll(5).ok());
  auto verified = verifyCheckpoint(path("step-00000005")).value();
  EXPECT_EQ(verified.run, at(5));
  EXPECT_EQ(verified.tensors, 2 * 2 + 3u);
  uint64_t copied = 0;
  unsigned rank = 0;
  for (auto &writer : writers) {
    EXPECT_EQ(writer->bytes(), writer->copied());
    EXPECT_EQ(writer->bytes(), ownedBytes(plan, rank++));
    copied += writer->copied();
  }
  EXPECT_EQ(copied, (2 * (900 + 300) + 3 * 16) * 4u);
  std::vector<std::string> names;
  for (const auto &entry : fs::directory_iterator(path("step-00000005"))) {
    names.push_back(entry.path().filename());
  }
  EXPECT_EQ(names.size(), 4u) << "three shards and the index";
}

/// Checks that what changes after `save` is not in it.
void WriterTest::checkMoment(plan::Space space) {
  open({2, false}, std::nullopt, space);
  for (unsigned rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(save(rank, 1).ok());
    std::fill(ranks[rank]->bytes.begin(), ranks[rank]->bytes.end(),
              std::byte(0));
  }
  ASSERT_TRUE(wait(0).ok());
  ASSERT_TRUE(wait(1).ok());
  std::string first = *readText(path("step-00000001/index.json"));
  for (auto &rank : ranks) {
    fill(plan, rank->memory);
  }
  ASSERT_TRUE(saveAll(2).ok());
  std::string second = *readText(path("step-00000002/index.json"));
  // The pieces' checksums are equal.
  auto tensors = [](const std::string &text) {
    return parseIndex("f", text)->tensors;
  };
  EXPECT_EQ(tensors(first), tensors(second));
}

TEST_F(WriterTest, TheCopyIsOfTheMomentOfSaving) { checkMoment(plan::DEVICE); }

/// There is no copy: it is read before `save` returns.
TEST_F(WriterTest, SoIsWhatIsReadFromAFile) {
  checkMoment(plan::NVME);
  for (unsigned rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(writers[rank]->bytes(), checkpointMemory(plan, rank));
    EXPECT_LT(writers[rank]->bytes(), ownedBytes(plan, rank));
    EXPECT_EQ(writers[rank]->copied(), ownedBytes(plan, rank));
  }
}

TEST_F(WriterTest, NothingIsPublishedBeforeAllRanksAreDone) {
  open({2, true});
  ASSERT_TRUE(save(0, 1).ok());
  std::string done = path("step-00000001.writing/rank-00000.json");
  int asked = 0; // since its part is there
  absl::Status status = writers[0]->wait([&] {
    asked += fs::exists(done);
    return asked < 5 ? absl::OkStatus() : absl::AbortedError("a rank died");
  });
  EXPECT_EQ(status.message(), "a rank died");
  EXPECT_TRUE(writers[0]->isBusy());
  EXPECT_FALSE(fs::exists(path("step-00000001")));
  ASSERT_TRUE(save(1, 1).ok());
  EXPECT_TRUE(wait(0).ok());
  EXPECT_TRUE(wait(1).ok());
  EXPECT_TRUE(verifyCheckpoint(path("step-00000001")).ok());
}

TEST_F(WriterTest, ARankThatFailsLeavesTheTemporaryFolderAlone) {
  open({2, true});
  ASSERT_TRUE(saveAll(1).ok());
  ASSERT_TRUE(save(0, 2).ok());
  writers.clear(); // the run ends
  EXPECT_TRUE(fs::exists(path("step-00000002.writing")));
  EXPECT_FALSE(fs::exists(path("step-00000002")));
  ranks.clear();
  checkpoints.reset();
  open({2, true});
  EXPECT_FALSE(fs::exists(path("step-00000002.writing")));
  EXPECT_TRUE(verifyCheckpoint(path("step-00000001")).ok());
}

TEST_F(WriterTest, KeepsTheNewest) {
  open({1, false}, 2);
  for (uint64_t steps : {1, 2, 3, 4}) {
    ASSERT_TRUE(saveAll(steps).ok());
  }
  auto published = publishedIn(folder);
  ASSERT_EQ(published->size(), 2u);
  EXPECT_EQ(published->front().steps, 3u);
}

/// Runs with files of at most `bytes` bytes, as on a full disk.
absl::Status limited(uint64_t bytes, const std::function<absl::Status()> &run) {
  rlimit before = {};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = {bytes, before.rlim_max};
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  absl::Status status = run();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  return status;
}

TEST_F(WriterTest, AFullDiskIsNamedAndLosesNothing) {
  open({1, false});
  ASSERT_TRUE(saveAll(1).ok());
  absl::Status status = limited(2000, [&] { return saveAll(2); });
  expectSays(status, "the checkpoint after 2 steps is not published",
             "as they were", "step-00000002.writing/rank-00000.safetensors",
             "File too large");
  EXPECT_EQ(writers[0]->failure(), status);
  EXPECT_EQ(publishedIn(folder)->size(), 1u);
  EXPECT_TRUE(verifyCheckpoint(path("step-00000001")).ok());
}

/// Nobody waits for ever for what others can no longer write.
TEST_F(WriterTest, AFolderThatGoesMeanwhileIsNamed) {
  open({2, true});
  ASSERT_TRUE(save(0, 1).ok());
  std::string writing = path("step-00000001.writing");
  absl::Status status = writers[0]->wait([&] {
    if (fs::exists(writing + "/rank-00000.json")) {
      fs::rename(writing, path("elsewhere"));
    }
    return absl::OkStatus();
  });
  expectSays(status, writing + ": No such file");
}

TEST_F(WriterTest, AFolderThatIsGoneIsNamed) {
  open({1, false});
  fs::remove_all(folder);
  expectSays(saveAll(1), "step-00000001.writing: cannot be made");
}

} // namespace
