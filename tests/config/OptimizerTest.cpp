//===- OptimizerTest.cpp - DeepSpeed's optimizers and schedules -----------===//

#include "tests/config/Read.h"
#include "tests/support/Says.h"

namespace zerograph::config {
namespace {

using testing::HasSubstr;

std::string optimizer(const char *text) {
  Config config = readGood(absl::StrCat("{optimizer: ", text, "}"));
  EXPECT_EQ(linesOf(config.problems), "") << text;
  return absl::StrCat(valueOf(config, "optimizer"), " ",
                      valueOf(config, "weight-decay"));
}

TEST(Optimizer, AdamMeansAdamW) {
  EXPECT_EQ(optimizer("{type: Adam, params: {}}"), "adamw 0");
  EXPECT_EQ(optimizer("{type: Adam}"), "adamw 0");
  EXPECT_EQ(optimizer("{type: AdamW}"), "adamw 0"); // not PyTorch's 0.01
  EXPECT_EQ(optimizer("{type: Adam, params: {adam_w_mode: false}}"), "adam ");
  EXPECT_EQ(optimizer("{type: AdamW, params: {adam_w_mode: false}}"),
            "adamw 0");
  EXPECT_EQ(optimizer("{type: AdamW, params: {torch_adam: true}}"), "adamw ");
  EXPECT_EQ(optimizer("{type: Adam, params: {weight_decay: 0.1}}"),
            "adamw 0.1");
  EXPECT_EQ(optimizer("{type: AdamW, params: {weight_decay: auto}}"), "adamw ");
  EXPECT_EQ(optimizer("{type: sgd}"), "sgd ");
  EXPECT_EQ(optimizer("{type: Lion}"), "lion 0");
  EXPECT_EQ(optimizer("{type: Lamb}"), "lamb ");
  Config config = readGood("{optimizer: {type: OneBitAdam}}");
  expectSays(linesOf(config.problems), "not compressed");
  config = readGood("{optimizer: {type: Adam, params: {max_grad_norm: 1.0}}}");
  expectSays(linesOf(config.problems), "write `gradient_clipping`");
  config = readGood("{optimizer: {type: Adagrad}}");
  EXPECT_EQ(valueOf(config, "lr"), "0.01");
  EXPECT_EQ(valueOf(config, "eps"), "1e-10");
  expectSays(linesOf(readGood("{}").notes),
             "'optimizer' is missing: --optimizer adamw");
}

TEST(Optimizer, Lamb) {
  Config config =
      readGood("{optimizer: {type: Lamb, params: {lr: 2e-3, max_coeff: 3, "
               "min_coeff: 0.1, weight_decay: 0.01, eps_inside_sqrt: false}}}");
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "optimizer"), "lamb");
  EXPECT_EQ(valueOf(config, "lamb-max-coeff"), "3");
  EXPECT_EQ(valueOf(config, "lamb-min-coeff"), "0.1");
  EXPECT_EQ(valueOf(config, "weight-decay"), "0.01");
  for (const char *other :
       {"eps_inside_sqrt: true", "bias_correction: false", "amsgrad: true"}) {
    config = readGood(
        absl::StrCat("{optimizer: {type: Lamb, params: {", other, "}}}"));
    EXPECT_THAT(linesOf(config.problems), HasSubstr("not built")) << other;
  }
}

