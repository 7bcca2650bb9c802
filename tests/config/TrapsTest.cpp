//===- TrapsTest.cpp - what people are caught by --------------------------===//

#include "tests/config/Read.h"
#include "tests/support/Says.h"

namespace zerograph::config {
namespace {

using testing::HasSubstr;

TEST(Traps, TwoSpellingsAreAnError) {
  for (const char *text : {
           R"({"gradient_clipping": 1, "gradient_clipping": 1})",
           R"({"zero_optimization": {"stage3_prefetch_bucket_size": 5,
                                     "prefetch_bucket_size": 5}})",
           R"({"bf16": {"enabled": true}, "bfloat16": {"enabled": true}})",
           R"({"bf16": {"enabled": true}, "bf16": {"enabled": true}})",
           R"({"allgather_size": 5,
               "zero_optimization": {"allgather_bucket_size": 5}})",
           R"({"zero_optimization": {"cpu_offload": false,
               "offload_optimizer": {"device": "none"}}})",
           R"({"aio": {"thread_count": 1, "intra_op_parallelism": 1}})",
       }) {
    Config config = readGood(text);
    EXPECT_EQ(config.problems.size(), 1u) << text << linesOf(config.problems);
    expectSays(linesOf(config.problems), "given twice: also as '");
  }
}

TEST(Traps, BothTypesOf16Bits) {
  Config config =
      readGood(R"({"bf16": {"enabled": true}, "fp16": {"enabled": true}})");
  expectSays(linesOf(config.problems), "keep one of them");
  config = readGood(R"({"bfloat16": {"enabled": true}})");
  EXPECT_EQ(valueOf(config, "precision"), "bf16");
  EXPECT_THAT(meaningOf(config, "bfloat16.enabled").does, KeySupport::Applied);
}

TEST(Traps, ThePrecisionOfTheCommandLineWins) {
  Known known;
  known.options["precision"] = "bf16";
  Config config = readGood(
      R"({"fp16": {"enabled": true, "loss_scale_window": 500}})", known);
  EXPECT_TRUE(config.problems.empty()) << linesOf(config.problems);
  for (const char *key : {"fp16.enabled", "fp16.loss_scale_window"}) {
    EXPECT_EQ(meaningOf(config, key).does, KeySupport::NoEffect) << key;
  }
  EXPECT_EQ(valueOf(config, "loss-scale-window"), "");
  known.options["precision"] = "fp32";
  config = readGood(R"({"bf16": {"enabled": true}})", known);
  EXPECT_EQ(valueOf(config, "skip-nonfinite"), "");
}

/// The command line is what `auto` waits for, and wins over `false`.
TEST(Traps, ThePrecisionOfTheCommandLineSwitchesItsSectionOn) {
  Known known;
  for (const char *enabled :
       {R"("enabled": "auto", )", R"("enabled": false, )", ""}) {
    std::string text =
        absl::StrCat(R"({"fp16": {)", enabled,
                     R"("initial_scale_power": 10, "loss_scale_window": 500},
            "bf16": {)",
                     enabled, R"("immediate_grad_update": true}})");
    known.options["precision"] = "fp16";
    Config config = readGood(text, known);
    EXPECT_EQ(valueOf(config, "initial-scale-power"), "10") << text;
    EXPECT_EQ(valueOf(config, "loss-scale-window"), "500") << text;
    expectSays(linesOf(config.notes), "--reduce-precision fp16");
    EXPECT_EQ(valueOf(config, "skip-nonfinite"), "");
    known.options["precision"] = "bf16";
    config = readGood(text, known);
    EXPECT_EQ(valueOf(config, "initial-scale-power"), "") << text;
    EXPECT_EQ(valueOf(config, "skip-nonfinite"), "true") << text;
    expectSays(linesOf(config.notes), "--reduce-precision bf16");
    known.options.clear();
    config = readGood(text, known);
    EXPECT_EQ(valueOf(config, "initial-scale-power"), "") << text;
    EXPECT_EQ(valueOf(config, "skip-nonfinite"), "") << text;
  }
  known.options["precision"] = "fp16";
  Config config = readGood(R"({"fp16": {"enabled": "auto"}})", known);
  EXPECT_EQ(valueOf(config, "precision"), "fp16");
  EXPECT_EQ(meaningOf(config, "fp16.enabled").text,
            "auto: as the command line says");
}

