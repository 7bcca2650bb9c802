//===- ResumeTest.cpp - states out of a checkpoint ------------------------===//

#include "StatePlan.h"

#include "runtime/checkpoint/Resume.h"
#include "runtime/checkpoint/RunOfPlan.h"
#include "runtime/checkpoint/Verify.h"
#include "runtime/checkpoint/Writer.h"
#include "runtime/state/Convert.h"
#include "tests/support/Says.h"

#include <algorithm>
#include <fstream>

using namespace zerograph;
using namespace zerograph::testing;

namespace {

absl::Status goOn() { return absl::OkStatus(); }

class ResumeTest : public FolderCase {
protected:
  void save(const StatePlanOptions &options) {
    plan::Plan plan = statePlan(options);
    auto folder_of = CheckpointFolder::open(folder).value();
    CheckpointRun run;
    run.steps = 1;
    run.ranks = options.world;
    run.optimizer = optimizerOf(plan);
    run.settings = settingsOf(plan);
    std::vector<std::unique_ptr<HeldStates>> ranks;
    std::vector<std::unique_ptr<CheckpointWriter>> writers;
    for (unsigned rank = 0; rank < options.world; ++rank) {
      ranks.push_back(std::make_unique<HeldStates>(plan, rank));
      fill(plan, ranks.back()->memory);
      writers.push_back(CheckpointWriter::create(plan, ranks.back()->memory,
                                                 *folder_of, std::nullopt)
                            .value());
      ASSERT_TRUE(writers.back()->save(run, goOn).ok());
    }
    for (auto &writer : writers) {
      ASSERT_TRUE(writer->wait(goOn).ok());
    }
    checkpoint = Checkpoint::open(path("step-00000001")).value();
  }

  absl::Status fits(const plan::Plan &plan, bool convert = false) {
    auto resume = Resume::open(plan, *checkpoint, convert);
    said = resume.ok() ? (*resume)->notes() : std::vector<std::string>();
    return resume.status();
  }

  /// Every element of every rank is what was saved. `own`: ranks have their
  /// own statistics, else rank 0's.
  void check(const StatePlanOptions &options, bool own, bool convert = false) {
    plan::Plan plan = statePlan(options);
    auto resume = Resume::open(plan, *checkpoint, convert).value();
    said = resume->notes();
    warned = resume->warnings();
    for (unsigned rank = 0; rank < options.world; ++rank) {
      HeldStates held(plan, rank);
      ASSERT_TRUE(resume->initialize(held.memory).ok());
      uint64_t filled = 0;
      forEachPart(plan, held.memory, [&](const ParameterPart &part) {
        for (uint64_t i = 0; i < part.count; ++i, ++filled) {
          float value = valueOf(part, part.first + i, own ? rank : 0);
          uint32_t expected = 0, found = 0;
          convertElements(plan::F32, reinterpret_cast<std::byte *>(&value),
                          part.state->type(),
                          reinterpret_cast<std::byte *>(&expected), 1);
          uint64_t element = elementSize(part.state->type());
          ASSERT_TRUE(part.bytes.part(i * element, element).read(&found).ok());
          ASSERT_EQ(found, expected) << part.parameter->name() << " " << i;
        }
      });
      EXPECT_GT(filled, 0u);
      // All else, padding, is zero.
      forEachPart(plan, held.memory, [&](const ParameterPart &part) {
        ASSERT_TRUE(part.bytes.fill().ok());
      });
      EXPECT_EQ(std::count(held.bytes.begin(), held.bytes.end(), std::byte(0)),
                std::ptrdiff_t(held.bytes.size()));
    }
  }

