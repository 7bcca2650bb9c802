//===- CommandLineTest.cpp - what is given besides a file wins ------------===//

#include "tests/config/Read.h"
#include "tests/support/Says.h"

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"

namespace zerograph::config {
namespace {

using testing::HasSubstr;
using testing::Not;

using Options = std::map<std::string, std::string>;

/// Reads a file beside which a command line gives options.
Config readWith(const Options &options, absl::string_view text) {
  Known known;
  known.options = options;
  Config config = readGood(text, known);
  EXPECT_EQ(linesOf(config.problems), "") << std::string(text);
  return config;
}

constexpr char kScaled[] =
    R"({"fp16": {"enabled": true, "loss_scale": %, "loss_scale_window": 1000,
        "initial_scale_power": 16, "hysteresis": 2, "min_loss_scale": 1}})";

TEST(CommandLine, FixesTheLossScale) {
  std::string file = absl::StrReplaceAll(kScaled, {{"%", "0"}});
  Config config = readWith({{"loss-scale", "128"}}, file);
  for (const char *key : {"loss_scale_window", "initial_scale_power",
                          "hysteresis", "min_loss_scale"}) {
    TranslatedKey meaning = meaningOf(config, std::string("fp16.") + key);
    EXPECT_EQ(meaning.does, KeySupport::NoEffect) << key;
    EXPECT_EQ(meaning.text, "--loss-scale 128 never changes") << key;
  }
  EXPECT_EQ(valueOf(config, "initial-scale-power"), "");
}

TEST(CommandLine, MakesTheLossScaleDynamic) {
  std::string file = absl::StrReplaceAll(kScaled, {{"%", "128"}});
  EXPECT_EQ(valueOf(readWith({}, file), "loss-scale-window"), "");
  EXPECT_EQ(valueOf(readWith({{"loss-scale", "0"}}, file), "loss-scale-window"),
            "1000");
}

TEST(CommandLine, ComesBeforePyTorchsGradScaler) {
  const char *kFile = "distributed_type: MULTI_GPU\nmixed_precision: fp16\n";
  expectSays(linesOf(readWith({}, kFile).notes), "doubled after");
  Config config = readWith({{"loss-scale", "128"}}, kFile);
  EXPECT_EQ(valueOf(config, "loss-scale-window"), "");
  EXPECT_EQ(valueOf(config, "loss-scale-hysteresis"), "");
  EXPECT_THAT(linesOf(config.notes), Not(HasSubstr("GradScaler")));
  config = readWith({{"loss-scale-window", "10"}}, kFile);
  EXPECT_EQ(valueOf(config, "loss-scale-hysteresis"), "1");
  EXPECT_THAT(linesOf(config.notes), Not(HasSubstr("2000")));
}

TEST(CommandLine, OffloadsTheOptimizerOfAFileThatOffloadsParameters) {
  const char *kFile = R"({"zero_optimization": {"stage": 3,
                          "offload_param": {"device": "cpu"}}})";
  Config config = readWith({{"offload-optimizer", "cpu"}}, kFile);
  EXPECT_EQ(valueOf(config, "offload-param"), "cpu");
  readWith({{"offload-param", "none"}}, kFile);
  Known known;
  known.options["offload-optimizer"] = "none";
  expectSays(linesOf(readGood(kFile, known).problems),
             "not built without `offload_optimizer`");
}

TEST(CommandLine, OffloadsToFilesWhereTheFileDoesNot) {
  for (const char *device :
       {R"("device": "cpu", )", R"("device": "none", )", ""}) {
    std::string file = absl::StrCat(
        R"({"zero_optimization": {"stage": 1, "offload_optimizer": {)", device,
        R"("nvme_path": "/a", "ratio": 0.3}}, "aio": {"queue_depth": 32}})");
    Config config = readWith({{"offload-optimizer", "nvme"}}, file);
    EXPECT_EQ(valueOf(config, "nvme-path"), "/a") << file;
    EXPECT_EQ(valueOf(config, "nvme-queue-depth"), "32") << file;
    EXPECT_EQ(valueOf(config, "offload-ratio"), "0.3") << file;
    config = readWith({{"offload-optimizer", "none"}}, file);
    EXPECT_EQ(valueOf(config, "nvme-path"), "") << file;
    EXPECT_EQ(valueOf(config, "offload-ratio"), "") << file;
    EXPECT_EQ(
        meaningOf(config, "zero_optimization.offload_optimizer.ratio").text,
        "--offload-optimizer none was given");
  }
}