/// An option whose default differs here from Transformers'.
TEST(Traps, AutoIsNotAlwaysWhatTransformersFillsIn) {
  const char *kFile = R"({"optimizer": {"type": "AdamW", "params": {
      "lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
      "scheduler": {"type": "WarmupLR", "params": {
      "warmup_min_lr": "auto", "warmup_max_lr": %, "warmup_num_steps": "auto"
      }}})";
  auto autosOf = [&](const char *peak) {
    std::string text = kFile;
    text.replace(text.find('%'), 1, peak);
    std::vector<std::string> lines;
    for (const Auto &one : readGood(text).autos) {
      lines.push_back(absl::StrCat(one.key, " --", one.option, " ", one.ours,
                                   ", not ", one.theirs));
    }
    return lines;
  };
  EXPECT_THAT(autosOf("\"auto\""),
              testing::ElementsAre(
                  "optimizer.params.lr --lr 0.001, not 5e-05",
                  "optimizer.params.weight_decay --weight-decay 0.01, not 0",
                  "scheduler.params.warmup_num_steps --warmup-steps 1000, "
                  "not 1"));
  EXPECT_EQ(autosOf("0.1").size(), 2u); // which is the rate
}

/// A file for Transformers' Trainer, with nothing said to it, as
/// HfTrainerDeepSpeedConfig leaves it.
TEST(Traps, AutoCanBeWhatTransformersFillsIn) {
  const char *kFile = R"({"train_micro_batch_size_per_gpu": "auto",
      "train_batch_size": "auto", "gradient_accumulation_steps": "auto",
      "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
      "optimizer": {"type": "AdamW", "params": {
      "lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
      "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": "auto",
      "warmup_max_lr": "auto", "warmup_num_steps": "auto"}}})";
  Known known;
  known.like_transformers = true;
  Config config = readGood(kFile, known);
  EXPECT_EQ(valueOf(config, "micro-batch"), "8");
  EXPECT_EQ(valueOf(config, "accumulate"), "1");
  EXPECT_EQ(valueOf(config, "clip-norm"), "1");
  EXPECT_EQ(valueOf(config, "lr"), "5e-05");
  EXPECT_EQ(valueOf(config, "betas"), "0.9,0.999");
  EXPECT_EQ(valueOf(config, "eps"), "1e-08");
  EXPECT_EQ(valueOf(config, "weight-decay"), "0");
  EXPECT_EQ(valueOf(config, "warmup-steps"), "1");
  EXPECT_EQ(valueOf(config, "precision"), "");
  EXPECT_TRUE(config.autos.empty());
  expectSays(meaningOf(config, "scheduler.params.warmup_max_lr").text,
             "auto: 5e-05, Transformers' default");
  // Transformers is told what the command line says.
  known.options = {{"lr", "0.01"}, {"weight-decay", "0.1"}};
  config = readGood(kFile, known);
  EXPECT_EQ(valueOf(config, "lr"), "");
  EXPECT_EQ(valueOf(config, "weight-decay"), "");
  EXPECT_EQ(valueOf(config, "micro-batch"), "8");
}

TEST(Traps, TensorboardHasAFolderOfItsJob) {
  const char *kOn = R"({"tensorboard": {"enabled": true%}})";
  auto folderOf = [&](const char *keys) {
    std::string text = kOn;
    text.replace(text.find('%'), 1, keys);
    return valueOf(readGood(text), "tensorboard");
  };
  EXPECT_EQ(folderOf(""), "DeepSpeedJobName");
  EXPECT_EQ(folderOf(R"(, "output_path": "runs/", "job_name": "one")"),
            "runs/one");
  EXPECT_EQ(valueOf(readGood(R"({"tensorboard": {"output_path": "runs"}})"),
                    "tensorboard"),
            "");
}

TEST(Traps, AFixedLossScaleHasNoWindow) {
  Config config = readGood(R"({"fp16": {"enabled": true, "loss_scale": 128,
      "initial_scale_power": 16, "hysteresis": 2}})");
  EXPECT_EQ(valueOf(config, "loss-scale"), "128");
  EXPECT_EQ(valueOf(config, "initial-scale-power"), "");
  EXPECT_EQ(meaningOf(config, "fp16.hysteresis").does, KeySupport::NoEffect);
}