TEST(Optimizer, TheRateOfASchedule) {
  const char *kFile = "{optimizer: {type: Adam, params: {lr: 0.1}}, "
                      "scheduler: {type: ";
  Config config = readGood(absl::StrCat(
      kFile, "WarmupLR, params: {warmup_max_lr: 0.2, warmup_num_steps: 7}}}"));
  EXPECT_EQ(valueOf(config, "lr"), "0.2");
  EXPECT_EQ(valueOf(config, "schedule"), "warmup");
  EXPECT_EQ(valueOf(config, "warmup-steps"), "7");
  expectSays(meaningOf(config, "optimizer.params.lr").text, "comes before it");
  expectSays(linesOf(config.notes), "the logarithm");
  config = readGood(absl::StrCat(kFile, "WarmupLR}}"));
  EXPECT_EQ(valueOf(config, "lr"), "0.1");
  config = readGood(absl::StrCat(
      kFile, "WarmupLR, params: {warmup_max_lr: auto, warmup_type: linear}}}"));
  EXPECT_EQ(valueOf(config, "lr"), "0.1");
  EXPECT_EQ(valueOf(config, "warmup-type"), "linear");
  EXPECT_THAT(linesOf(config.notes), testing::Not(HasSubstr("logarithm")));
  config = readGood(absl::StrCat(kFile, "WarmupDecayLR}}"));
  EXPECT_EQ(valueOf(config, "lr"), "0.001");
  EXPECT_EQ(valueOf(config, "schedule"), "warmup-decay");
  config = readGood(absl::StrCat(kFile, "LRRangeTest}}"));
  expectSays(linesOf(config.problems), "are not built yet");
}

std::string cycle(const char *kind, const char *params) {
  return absl::StrCat("{optimizer: {type: ", kind,
                      "}, scheduler: {type: OneCycle, params: {cycle_max_lr: 1",
                      params, "}}}");
}

/// "BETAS from LEAST to MOST" that a file makes; fails where it has a problem.
std::string cycled(const std::string &text) {
  Config config = readGood(text);
  EXPECT_EQ(linesOf(config.problems), "") << text;
  EXPECT_EQ(valueOf(config, "lr"), "1");
  return absl::StrCat(valueOf(config, "betas"), " from ",
                      valueOf(config, "cycle-min-momentum"), " to ",
                      valueOf(config, "cycle-max-momentum"));
}

TEST(Optimizer, ACycleChangesTheBetasToo) {
  EXPECT_EQ(cycled(cycle("Adam", "")), "0.9,0.99 from 0.8 to 0.9");
  EXPECT_EQ(cycled(cycle("AdamW", ", cycle_momentum: true")),
            "0.9,0.99 from 0.8 to 0.9");
  EXPECT_EQ(cycled(cycle("Adam", ", cycle_min_mom: 0.85, cycle_max_mom: 0.95")),
            "0.95,0.99 from 0.85 to 0.95");
  EXPECT_EQ(cycled(cycle("Adam", ", cycle_momentum: false, cycle_min_mom: 0")),
            " from  to ");
  for (const char *kind : {"SGD", "Adagrad"}) {
    EXPECT_EQ(cycled(cycle(kind, ", cycle_max_mom: 0.95")), " from  to ");
  }
  expectSays(linesOf(readGood(cycle("Adam", "")).notes),
             "makes the second 0.99");
  expectSays(linesOf(readGood(cycle("Lion", "")).problems),
             "the first beta of lion as well");
  Config config = readGood(
      "{optimizer: {type: Adam, params: {betas: [0.5, 0.6]}}, scheduler: "
      "{type: OneCycle, params: {cycle_min_lr: 0}}}");
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "betas"), "0.9,0.99");
  expectSays(meaningOf(config, "optimizer.params.betas").text,
             "OneCycle changes both");
}

TEST(Optimizer, ABetaThatGrowsIsRefused) {
  const char *kGrows = ", decay_mom_rate: 0.1, decay_step_size: 10";
  expectSays(linesOf(readGood(cycle("Adam", kGrows)).problems), "beyond 1");
  // DeepSpeed too looks at it only then.
  EXPECT_EQ(cycled(cycle("SGD", kGrows)), " from  to ");
  EXPECT_EQ(cycled(cycle("Adam", ", decay_mom_rate: 0.1")),
            "0.9,0.99 from 0.8 to 0.9");
}

