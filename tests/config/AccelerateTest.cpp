//===- AccelerateTest.cpp - Accelerate's YAML, and a file that it names ---===//

#include "tests/config/Read.h"
#include "tests/support/Folder.h"
#include "tests/support/Says.h"

#include <filesystem>
#include <fstream>

namespace zerograph::config {
namespace {

using ::testing::HasSubstr;

/// A file of Accelerate, and the DeepSpeed file that it names.
class TwoFiles : public zerograph::testing::FolderCase {
protected:
  absl::StatusOr<Config> readBoth(const char *deepspeed, const char *yaml) {
    std::ofstream(path("ds.json")) << deepspeed;
    std::ofstream(path("a.yaml"))
        << "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
        << "  deepspeed_config_file: ds.json\n"
        << yaml;
    return read(path("a.yaml"), Known());
  }
};

TEST_F(TwoFiles, ThatDisagreeAreAnError) {
  auto config = readBoth(R"({"zero_optimization": {"stage": 3},
                             "gradient_clipping": 1.0})",
                         "  zero_stage: 2\n  gradient_clipping: 1\n");
  ASSERT_TRUE(config.ok());
  ASSERT_EQ(config->problems.size(), 1u) << linesOf(config->problems);
  EXPECT_THAT(config->problems[0],
              ::testing::AllOf(HasSubstr("'zero_optimization.stage' ("),
                               HasSubstr("is 3, but"),
                               HasSubstr("'deepspeed_config.zero_stage' ("),
                               HasSubstr("a.yaml, line 4) is 2")));
  config =
      readBoth(R"({"bf16": {"enabled": true}})", "mixed_precision: 'no'\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->problems.size(), 1u);
}

// Settings that are missing are as by PyTorch, which neither clips nor skips,
// and whose scaler has other numbers.
TEST(Accelerate, WithoutDeepSpeedHasNoneOfItsDefaults) {
  for (const char *type : {"bf16", "fp16", "'no'"}) {
    std::string text =
        absl::StrCat("distributed_type: MULTI_GPU\nnum_processes: 2\n"
                     "mixed_precision: ",
                     type, "\n");
    Config config = readGood(text);
    bool scaled = text.find("fp16") != std::string::npos;
    EXPECT_EQ(valueOf(config, "clip-norm"), "") << type;
    EXPECT_EQ(valueOf(config, "skip-nonfinite"), "") << type;
    EXPECT_EQ(valueOf(config, "loss-scale-window"), scaled ? "2000" : "");
    EXPECT_EQ(valueOf(config, "loss-scale-hysteresis"), scaled ? "1" : "");
  }
  Config config = readGood("distributed_type: DEEPSPEED\n"
                           "mixed_precision: bf16\n");
  EXPECT_EQ(valueOf(config, "clip-norm"), "1");
  EXPECT_EQ(valueOf(config, "skip-nonfinite"), "true");
}

TEST(Accelerate, HasThePrecisionOfTheCommandLine) {
  Known known;
  known.options["precision"] = "fp16";
  Config config = readGood("distributed_type: DEEPSPEED\n"
                           "mixed_precision: bf16\n",
                           known);
  EXPECT_EQ(valueOf(config, "skip-nonfinite"), "");
  expectSays(linesOf(config.notes), "--reduce-precision fp16");
  config =
      readGood("distributed_type: MULTI_GPU\nmixed_precision: bf16\n", known);
  EXPECT_EQ(valueOf(config, "loss-scale-window"), "2000");
}

TEST_F(TwoFiles, FillInWhatTheOtherLeavesOpen) {
  auto config =
      readBoth(
          R"({"bf16": {"enabled": "auto"}, "gradient_accumulation_steps": "auto"})",
          "  gradient_accumulation_steps: 4\nmixed_precision: bf16\n")
          .value();
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "precision"), "bf16");
  EXPECT_EQ(valueOf(config, "accumulate"), "4");
  EXPECT_EQ(valueOf(config, "zero"), ""); // 2 only where no file is named
}

TEST_F(TwoFiles, MustBothBeThere) {
  std::ofstream(path("a.yaml"))
      << "distributed_type: DEEPSPEED\ndeepspeed_config:\n"
         "  deepspeed_config_file: gone.json\n";
  absl::StatusOr<Config> config = read(path("a.yaml"), Known());
  expectSays(config.status(), "gone.json");
  EXPECT_FALSE(read(folder, Known()).ok());
  EXPECT_FALSE(read(path("none"), Known()).ok());
  EXPECT_FALSE(read("/dev/zero", Known()).ok());
}

TEST(Accelerate, HasAStageWhereItSaysNone) {
  Config config = readGood("distributed_type: DEEPSPEED\n"
                           "deepspeed_config:\n  zero3_init_flag: false\n");
  EXPECT_EQ(valueOf(config, "zero"), "2");
  expectSays(meaningOf(config, "deepspeed_config.zero_stage").text,
             "as in Accelerate");
}

TEST(Accelerate, IsOfDeepSpeedOrPlain) {
  Config config = readGood("distributed_type: MULTI_GPU\n"
                           "deepspeed_config:\n  zero_stage: 3\n");
  expectSays(linesOf(config.problems), "only with distributed_type");
  config = readGood("distributed_type: 'NO'\nnum_processes: 1\n");
  EXPECT_EQ(linesOf(config.problems), "");
  for (const char *type : {"FSDP", "XLA", "MEGATRON_LM"}) {
    config = readGood(absl::StrCat("distributed_type: ", type, "\n"));
    EXPECT_EQ(config.problems.size(), 1u) << type;
  }
  config = readGood("mixed_precision: fp8\n");
  expectSays(linesOf(config.problems), "there are no, bf16");
  config = readGood("compute_environment: AMAZON_SAGEMAKER\n");
  EXPECT_EQ(config.problems.size(), 1u);
}

TEST(Accelerate, SaysHowManyRanks) {
  Config config = readGood("num_processes: 4\ndistributed_type: MULTI_CPU\n");
  EXPECT_EQ(valueOf(config, "ranks"), "4");
  Known known;
  known.ranks = 2;
  known.ranks_from = "--ranks";
  config = readGood("num_processes: 4\ndistributed_type: MULTI_CPU\n", known);
  EXPECT_EQ(valueOf(config, "ranks"), "");
  EXPECT_THAT(config.notes, ::testing::Contains("--ranks 2 wins over "
                                                "'num_processes' 4"));
}

} // namespace
} // namespace zerograph::config
