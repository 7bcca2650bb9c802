//===- BitsTest.cpp - a plan may be slower or smaller, never different ----===//

#include "tests/e2e/Harness.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace zerograph::testing {
namespace {

constexpr int kSteps = 5;

Training nano() {
  Training training{"gpt2-nano", "model_keep_names.onnx"};
  training.steps = kSteps;
  return training;
}

// Stages x segment sizes x prefetch distances x persistence thresholds x
// threads: bit-identical parameters.
TEST(Bits, SameForEveryStageAndLayout) {
  bool full = std::getenv("ZEROGRAPH_FULL") && *std::getenv("ZEROGRAPH_FULL");
  Training base = nano();
  base.ranks = 2;
  Outcome first = trainModel(base);
  int number = 0;
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t bucket : {int64_t(32) << 20, int64_t(100000)}) {
      for (int64_t prefetch : {1, 3}) {
        for (int64_t threshold : {0, 1000}) {
          for (unsigned threads : {1u, 2u}) {
            if (!full && number++ % 3 != 0) {
              continue;
            }
            Training training = base;
            training.zero_stage = stage;
            training.bucket_bytes = bucket;
            training.prefetch = prefetch;
            training.persistence_threshold = threshold;
            training.threads = threads;
            expectSameOutcome(first, trainModel(training), training.describe());
          }
        }
      }
    }
  }
}

/// Expects the same of two micro-batches on one rank at stage 0, and of every
/// stage on one and two ranks; and that so many products are added to a sum.
void expectTilesAreTheSame(Training base, int64_t sums) {
  base.accumulate = 2;
  Outcome first = trainModel(base);
  const char *const kRecompute[] = {"none", "selective", "units", "selective"};
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t ranks : {1, 2}) {
      Training training = base;
      training.zero_stage = stage;
      training.ranks = ranks;
      training.accumulate = 2 / ranks;
      training.threads = 1 + unsigned(stage % 2);
      training.recompute = kRecompute[stage];
      training.bucket_bytes = stage == 3 ? 20000 : training.bucket_bytes;
      Outcome outcome = trainModel(training);
      expectSameOutcome(first, outcome, training.describe());
      EXPECT_EQ(sumsInPlace(outcome.plan), sums)
          << training.describe() << ": all tiles but the first add";
    }
  }
}

// Tiles of rows, whose products are added to one sum.
TEST(Bits, TilesAreTheSameForEveryStage) {
  for (const char *precision : {"fp32", "bf16"}) {
    Training training{"wide-head"};
    training.micro_batch = 16;
    training.clip_norm = 0.05;
    training.loss_mean = "tokens";
    training.precision = precision;
    expectTilesAreTheSame(training, 1);
  }
}

// Tiles of hidden layers, kept, computed again, and that with what goes from
// block to block on the host.
TEST(Bits, HiddenTilesAreTheSameForEveryStage) {
  for (const char *precision : {"fp32", "bf16"}) {
    Training training{"gpt2-nano", "model_keep_names.onnx"};
    training.micro_batch = 4;
    training.precision = precision;
    training.also = [](CompileOptions &options) {
      options.hidden_tile = 1 << 13;
      options.offload_activations = options.zero_stage > 1 ? "cpu" : "none";
    };
    // Three of four tiles, of two weights of four blocks, and of the head's.
    expectTilesAreTheSame(training, 3 * (2 * 4 + 1));
  }
}

// Convolutions and BatchNorm, whose statistics are each rank's own.
TEST(Bits, ResnetIsTheSameForEveryStage) {
  Training base{"resnet-mini", "model_ts.onnx", "adamw", 4, 0};
  base.steps = 4;
  Outcome first = trainModel(base);
  EXPECT_EQ(first.parameters.count("layer2.bn1.running_var"), 1u);
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (unsigned threads : {1u, 2u}) {
      Training training = base;
      training.zero_stage = stage;
      training.threads = threads;
      training.bucket_bytes = stage == 3 ? 20000 : training.bucket_bytes;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
  }
}

