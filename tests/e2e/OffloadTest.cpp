//===- OffloadTest.cpp - what the host keeps, and updates -----------------===//

#include "tests/e2e/Offloads.h"

#include "runtime/plan/Memory.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace zerograph::testing {
namespace {

Training nano(int64_t ranks, int64_t accumulate) {
  Training training{"gpt2-nano", "model.onnx"};
  training.micro_batch = 2;
  training.ranks = ranks;
  training.accumulate = accumulate;
  training.steps = 3;
  return training;
}

uint64_t bytesOf(const plan::Plan &plan, plan::Space space) {
  uint64_t bytes = 0;
  for (const plan::Arena &arena : plan.arenas()) {
    bytes += arena.space() == space ? arena.bytes() : 0;
  }
  return bytes;
}

/// Returns what is live in a space at most, which no packing makes less.
uint64_t liveOf(const plan::Plan &plan, plan::Space space) {
  uint64_t bytes = 0;
  std::vector<ArenaMemory> memory = memoryOf(plan);
  for (int i = 0; i < plan.arenas_size(); ++i) {
    uint64_t most = 0;
    for (const ProgramMemory &program : memory[size_t(i)].programs) {
      most = std::max(most, program.live);
    }
    bytes += plan.arenas(i).space() == space ? most : 0;
  }
  return bytes;
}

/// Bytes that a program's copies on streams of a kind move.
uint64_t moved(const plan::Program &program, const plan::Plan &plan,
               plan::StreamKind kind) {
  uint64_t bytes = 0;
  for (const plan::Step &step : program.steps()) {
    bool counts =
        step.has_copy() && plan.streams(int(step.stream())).kind() == kind;
    bytes += counts ? step.accesses(0).bytes() : 0;
  }
  return bytes;
}

// Stages x ranks x accumulation x precision: the bits of the plan that keeps
// all of it on the device.
TEST(Offload, KeepsTheBits) {
  bool full = std::getenv("ZEROGRAPH_FULL") && *std::getenv("ZEROGRAPH_FULL");
  int number = 0;
  for (const char *precision : {"fp32", "bf16", "fp16"}) {
    for (int64_t ranks : {1, 2, 3, 4}) {
      for (int64_t accumulate : {1, 2}) {
        Training base = nano(ranks, accumulate);
        base.precision = precision;
        std::optional<Outcome> plain;
        for (int64_t stage = 0; stage < 4; ++stage) {
          for (Offloads what : offloadsOf(stage)) {
            if (!full && number++ % 7 != 0) {
              continue;
            }
            plain = plain ? plain : trainModel(base);
            Training training = base;
            training.zero_stage = stage;
            training.bucket_bytes = ranks > 2 ? 20000 : training.bucket_bytes;
            training.threads = number % 2 ? 1 : 2;
            expectSameOutcome(*plain, trainModel(offloaded(training, what)),
                              training.describe());
          }
        }
      }
    }
  }
}

// Groups, norms of parameters, limits, steps that are left out, adapters,
// running statistics, what is computed again, and one reduction a step.
TEST(Offload, KeepsTheBitsOfEveryOptimizer) {
  for (const char *run : {"lion", "adagrad", "adamw_groups", "sgd_groups",
                          "lamb", "lamb_groups", "adamw_clip"}) {
    Training base = nano(2, 1);
    base.run = run;
    base.recompute = "units";
    base.also = [](CompileOptions &options) { options.skip_nonfinite = true; };
    Outcome plain = trainModel(base);
    for (int64_t stage : {0, 1, 3}) {
      Training training = base;
      training.zero_stage = stage;
      training.bucket_bytes = stage > 1 ? 20000 : training.bucket_bytes;
      expectSameOutcome(
          plain,
          trainModel(offloaded(training, stage == 3   ? kAllInFile
                                         : stage == 1 ? kFile
                                                      : kOptimizer)),
          std::string(run) + " " + training.describe());
    }
  }
}

// Each rank brings its sums to the device, which adds to them; or adds itself,
// where it is alone. Dumped gradients are the sums.
TEST(Offload, KeepsTheBitsOfSumsOfGradients) {
  bool full = std::getenv("ZEROGRAPH_FULL") && *std::getenv("ZEROGRAPH_FULL");
  const char *const runs[] = {"adamw_clip", "lamb", "sgd_momentum"};
  int next = 0;
  for (const char *precision : {"fp32", "bf16", "fp16"}) {
    for (int64_t ranks : {1, 2, 3}) {
      for (int64_t stage = 0; stage < 4; ++stage) {
        int number = next++;
        if (!full && number % 5 != 0) {
          continue;
        }
        Training training = nano(ranks, 3);
        training.precision = precision;
        training.run = runs[number % 3];
        training.gradients = number % 2 == 0;
        Outcome plain = trainModel(training);
        training.zero_stage = stage;
        training.bucket_bytes = ranks > 2 ? 20000 : training.bucket_bytes;
        for (const char *place : {"cpu", "nvme"}) {
          expectSameOutcome(
              plain, trainModel(offloaded(training, {place, "none", place})),
              training.describe() + ", sums on " + place);
        }
      }
    }
  }
}

// The device has two of them at a time, and so has memory of what is in files,
// also where a norm is made of them first.
TEST(Offload, KeepsSumsOfGradientsElsewhere) {
  for (bool clips : {false, true}) {
    Training base = nano(2, 2);
    base.run = clips ? "adamw_clip" : "adamw";
    base.zero_stage = 2;
    base.bucket_bytes = 20000;
    plan::Plan device = compilePlan(offloaded(base)),
               pinned = compilePlan(offloaded(base, {"cpu", "none", "cpu"})),
               states = compilePlan(offloaded(base, kFile)),
               file = compilePlan(offloaded(base, {"nvme", "none", "nvme"}));
    uint64_t sums = 0; // of all units
    for (const plan::Unit &unit : file.units()) {
      sums += unit.elements() / 2 * 4;
    }
    for (const plan::Plan &plan : {pinned, file}) {
      EXPECT_LE(bytesOf(plan, plan::DEVICE),
                bytesOf(device, plan::DEVICE) - 3 * sums / 4);
    }
    EXPECT_GE(bytesOf(pinned, plan::PINNED), sums);
    EXPECT_GE(bytesOf(file, plan::NVME), bytesOf(states, plan::NVME) + sums);
    EXPECT_LE(bytesOf(file, plan::PINNED),
              bytesOf(states, plan::PINNED) + sums / 8);
    const plan::Program &micro = file.programs(0), &update = file.programs(1);
    EXPECT_EQ(moved(micro, file, plan::FILE_READ), sums);
    EXPECT_EQ(moved(micro, file, plan::FILE_WRITE), sums);
    EXPECT_EQ(moved(update, file, plan::FILE_READ),
              moved(states.programs(1), states, plan::FILE_READ) +
                  (clips ? 2 : 1) * sums);
    EXPECT_EQ(moved(update, file, plan::FILE_WRITE),
              moved(states.programs(1), states, plan::FILE_WRITE) + sums);
  }
}

TEST(Offload, KeepsTheBitsOfAdaptersAndStatistics) {
  Training adapters = nano(2, 1);
  adapters.lora = {"2:*attn.c_attn*", "4:*mlp*"};
  adapters.seed = 7;
  Training resnet{"resnet-mini", "model_ts.onnx", "adamw", 2, 0};
  resnet.steps = 3;
  Training last = nano(2, 2);
  last.reduce = "last";
  last.loss_mean = "tokens";
  Training sent = nano(1, 1); // the host and the norm take one gradient
  sent.run = "adamw_clip";
  sent.also = [](CompileOptions &options) {
    options.reduce_precision = "bf16";
    options.skip_nonfinite = true;
  };
  for (const Training &base : {adapters, resnet, last, sent}) {
    Outcome plain = trainModel(base);
    for (int64_t stage : {1, 3}) {
      Training training = base;
      training.zero_stage = stage;
      if (stage == 3 && base.reduce == "last") {
        continue;
      }
      Offloads what = stage < 3               ? kOptimizer
                      : training.lora.empty() ? kFileAndParameters
                                              : kAllInFile; // frozen ones too
      expectSameOutcome(plain, trainModel(offloaded(training, what)),
                        training.describe());
    }
  }
}

Training halfOf(Training all) {
  all.also = [also = all.also](CompileOptions &options) {
    also(options);
    options.offload_ratio = 0.5;
  };
  return all;
}

// A share of the units, those whose gradients come first.
TEST(Offload, KeepsTheBitsOfAShare) {
  Training base = nano(2, 1);
  base.zero_stage = 2;
  Outcome plain = trainModel(base);
  Training all = offloaded(base), half = halfOf(all);
  Outcome outcome = trainModel(half);
  expectSameOutcome(plain, outcome, half.describe());
  uint64_t whole = bytesOf(compilePlan(all), plan::HOST);
  uint64_t share = bytesOf(outcome.plan, plan::HOST);
  EXPECT_GT(share, whole / 4);
  EXPECT_LE(share, whole / 2);
}

// Both sides number the parameters of like units, one of which each updates.
TEST(Offload, KeepsTheNormsOfAShare) {
  for (int64_t ranks : {1, 2}) {
    Training base = nano(ranks, 1);
    base.run = "lamb";
    expectSameOutcome(trainModel(base), trainModel(halfOf(offloaded(base))),
                      base.describe());
  }
}

// Checks what is on the device no more, and what crosses: a rank's shard of
// gradients down, and as many parameters up.
TEST(Offload, MovesShardsAndKeepsNoStateOnTheDevice) {
  for (int64_t stage : {1, 2, 3}) {
    Training base = nano(2, 1);
    base.zero_stage = stage;
    plan::Plan plain = compilePlan(base), plan = compilePlan(offloaded(base));
    ASSERT_EQ(plan.devices_size(), 2);
    EXPECT_EQ(modelState(plan).optimizer, 0u);
    uint64_t shards = 0; // of all units, f32
    for (const plan::Unit &unit : plan.units()) {
      shards += unit.elements() / 2 * 4;
    }
    EXPECT_EQ(bytesOf(plan, plan::HOST) / shards, 2u); // moments
    EXPECT_LE(liveOf(plan, plan::DEVICE) + 2 * shards,
              liveOf(plain, plan::DEVICE));
    const plan::Program &step = plan.programs(0);
    uint64_t down = moved(step, plan, plan::COPY_OUT);
    EXPECT_GE(down, shards);
    EXPECT_LT(down, shards + 256); // and a few scalars
    EXPECT_EQ(moved(step, plan, plan::COPY_IN), shards);
  }
}

// Checks what memory has no more but for two segments at a time, and what the
// file gives and takes: all states, once a step.
TEST(Offload, KeepsStatesInAFile) {
  Training base = nano(2, 1);
  base.zero_stage = 2;
  base.bucket_bytes = 20000;
  plan::Plan memory = compilePlan(offloaded(base)),
             file = compilePlan(offloaded(base, kFile));
  uint64_t shards = 0; // of all units
  for (const plan::Unit &unit : file.units()) {
    shards += unit.elements() / 2 * 4;
  }
  EXPECT_EQ(bytesOf(file, plan::HOST), 0u);
  EXPECT_GE(bytesOf(file, plan::NVME), 3 * shards);
  // The masters were there besides; of the rest, a few segments, in pages.
  EXPECT_LE(bytesOf(file, plan::PINNED),
            bytesOf(memory, plan::PINNED) - shards + 3 * shards / 4);
  const plan::Program &step = file.programs(0);
  EXPECT_EQ(moved(step, file, plan::FILE_READ), 3 * shards);
  EXPECT_EQ(moved(step, file, plan::FILE_WRITE), 3 * shards);
}

// Parameters too, which are read for each use: of float32 for their update
// besides, of 16 bits not, as they are rounded from their masters. What memory
// holds of them is what is on its way.
TEST(Offload, KeepsParametersInAFile) {
  for (bool half : {false, true}) {
    Training base = nano(2, 1);
    base.zero_stage = 3;
    base.bucket_bytes = 20000;
    base.precision = half ? "bf16" : "fp32";
    plan::Plan memory = compilePlan(offloaded(base, kFileAndParameters)),
               file = compilePlan(offloaded(base, kAllInFile));
    uint64_t elements = 0; // of a rank
    for (const plan::Unit &unit : file.units()) {
      elements += unit.elements() / 2;
    }
    uint64_t params = elements * (half ? 2 : 4), states = 2 * 4 * elements;
    uint64_t masters = half ? 4 * elements : 0;
    EXPECT_GE(bytesOf(file, plan::NVME), bytesOf(memory, plan::NVME) + params);
    // Packing may be a little worse.
    EXPECT_LE(bytesOf(file, plan::DEVICE),
              bytesOf(memory, plan::DEVICE) * 101 / 100);
    EXPECT_LE(bytesOf(file, plan::PINNED),
              bytesOf(memory, plan::PINNED) - params / 2);
    const plan::Program &step = file.programs(0);
    // As often as memory brings them to the device, and for the update.
    EXPECT_EQ(moved(step, file, plan::FILE_READ),
              moved(memory.programs(0), memory, plan::COPY_IN) + states +
                  (half ? masters : params));
    EXPECT_EQ(moved(step, file, plan::FILE_WRITE), states + masters + params);
  }
}

} // namespace
} // namespace zerograph::testing