TEST(Traps, MastersOf16BitsBothOrNone) {
  Config config = readGood(R"({"bf16": {"enabled": true,
      "bf16_master_weights_and_grads": true, "bf16_optimizer_states": true}})");
  EXPECT_EQ(valueOf(config, "master-precision"), "bf16");
  config = readGood(R"({"bf16": {"enabled": true,
      "bf16_master_weights_and_grads": true}})");
  expectSays(linesOf(config.problems), "set both or none");
}

TEST(Traps, ASectionThatIsOffHasNoEffect) {
  Config config = readGood(R"({"fp16": {"loss_scale": 128, "auto_cast": true},
      "bf16": {"enabled": false, "bf16_optimizer_states": true},
      "compile": {"offload_parameters": true}})");
  EXPECT_EQ(linesOf(config.problems), "");
  EXPECT_EQ(meaningOf(config, "fp16.loss_scale").does, KeySupport::NoEffect);
  EXPECT_EQ(meaningOf(config, "fp16.loss_scale").text,
            "'fp16.enabled' is missing");
  EXPECT_EQ(meaningOf(config, "bf16.bf16_optimizer_states").text,
            "'bf16.enabled' is false");
  EXPECT_EQ(meaningOf(config, "compile.offload_parameters").does,
            KeySupport::NoEffect);
}

TEST(Traps, StageMayBeTrue) {
  Config config = readGood(R"({"zero_optimization": true})");
  EXPECT_EQ(valueOf(config, "zero"), "1");
  EXPECT_EQ(valueOf(readGood(R"({"zero_optimization": false})"), "zero"), "0");
  EXPECT_EQ(
      valueOf(readGood(R"({"zero_optimization": {"stage": "2"}})"), "zero"),
      "2");
}

TEST(Traps, BucketsAreElementsAsFloats) {
  const char *kFile = R"({"zero_optimization": {"stage": %,
      "reduce_bucket_size": 5e8, "allgather_bucket_size": 2e8}})";
  auto ofStage = [&](char stage) {
    std::string text = kFile;
    text[text.find('%')] = stage;
    return readGood(text);
  };
  Config config = ofStage('2');
  EXPECT_EQ(valueOf(config, "bucket-bytes"), "800000000"); // the smaller
  config = ofStage('3');
  EXPECT_EQ(valueOf(config, "bucket-bytes"), "2000000000");
  EXPECT_EQ(meaningOf(config, "zero_optimization.allgather_bucket_size").text,
            "with stage 3: it is for stages 1 and 2");
  config = ofStage('0');
  EXPECT_EQ(valueOf(config, "bucket-bytes"), "");
  EXPECT_EQ(meaningOf(config, "zero_optimization.reduce_bucket_size").does,
            KeySupport::NoEffect);
  EXPECT_EQ(valueOf(readGood(R"({"zero_optimization": {"stage": 1},
                                 "allgather_size": 100})"),
                    "bucket-bytes"),
            "400");
}

TEST(Traps, KeysOfStage3) {
  const char *kKeys = R"("stage3_prefetch_bucket_size": 0,
      "param_persistence_threshold": 1e4}})";
  Config config =
      readGood(absl::StrCat(R"({"zero_optimization": {"stage": 3, )", kKeys));
  EXPECT_EQ(valueOf(config, "prefetch"), "0");
  EXPECT_EQ(valueOf(config, "persistence-threshold"), "10000");
  config =
      readGood(absl::StrCat(R"({"zero_optimization": {"stage": 2, )", kKeys));
  EXPECT_EQ(valueOf(config, "prefetch"), "");
  EXPECT_EQ(valueOf(config, "persistence-threshold"), "");
}