TEST(Optimizer, OfTheCommandLineReplacesTheFiles) {
  Known known;
  known.options["optimizer"] = "sgd";
  Config config = readGood("{optimizer: {type: AdamW, params: {lr: 0.1, betas: "
                           "[0.5, 0.6], eps: 1, weight_decay: auto, "
                           "amsgrad: true}}}",
                           known);
  EXPECT_EQ(linesOf(config.problems), "");
  expectSays(linesOf(config.notes),
             "'optimizer.type' (c, line 1) has no effect: "
             "--optimizer sgd was given");
  EXPECT_EQ(valueOf(config, "optimizer"), "");
  EXPECT_EQ(valueOf(config, "weight-decay"), "");
  EXPECT_EQ(valueOf(config, "lr"), "0.1");
  for (const char *param : {"betas", "eps", "amsgrad"}) {
    TranslatedKey meaning =
        meaningOf(config, std::string("optimizer.params.") + param);
    EXPECT_EQ(meaning.does, KeySupport::NoEffect) << param;
    EXPECT_EQ(meaning.text, "--optimizer sgd was given") << param;
  }
  expectSays(meaningOf(config, "optimizer.params.weight_decay").text,
             "auto: 0,");
  config = readGood("{optimizer: {type: OneBitAdam}}", known);
  EXPECT_EQ(linesOf(config.problems), "");
  known.options["optimizer"] = "adamw"; // which the file means as well
  config = readGood("{optimizer: {type: Adam, params: {eps: 1}}}", known);
  EXPECT_EQ(valueOf(config, "eps"), "1");
  EXPECT_EQ(valueOf(config, "weight-decay"), "0");
}

TEST(Optimizer, AScheduleOfTheCommandLineReplacesTheFiles) {
  const char *kFile =
      "{optimizer: {type: AdamW, params: {lr: 0.1}}, scheduler: "
      "{type: %s, params: {warmup_max_lr: 0.2, "
      "warmup_type: linear}}}";
  Known known;
  known.options["schedule"] = "cosine";
  for (const char *type : {"WarmupLR", "LRRangeTest"}) {
    std::string text = kFile;
    Config config = readGood(text.replace(text.find("%s"), 2, type), known);
    EXPECT_EQ(linesOf(config.problems), "");
    EXPECT_EQ(valueOf(config, "schedule"), "");
    EXPECT_EQ(valueOf(config, "lr"), "0.1");
    EXPECT_EQ(meaningOf(config, "scheduler.params.warmup_type").text,
              "--schedule cosine was given");
    expectSays(linesOf(config.notes), "'scheduler.type'");
  }
  known.options["schedule"] = "warmup"; // which the file means as well
  std::string text = kFile;
  Config config = readGood(text.replace(text.find("%s"), 2, "WarmupLR"), known);
  EXPECT_EQ(valueOf(config, "lr"), "0.2");
}

/// DeepSpeed takes PyTorch's schedules by name; most are options here.
TEST(Optimizer, AScheduleOfPyTorchIsAnOption) {
  for (auto [type, option] :
       {std::pair("StepLR", "and give --schedule step with --step-size"),
        std::pair("steplr", "--step-gamma (`gamma`)"),
        std::pair("ExponentialLR", "--schedule step with --step-size 1"),
        std::pair("CosineAnnealingLR", "--schedule cosine with --total-steps"),
        std::pair("LinearLR", "`start_factor` is 1, give --schedule linear"),
        std::pair("PolynomialLR", "`power` is 1, give --schedule linear"),
        std::pair("ConstantLR", "`factor` is 1, give --schedule constant"),
        std::pair("MultiStepLR", "there are WarmupLR"),
        std::pair("OneCycleLR", "there are WarmupLR")}) {
    std::string file = absl::StrCat("{scheduler: {type: ", type, "}}");
    Config config = readGood(file);
    EXPECT_THAT(linesOf(config.problems), HasSubstr(option)) << type;
    EXPECT_EQ(meaningOf(config, "scheduler.type").does, KeySupport::Refused)
        << type;
  }
}

} // namespace
} // namespace zerograph::config