  std::unique_ptr<Checkpoint> checkpoint;
  std::vector<std::string> said, warned;
};

TEST_F(ResumeTest, AnyLayoutReadsAnyOther) {
  for (StatePlanOptions saved :
       {StatePlanOptions{1, false}, {2, true}, {3, false}, {4, true}}) {
    save(saved);
    for (StatePlanOptions read :
         {StatePlanOptions{1, false}, {2, false}, {3, true}, {4, true}}) {
      check(read, read.world == saved.world);
      bool told = false;
      for (const std::string &warning : warned) {
        told |= warning.find("running statistics") != std::string::npos;
      }
      EXPECT_EQ(told, read.world != saved.world);
    }
    checkpoint.reset();
    std::filesystem::remove_all(path("step-00000001"));
  }
}

/// Pieces of several checksums, from the middle of which ranks read.
TEST_F(ResumeTest, LargeTensorsAreReadInBlocks) {
  uint64_t elements = 5 * kChecksumBytes / 4 / 2 + 77;
  save({1, false, plan::F32, elements});
  uint64_t most = 0;
  for (const CheckpointTensor &tensor : checkpoint->index().tensors) {
    for (const CheckpointPiece &piece : tensor.pieces) {
      most = std::max<uint64_t>(most, piece.checksums.size());
    }
  }
  EXPECT_EQ(most, 2u);
  check({3, true, plan::F32, elements}, false);
  EXPECT_TRUE(verifyCheckpoint(path("step-00000001")).ok());
}

TEST_F(ResumeTest, AMasterAloneIsSaved) {
  save({2, true, plan::BF16});
  for (const CheckpointTensor &tensor : checkpoint->index().tensors) {
    EXPECT_TRUE(tensor.role != "param" || tensor.name == "mean");
  }
  check({4, true, plan::BF16}, false);
  EXPECT_TRUE(said.empty() && warned.size() == 1) << warned.size();
}

TEST_F(ResumeTest, AnotherPrecisionOnlyByOption) {
  save({2, true});
  absl::Status status = fits(statePlan({2, true, plan::BF16}));
  expectSays(status,
             "of another precision: 'w' (exp_avg) is F32, "
             "expected BF16 with masters in F32",
             "--convert-precision");
  check({2, true, plan::BF16}, true, /*convert=*/true);
  ASSERT_EQ(said.size(), 1u);
  expectSays(said[0], "values are converted");
}

TEST_F(ResumeTest, AllThatDiffersIsListed) {
  save({1, false});
  plan::Plan plan = statePlan({1, false});
  plan.mutable_units(0)->mutable_parameters(0)->set_name("v");
  plan.mutable_units(0)->mutable_parameters(1)->set_shape(0, 150);
  plan.mutable_units(0)->mutable_parameters(1)->add_shape(2);
  expectSays(fits(plan), "it lacks: 'v' (param), 'v' (exp_avg);",
             "the plan does not have: 'w' (param), 'w' (exp_avg);",
             "of another shape: 'b' (param) is [300], expected [150, 2]");
  plan = statePlan({1, false});
  plan.mutable_groups(0)->set_kind("lion");
  expectSays(fits(plan), "--optimizer adamw");
  plan = statePlan({1, false});
  plan.mutable_groups(0)->set_learning_rate(0.5);
  plan.set_clip_norm(2);
  EXPECT_TRUE(fits(plan).ok());
  ASSERT_EQ(said.size(), 1u);
  expectSays(said[0], "groups/0/learning_rate is 0.5, was unset",
             "clip_norm is 2.0, was 0.0");
}

TEST_F(ResumeTest, DamageIsFoundWhereItIsReadAlone) {
  save({2, true});
  const CheckpointTensor *tensor =
      checkpoint->find("w", false, "exp_avg", std::nullopt);
  ASSERT_NE(tensor, nullptr);
  const CheckpointPiece &piece = tensor->pieces.back();
  std::string file =
      path("step-00000001/" + checkpoint->index().files[piece.file].name);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(std::streamoff(piece.offset + 5));
  stream.put('\x7f');
  stream.close();
  auto ignore = [](uint64_t, uint64_t, const std::byte *) {
    return absl::OkStatus();
  };
  EXPECT_TRUE(checkpoint->read(*tensor, 0, piece.first, ignore).ok());
  expectSays(checkpoint->read(*tensor, piece.first + 1, 1, ignore),
             "'w' (exp_avg) is damaged", file);
}

} // namespace