TEST(Traps, WhatTransformersFillsIn) {
  const char *kFile = R"({"zero_optimization": {"stage": %,
      "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto",
      "stage3_param_persistence_threshold": "auto"}})";
  Known known;
  auto ofStage = [&](char stage) {
    std::string text = kFile;
    text[text.find('%')] = stage;
    return readGood(text, known);
  };
  Config without = ofStage('3');
  EXPECT_EQ(valueOf(without, "bucket-bytes"), "");
  EXPECT_EQ(meaningOf(without, "zero_optimization.reduce_bucket_size").text,
            "auto: Transformers makes it of the model's hidden size; nothing "
            "follows from a model without one");
  known.hidden_size = 768;
  Config config = ofStage('3');
  EXPECT_EQ(valueOf(config, "bucket-bytes"), "2359296"); // 4 * 768 * 768
  EXPECT_EQ(valueOf(config, "persistence-threshold"), "7680");
  TranslatedKey ahead =
      meaningOf(config, "zero_optimization.stage3_prefetch_bucket_size");
  expectSays(ahead.text, "auto: 530841, as Transformers");
  EXPECT_EQ(ahead.value, "\"auto\"");
  config = ofStage('2');
  EXPECT_EQ(valueOf(config, "bucket-bytes"), "2359296");
  EXPECT_EQ(valueOf(config, "persistence-threshold"), "");
}

TEST(Traps, TheStageOfTheCommandLineCounts) {
  Known known;
  known.stage = 3;
  Config config = readGood(
      R"({"zero_optimization": {"stage": 2, "stage3_prefetch_bucket_size": 0}})",
      known);
  EXPECT_EQ(valueOf(config, "prefetch"), "0");
}

TEST(Traps, OverlapIsNullTrueOrFalse) {
  for (const char *value : {"null", "true", "false", "\"auto\""}) {
    Config config = readGood(absl::StrCat(
        R"({"zero_optimization": {"overlap_comm": )", value, "}}"));
    EXPECT_EQ(linesOf(config.problems), "");
    EXPECT_EQ(meaningOf(config, "zero_optimization.overlap_comm").does,
              KeySupport::NoEffect);
  }
}

TEST(Traps, ActivationsAreComputedAgain) {
  auto recompute = [](const std::string &params) {
    Config config = readGood("{activation_checkpointing: {" + params + "}}");
    EXPECT_EQ(linesOf(config.problems), "") << params;
    return valueOf(config, "recompute");
  };
  for (const char *asks :
       {"partition_activations: true", "cpu_checkpointing: true",
        "number_checkpoints: 4", "partitioned_activations: true",
        "partition_activations: true, cpu_checkpointing: true"}) {
    EXPECT_EQ(recompute(asks), "units") << asks;
  }
  // A section that DeepSpeed's page has as it is asks for nothing.
  EXPECT_EQ(recompute("partition_activations: false, cpu_checkpointing: false, "
                      "contiguous_memory_optimization: false, "
                      "number_checkpoints: null, profile: false"),
            "");
  EXPECT_EQ(recompute("profile: true, synchronize_checkpoint_boundary: true"),
            "");
  Config config = readGood(
      "{activation_checkpointing: {cpu_checkpointing: true, profile: true}}");
  TranslatedKey meaning =
      meaningOf(config, "activation_checkpointing.cpu_checkpointing");
  EXPECT_EQ(meaning.does, KeySupport::Differently);
  expectSays(meaning.text, "lies in memory of the host");
  EXPECT_EQ(valueOf(config, "offload-activations"), "cpu");
  EXPECT_EQ(meaningOf(config, "activation_checkpointing.profile").does,
            KeySupport::NoEffect);
}

TEST(Traps, AKeyOfThePageAlone) {
  Config config = readGood(R"({"zero_optimization": {"grad_hooks": true}})");
  expectSays(meaningOf(config, "zero_optimization.grad_hooks").text,
             "its code does not");
  config = readGood(R"({"aio": {"thread_count": 4}})");
  expectSays(meaningOf(config, "aio.thread_count").text, "its code ignores");
  config = readGood(R"({"comms_logger": {"enabled": false}})");
  expectSays(meaningOf(config, "comms_logger").text,
             "even by `enabled: false`");
}

TEST(Traps, ClippingThatNobodyWrote) {
  Config config = readGood("{train_batch_size: 4}");
  EXPECT_EQ(valueOf(config, "clip-norm"), "1");
  EXPECT_TRUE(config.settings.back().by_default);
  expectSays(linesOf(config.notes), "since 2026");
  for (const char *text :
       {"{gradient_clipping: 0}", "{gradient_clipping: 0.0}"}) {
    config = readGood(text);
    EXPECT_EQ(valueOf(config, "clip-norm"), "") << text;
  }
  config = readGood("{gradient_clipping: auto}");
  EXPECT_EQ(valueOf(config, "clip-norm"), "1");
  EXPECT_TRUE(config.settings.back().by_default);
  config = readGood("{gradient_clipping: 1.0}");
  EXPECT_EQ(valueOf(config, "clip-norm"), "1");
  EXPECT_FALSE(config.settings.back().by_default); // it is asked for
}

