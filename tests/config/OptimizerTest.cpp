//===- OptimizerTest.cpp - DeepSpeed's optimizers and schedules -----------===//

#include "tests/config/Read.h"

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
  Config config = readGood("{optimizer: {type: OneBitAdam}}");
  EXPECT_THAT(linesOf(config.problems), HasSubstr("not compressed"));
  config = readGood("{optimizer: {type: Adam, params: {max_grad_norm: 1.0}}}");
  EXPECT_THAT(linesOf(config.problems), HasSubstr("write `gradient_clipping`"));
  config = readGood("{optimizer: {type: Adagrad}}");
  EXPECT_EQ(valueOf(config, "lr"), "0.01");
  EXPECT_EQ(valueOf(config, "eps"), "1e-10");
  EXPECT_THAT(linesOf(readGood("{}").notes),
              HasSubstr("'optimizer' is missing: --optimizer adamw"));
}

TEST(Optimizer, TheRateOfASchedule) {
  const char *kFile = "{optimizer: {type: Adam, params: {lr: 0.1}}, "
                      "scheduler: {type: ";
  Config config = readGood(absl::StrCat(
      kFile, "WarmupLR, params: {warmup_max_lr: 0.2, warmup_num_steps: 7}}}"));
  EXPECT_EQ(valueOf(config, "lr"), "0.2");
  EXPECT_EQ(valueOf(config, "schedule"), "warmup");
  EXPECT_EQ(valueOf(config, "warmup-steps"), "7");
  EXPECT_THAT(meaningOf(config, "optimizer.params.lr").text,
              HasSubstr("comes before it"));
  EXPECT_THAT(linesOf(config.notes), HasSubstr("the logarithm"));
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
  EXPECT_THAT(linesOf(config.problems), HasSubstr("are not built yet"));
}

TEST(Optimizer, ACycleChangesTheBetasToo) {
  const char *kAdam = "{optimizer: {type: Adam}, scheduler: {type: OneCycle, "
                      "params: {cycle_max_lr: 1";
  EXPECT_THAT(linesOf(readGood(absl::StrCat(kAdam, "}}}")).problems),
              HasSubstr("the first beta as well"));
  EXPECT_THAT(
      linesOf(
          readGood(absl::StrCat(kAdam, ", cycle_momentum: true}}}")).problems),
      HasSubstr("the first beta as well"));
  Config config = readGood(absl::StrCat(kAdam, ", cycle_momentum: false}}}"));
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(valueOf(config, "lr"), "1");
  config = readGood("{optimizer: {type: SGD}, scheduler: {type: OneCycle}}");
  EXPECT_EQ(linesOf(config.problems), "");
}

} // namespace
} // namespace zerograph::config