/// It would choose nothing if the file's places stayed.
TEST(CommandLine, ChoosesWhatIsOffloaded) {
  const char *kFile = R"({"zero_optimization": {"stage": 3,
      "offload_optimizer": {"device": "cpu", "ratio": 0.3, "nvme_path": "/a"},
      "offload_param": {"device": "auto"}}, "aio": {"queue_depth": 32}})";
  Options options = {{"offload", "auto"}, {"memory", "device=1GiB"}};
  Config config = readWith(options, kFile);
  for (const char *option :
       {"offload-optimizer", "offload-param", "offload-ratio", "nvme-path",
        "nvme-queue-depth"}) {
    EXPECT_EQ(valueOf(config, option), "") << option;
  }
  for (const char *key : {"offload_optimizer.device", "offload_param.device",
                          "offload_optimizer.ratio"}) {
    TranslatedKey meaning =
        meaningOf(config, absl::StrCat("zero_optimization.", key));
    EXPECT_EQ(meaning.does, KeySupport::NoEffect) << key;
    EXPECT_EQ(meaning.text, "the command line's --offload auto wins") << key;
    EXPECT_EQ(absl::StrContains(linesOf(config.notes),
                                absl::StrCat("--offload auto of the command "
                                             "line wins over "
                                             "'zero_optimization.",
                                             key)),
              meaning.value != "\"auto\"")
        << key;
  }
  // With a limit of the host it may choose files, which lie where the file
  // says.
  options["memory"] = "device=1GiB,host=1GiB";
  config = readWith(options, kFile);
  EXPECT_EQ(valueOf(config, "nvme-path"), "/a");
  EXPECT_EQ(valueOf(config, "nvme-queue-depth"), "32");
  EXPECT_EQ(valueOf(config, "offload-optimizer"), "");
  config = readWith({{"offload", "none"}}, kFile);
  EXPECT_EQ(valueOf(config, "offload-optimizer"), "cpu");
}

/// The notes leave out what would be done without these options.
TEST(CommandLine, LeavesNoNoteThatIsFalse) {
  const char *kHalf = R"({"bf16": {"enabled": true}})";
  std::string notes = linesOf(readWith({}, kHalf).notes);
  for (auto [option, value, said] :
       {std::tuple("clip-norm", "2", "clipped at 1.0"),
        std::tuple("skip-nonfinite", "true", "updates nothing"),
        std::tuple("reduce-precision", "bf16", "in float32")}) {
    expectSays(notes, said);
    Config config = readWith({{option, value}}, kHalf);
    EXPECT_THAT(linesOf(config.notes), Not(HasSubstr(said)));
    EXPECT_EQ(valueOf(config, option), "");
  }
  expectSays(notes, "'optimizer' is missing");
  EXPECT_THAT(
      linesOf(readWith({{"optimizer", "sgd"}, {"lr", "1"}}, kHalf).notes),
      Not(HasSubstr("'optimizer' is missing")));
  const char *kDecay = R"({"optimizer": {"type": "AdamW"},
      "scheduler": {"type": "WarmupDecayLR", "params": {}}})";
  notes = linesOf(readWith({}, kDecay).notes);
  for (auto [option, value, said] :
       {std::tuple("lr", "1", "rises to 0.001"),
        std::tuple("warmup-type", "linear", "with the logarithm")}) {
    expectSays(notes, said);
    EXPECT_THAT(linesOf(readWith({{option, value}}, kDecay).notes),
                Not(HasSubstr(said)));
  }
  EXPECT_THAT(
      meaningOf(readWith({{"weight-decay", "1"}}, kDecay), "optimizer.type")
          .text,
      Not(HasSubstr("is missing")));
}

TEST(CommandLine, DecidesWhetherBetasAreCycled) {
  const char *kFile = R"({"optimizer": {"type": "AdamW"}, "scheduler":
      {"type": "OneCycle", "params": {"cycle_min_lr": 0.1,
       "cycle_max_lr": 1}}})";
  EXPECT_EQ(valueOf(readWith({}, kFile), "betas"), "0.9,0.99");
  Config config = readWith({{"cycle-max-momentum", "0"}}, kFile);
  EXPECT_EQ(valueOf(config, "betas"), "");
  EXPECT_EQ(valueOf(config, "cycle-min-momentum"), "");
  EXPECT_EQ(meaningOf(config, "scheduler.type").does, KeySupport::Applied);
  config = readWith({{"cycle-max-momentum", "0.95"}}, kFile);
  EXPECT_EQ(valueOf(config, "betas"), "0.95,0.99");
  EXPECT_THAT(linesOf(config.notes), Not(HasSubstr("from 0.9 ")));
}

TEST(CommandLine, NamesTheFolderThatAutoDoesNot) {
  const char *kFile = R"({"zero_optimization": {"stage": 1,
      "offload_optimizer": {"device": "nvme", "nvme_path": "auto"}}})";
  Config config = readWith({}, kFile);
  TranslatedKey meaning =
      meaningOf(config, "zero_optimization.offload_optimizer.nvme_path");
  EXPECT_EQ(meaning.does, KeySupport::NoEffect);
  expectSays(meaning.text, "give --nvme-path");
  EXPECT_EQ(valueOf(config, "nvme-path"), "");
}

/// Two keys that disagree do so where nobody else decides.
TEST(CommandLine, DecidesBetweenTwoKeys) {
  const char *kPaths = R"({"zero_optimization": {"stage": 3,
      "offload_optimizer": {"device": "nvme", "nvme_path": "/a"},
      "offload_param": {"device": "nvme", "nvme_path": "/b"}}})";
  for (const char *path : {"/a", "/b", "/c"}) {
    Config config = readWith({{"nvme-path", path}}, kPaths);
    EXPECT_EQ(absl::StrContains(linesOf(config.notes),
                                "wins over 'zero_optimization.offload_param"),
              path[1] != 'b')
        << linesOf(config.notes);
  }
  const char *kMasters =
      R"({"bf16": {"enabled": true, "bf16_optimizer_states": true}})";
  readWith({{"master-precision", "fp32"}}, kMasters);
}

} // namespace
} // namespace zerograph::config