// Optimizers and groups, whose parameters are units of their own: every stage,
// and a bucket of a part of a unit, on 1, 2 and 4 ranks.
TEST(Bits, GroupsAreTheSameForEveryStage) {
  for (const char *run : {"lion", "adagrad", "adamw_groups", "sgd_groups",
                          "lamb", "lamb_groups"}) {
    Training base{"gpt2-nano", "model.onnx", run};
    base.micro_batch = 2;
    base.accumulate = 4;
    base.steps = 2;
    Outcome first = trainModel(base);
    for (int64_t stage = 0; stage < 4; ++stage) {
      Training training = base;
      training.zero_stage = stage;
      training.ranks = stage % 2 ? 4 : 2;
      training.accumulate = 4 / training.ranks;
      training.bucket_bytes = stage > 1 ? 20000 : training.bucket_bytes;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
  }
}

// Adapters are parameters, made up by each rank, and of an optimizer's group.
// Their weights, which hold still, are saved as sums.
TEST(Bits, AdaptersAreTheSameForEveryStage) {
  Training base = nano();
  base.run = "adamw_clip";
  base.lora = {"2:*attn.c_attn*", "4:*mlp*"};
  base.micro_batch = 2;
  base.accumulate = 2;
  base.steps = 3;
  base.seed = 7;
  Outcome first = trainModel(base);
  EXPECT_EQ(first.adapters.size(), 2u * 3 * 4);
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t ranks : {1, 2}) {
      Training training = base;
      training.zero_stage = stage;
      training.ranks = ranks;
      training.accumulate = 2 / ranks;
      training.recompute = stage % 2 ? "units" : "none";
      training.bucket_bytes = stage > 1 ? 20000 : training.bucket_bytes;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
  }
  // Another seed makes other matrices, and so does a bf16 run of a plan.
  Training other = base;
  other.seed = 8;
  EXPECT_NE(first.adapters, trainModel(other).adapters);
  other = base;
  other.precision = "bf16";
  other.ranks = 2;
  other.accumulate = 1;
  Outcome half = trainModel(other);
  for (int64_t stage : {1, 3}) {
    other.zero_stage = stage;
    expectSameOutcome(half, trainModel(other), other.describe());
  }
}

// Norms of parameters that several ranks and segments have parts of, with 16
// bits and 32, clipped, recomputed, and divided by what losses count.
TEST(Bits, LambIsTheSameForEveryLayout) {
  for (const char *precision : {"fp32", "bf16"}) {
    Training base{"gpt2-nano", "model.onnx", "lamb_groups"};
    base.micro_batch = 2;
    base.accumulate = 4;
    base.steps = 3;
    base.clip_norm = 0.5;
    base.precision = precision;
    base.loss_mean = "tokens";
    base.matmul = "generated";
    Outcome first = trainModel(base);
    for (int64_t stage = 0; stage < 4; ++stage) {
      for (int64_t ranks : {2, 4}) {
        Training training = base;
        training.zero_stage = stage;
        training.ranks = ranks;
        training.accumulate = 4 / ranks;
        training.bucket_bytes = ranks == 4 ? 20000 : training.bucket_bytes;
        training.recompute = stage == 2 ? "units" : "none";
        expectSameOutcome(first, trainModel(training), training.describe());
      }
    }
  }
}