/// Null is as if a key were missing, whose default may be on.
TEST(Traps, WhoUpdatesAddsUpToo) {
  const std::string offloads =
      R"("zero_optimization": {"stage": 2, "offload_optimizer": {"device": )";
  auto sums = [&](const std::string &device, int accumulate, Known known = {}) {
    Config config =
        readGood(absl::StrCat(R"({"train_micro_batch_size_per_gpu": 1, )",
                              R"("gradient_accumulation_steps": )", accumulate,
                              ", ", offloads, "\"", device, "\"}}}"),
                 known);
    bool said =
        linesOf(config.notes).find("sums of gradients") != std::string::npos;
    std::string value = valueOf(config, "offload-gradients");
    EXPECT_EQ(said, !value.empty()) << linesOf(config.notes);
    return value;
  };
  EXPECT_EQ(sums("cpu", 4), "cpu");
  EXPECT_EQ(sums("nvme", 4), "cpu");
  EXPECT_EQ(sums("cpu", 1), "");
  EXPECT_EQ(sums("none", 4), "");
  Known known;
  known.options["offload-gradients"] = "none";
  EXPECT_EQ(sums("cpu", 4, known), "");
  known.options = {{"offload", "auto"}, {"memory", "device=1GiB"}};
  EXPECT_EQ(sums("cpu", 4, known), "");
}

TEST(Traps, NullIsAsIfAKeyWereMissing) {
  auto skips = [](const char *checks) {
    return valueOf(
        readGood(absl::StrCat(R"({"bf16": {"enabled": true)", checks, "}}")),
        "skip-nonfinite");
  };
  EXPECT_EQ(skips(""), "true");
  EXPECT_EQ(skips(R"(, "check_grad_overflow": null)"), "true");
  EXPECT_EQ(skips(R"(, "check_grad_overflow": "auto")"), "true");
  EXPECT_EQ(skips(R"(, "check_grad_overflow": false)"), "");
  EXPECT_EQ(valueOf(readGood("{gradient_clipping: null}"), "clip-norm"), "1");
  expectSays(linesOf(readGood(R"({"scheduler": {"type": "WarmupLR",
                                   "params": {"warmup_type": null}}})")
                         .notes),
             "'warmup_type' is missing");
}

TEST(Traps, SumsAreNotMeans) {
  EXPECT_EQ(linesOf(readGood("{gradient_allreduce_op: mean}").problems), "");
  expectSays(linesOf(readGood("{gradient_allreduce_op: sum}").problems),
             "their mean");
  for (const char *type : {"fp32", "bf16", "fp16"}) {
    Config config =
        readGood(absl::StrCat("{communication_data_type: ", type, "}"));
    EXPECT_EQ(linesOf(config.problems), "");
    EXPECT_EQ(valueOf(config, "reduce-precision"), type);
  }
  expectSays(linesOf(readGood("{communication_data_type: int8}").problems),
             "expected fp32, bf16 or fp16");
}

TEST(Traps, AllProblemsAreReportedTogether) {
  Config config = readGood(R"({"stage": 3, "train_batch_size": 7,
      "train_micro_batch_size_per_gpu": 2, "fp16": {"enabled": "maybe"},
      "zero_optimization": {"stage": 3, "zero_quantized_weights": true,
                            "offload_param": {"device": "nvme"}}})");
  EXPECT_THAT(
      config.problems,
      testing::UnorderedElementsAre(
          HasSubstr("'stage' (c, line 1): there is no such key; did you "
                    "mean 'zero_optimization.stage'?"),
          HasSubstr("train_batch_size 7 is not"),
          HasSubstr("'fp16.enabled' (c, line 2) is \"maybe\": expected "
                    "true or false"),
          HasSubstr("zero_quantized_weights"),
          HasSubstr("offload_param.device")));
}

} // namespace
} // namespace zerograph::config
