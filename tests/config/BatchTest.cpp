//===- BatchTest.cpp - the four numbers of a batch ------------------------===//

#include "tests/config/Read.h"
#include "tests/support/Says.h"

namespace zerograph::config {
namespace {

/// "train micro accumulate ranks" of what is given, each 0 where it is not.
std::string reconciled(int64_t train, int64_t micro, int64_t accumulate,
                       int64_t ranks) {
  auto number = [](int64_t n) {
    return n == 0 ? std::nullopt : std::optional<int64_t>(n);
  };
  absl::StatusOr<Batch> batch = reconcile(
      {number(train), number(micro), number(accumulate), number(ranks)});
  if (!batch.ok()) {
    return std::string(batch.status().message());
  }
  return absl::StrCat(batch->train.value_or(0), " ", batch->micro.value_or(0),
                      " ", batch->accumulate.value_or(0), " ",
                      batch->ranks.value_or(0));
}

TEST(Batch, IsCompletedAsByDeepSpeed) {
  EXPECT_EQ(reconciled(32, 4, 2, 4), "32 4 2 4");
  EXPECT_EQ(reconciled(32, 4, 0, 4), "32 4 2 4");
  EXPECT_EQ(reconciled(32, 0, 2, 4), "32 4 2 4");
  EXPECT_EQ(reconciled(0, 4, 2, 4), "32 4 2 4");
  EXPECT_EQ(reconciled(32, 0, 0, 4), "32 8 1 4");
  EXPECT_EQ(reconciled(0, 4, 0, 4), "16 4 1 4");
  EXPECT_EQ(reconciled(32, 4, 2, 0), "32 4 2 4"); // nobody says how many ranks
  EXPECT_EQ(reconciled(32, 4, 0, 0), "32 4 8 1");
  EXPECT_EQ(reconciled(0, 0, 2, 4), "0 0 2 4"); // the model may say the rest
}

TEST(Batch, ThatDoesNotFitShowsTheFourNumbers) {
  EXPECT_EQ(reconciled(32, 4, 2, 3),
            "train_batch_size 32 is not train_micro_batch_size_per_gpu 4 x "
            "gradient_accumulation_steps 2 x ranks 3 = 24");
  // DeepSpeed rounds down, and then says that 30 is not 24.
  EXPECT_EQ(reconciled(30, 4, 0, 2),
            "train_batch_size 30 is not train_micro_batch_size_per_gpu 4 x "
            "gradient_accumulation_steps ? x ranks 2");
  expectSays(reconciled(7, 0, 0, 2), "train_batch_size 7 is not");
  expectSays(reconciled(-1, 0, 0, 0), "-1");
  expectSays(reconciled(int64_t(1) << 62, 0, 0, 0), "a batch of");
}

TEST(Batch, OfTheCommandLineComesFirst) {
  const char *kFile = R"({"train_micro_batch_size_per_gpu": 4,
                          "gradient_accumulation_steps": 2})";
  Known known;
  known.ranks = 3;
  known.ranks_from = "--ranks";
  known.micro_batch = 8;
  Config config = readGood(kFile, known);
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(*config.batch.train, 48);
  EXPECT_EQ(valueOf(config, "ranks"), "");
  EXPECT_EQ(valueOf(config, "micro-batch"), "");
  EXPECT_EQ(valueOf(config, "accumulate"), "2");
  expectSays(linesOf(config.notes), "--micro-batch 8 wins over "
                                    "'train_micro_batch_size_per_gpu' 4");
}

TEST(Batch, OfAStepOnTheCommandLineComesFirst) {
  Known known;
  known.ranks = 2;
  known.global_batch = 48;
  Config config = readGood(R"({"train_micro_batch_size_per_gpu": 4,
                               "gradient_accumulation_steps": 2})",
                           known);
  EXPECT_EQ(valueOf(config, "micro-batch"), "4");
  EXPECT_EQ(valueOf(config, "accumulate"), "6");
  EXPECT_EQ(valueOf(config, "global-batch"), "");
}

TEST(Batch, OfAStepStaysWhereAMicroBatchIsChosen) {
  Known known;
  known.ranks = 2;
  known.options["micro-batch"] = "auto";
  Config config = readGood(R"({"train_batch_size": 32,
                               "train_micro_batch_size_per_gpu": 3,
                               "gradient_accumulation_steps": "auto"})",
                           known);
  EXPECT_EQ(valueOf(config, "global-batch"), "32");
  EXPECT_EQ(valueOf(config, "micro-batch"), "");
  EXPECT_EQ(valueOf(config, "accumulate"), "");
  config = readGood(R"({"train_micro_batch_size_per_gpu": 4,
                        "gradient_accumulation_steps": 5})",
                    known);
  EXPECT_EQ(valueOf(config, "global-batch"), "");
  EXPECT_EQ(valueOf(config, "micro-batch"), "");
  EXPECT_EQ(valueOf(config, "accumulate"), "5");
  expectSays(linesOf(config.notes), "--micro-batch auto wins over "
                                    "'train_micro_batch_size_per_gpu' 4");
  known.global_batch = 100; // of which 8 is no divisor
  config = readGood(R"({"train_micro_batch_size_per_gpu": 8,
                        "gradient_accumulation_steps": 5})",
                    known);
  EXPECT_EQ(valueOf(config, "accumulate"), "");
}

TEST(Batch, LeftOpenIsShownAsItBecomes) {
  Known known;
  known.ranks = 2;
  Config config = readGood(R"({"train_batch_size": "auto",
      "train_micro_batch_size_per_gpu": 4,
      "gradient_accumulation_steps": "auto"})",
                           known);
  EXPECT_EQ(meaningOf(config, "train_batch_size").text,
            "auto; 4 x 1 x 2 ranks");
  EXPECT_EQ(meaningOf(config, "gradient_accumulation_steps").text, "auto");
  EXPECT_EQ(valueOf(config, "accumulate"), "1");
  // Four ranks follow, and that is said.
  config =
      readGood(R"({"train_batch_size": 32, "gradient_accumulation_steps": 2,
                        "train_micro_batch_size_per_gpu": 4})");
  EXPECT_EQ(valueOf(config, "ranks"), "4");
  expectSays(linesOf(config.notes), "makes --ranks 4");
  // The model's own.
  known = Known();
  known.model_batch = 2;
  config = readGood(R"({"train_batch_size": 8})", known);
  EXPECT_EQ(valueOf(config, "accumulate"), "4");
  EXPECT_EQ(valueOf(config, "micro-batch"), "");
  config = readGood(R"({"train_micro_batch_size_per_gpu": 8})", known);
  expectSays(linesOf(config.problems), "the model is for 2 samples");
}

} // namespace
} // namespace zerograph::config