// Each rank adds its own micro-batches up first: stages 0 and 1 and all
// segments agree, clipped or not, and one rank with what it does anyway;
// several ranks add in another order than when each micro-batch is reduced.
TEST(Bits, ReducingLastIsTheSameForBothStages) {
  for (const char *run : {"adamw_clip", "adamw", "lamb"}) {
    Training each{"gpt2-nano", "model.onnx", run};
    each.micro_batch = 2;
    each.ranks = 2;
    each.accumulate = 2;
    each.steps = 3;
    Training last = each;
    last.reduce = "last";
    Outcome first = trainModel(last);
    for (int64_t stage : {0, 1}) {
      Training training = last;
      training.zero_stage = stage;
      training.bucket_bytes = 20000;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
    Outcome other = trainModel(each);
    EXPECT_NE(first.parameters, other.parameters) << run;
    ASSERT_EQ(first.result.losses.size(), other.result.losses.size());
    EXPECT_EQ(first.result.losses[0], other.result.losses[0]);
    EXPECT_NEAR(first.result.losses[2], other.result.losses[2], 1e-3);
    EXPECT_EQ(2 * first.result.ranks.at(0).first_step().reduce(),
              other.result.ranks.at(0).first_step().reduce());
    each.ranks = last.ranks = 1;
    expectSameOutcome(trainModel(each), trainModel(last), last.describe());
  }
}

// Products and convolutions by generated kernels.
TEST(Bits, GeneratedProductsAreTheSameForEveryStage) {
  Training models[] = {nano(), {"resnet-mini", "model_ts.onnx", "adamw", 4, 0}};
  for (Training &base : models) {
    base.steps = 2;
    base.matmul = "generated";
    Outcome first = trainModel(base);
    for (const plan::Program &program : first.plan.programs()) {
      for (const plan::Step &step : program.steps()) {
        EXPECT_FALSE(step.has_matmul() || step.has_convolution())
            << step.name();
      }
    }
    for (int64_t stage : {1, 3}) {
      Training training = base;
      training.zero_stage = stage;
      training.threads = 2;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
  }
}

// Without updates of parameters, two steps of one micro-batch are one of two.
TEST(Bits, RunningStatisticsFollowEveryMicroBatch) {
  Training steps{"resnet-mini", "model_ts.onnx", "sgd"};
  steps.micro_batch = 16;
  steps.learning_rate = 0;
  steps.steps = 4;
  Training batches = steps;
  batches.accumulate = 2;
  batches.steps = 2;
  Outcome first = trainModel(steps);
  expectSameBits(first.parameters, trainModel(batches).parameters,
                 batches.describe());
  // Not by their being left alone.
  batches.steps = 1;
  EXPECT_NE(first.parameters.at("bn1.running_mean"),
            trainModel(batches).parameters.at("bn1.running_mean"));
}

// The same micro-batch and global batch over 1, 2 and 4 ranks.
TEST(Bits, SameForEveryNumberOfRanks) {
  Training one = nano();
  one.micro_batch = 2;
  one.accumulate = 4;
  Outcome first = trainModel(one);
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t ranks : {1, 2, 4}) {
      Training training = nano();
      training.micro_batch = 2;
      training.ranks = ranks;
      training.accumulate = 4 / ranks;
      training.zero_stage = stage;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
  }
}

// The norm of all gradients joins all ranks and units, and must not tell them
// apart. Clipping to more than the norm changes nothing.
TEST(Bits, ClippingIsTheSameForEveryLayout) {
  Training one = nano();
  one.run = "adamw_clip";
  one.micro_batch = 2;
  one.accumulate = 4;
  Outcome first = trainModel(one);
  ASSERT_EQ(first.norms.size(), size_t(kSteps));
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t ranks : {1, 2, 4}) {
      Training training = one;
      training.ranks = ranks;
      training.accumulate = 4 / ranks;
      training.zero_stage = stage;
      training.bucket_bytes = stage % 2 ? 100000 : training.bucket_bytes;
      training.threads = stage == 2 ? 2 : 1;
      Outcome outcome = trainModel(training);
      expectSameOutcome(first, outcome, training.describe());
      EXPECT_EQ(outcome.norms, first.norms) << training.describe();
    }
  }
  Training large = one, none = one;
  large.clip_norm = 1e6;
  none.clip_norm = 0;
  Outcome unclipped = trainModel(none);
  EXPECT_TRUE(unclipped.norms.empty());
  expectSameOutcome(unclipped, trainModel(large), "clipped to 1e6");
}

// The second forward pass gives the bits of the first, masks of dropout and
// statistics of BatchNorm included, and saves memory.
TEST(Bits, ComputingAgainIsTheSame) {
  Training models[] = {
      nano(),
      {"gpt2-nano-dropout", "model.onnx"},
      {"resnet-mini", "model_ts.onnx", "adamw", 2, 0},
  };
  models[1].settings = "gpt2-nano";
  for (Training &base : models) {
    base.ranks = 2;
    base.steps = 3;
    if (base.model != "resnet-mini") {
      base.micro_batch = 8; // activations are the most of the memory
    }
    Outcome first = trainModel(base);
    uint64_t least = first.plan.arenas(0).bytes();
    for (const char *recompute : {"selective", "units"}) {
      for (int64_t stage : {0, 2, 3}) {
        Training training = base;
        training.recompute = recompute;
        training.also = [&](CompileOptions &options) {
          options.recompute_ratio = stage == 2 ? 0.5 : 1;
          options.offload_activations = stage == 3 ? "cpu" : "none";
        };
        training.zero_stage = stage;
        training.threads = stage == 2 ? 2 : 1;
        Outcome outcome = trainModel(training);
        expectSameOutcome(first, outcome, training.describe());
        EXPECT_GT(outcome.plan.recomputed(), 0u) << training.describe();
        if (stage == 0 && base.model != "resnet-mini") {
          uint64_t bytes = outcome.plan.arenas(0).bytes();
          double share = std::string(recompute) == "units" ? 0.9 : 0.97;
          EXPECT_LT(double(bytes), share * double(least))
              << training.describe();
          least = bytes;
        }
      }
    }
  }
}

// Three ranks, 6 samples a step, against one rank.
TEST(Bits, ThreeRanks) {
  Training one = nano();
  one.micro_batch = 2;
  one.accumulate = 3;
  Outcome first = trainModel(one);
  for (int64_t stage = 0; stage < 4; ++stage) {
    Training three = nano();
    three.micro_batch = 2;
    three.ranks = 3;
    three.zero_stage = stage;
    expectSameOutcome(first, trainModel(three), three.describe());
  }
}

} // namespace
} // namespace zerograph::testing
