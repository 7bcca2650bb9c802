//===- DropoutTest.cpp - training with random numbers ---------------------===//
//
// gpt2-nano with 13 dropouts: without them PyTorch's loss, with them the same
// bits however samples are divided.
//
//===----------------------------------------------------------------------===//

#include "tests/e2e/Harness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace zerograph::testing {
namespace {

Training nano() {
  Training training{"gpt2-nano-dropout"};
  training.settings = "gpt2-nano";
  training.micro_batch = 2;
  training.steps = 3;
  return training;
}

TEST(Dropout, OffIsWhatPyTorchGives) {
  Training training = nano();
  training.dropout = 0;
  training.accumulate = 4;
  training.steps = 1;
  Outcome outcome = trainModel(training);
  ASSERT_EQ(outcome.result.losses.size(), 1u);
  double expected = loadReference(training.model).loss_without_dropout;
  EXPECT_LE(std::abs(outcome.result.losses[0] - expected), 2e-6 * expected);
}

// The masks follow the samples, not the micro-batch, the rank, the segment or
// the thread that they come to.
TEST(Dropout, SameForEveryLayout) {
  Training one = nano();
  one.accumulate = 4;
  Outcome first = trainModel(one);
  Training off = one;
  off.dropout = 0;
  EXPECT_NE(trainModel(off).result.losses, first.result.losses);
  int number = 0;
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t ranks : {1, 2, 4}) {
      Training training = nano();
      training.ranks = ranks;
      training.accumulate = 4 / ranks;
      training.zero_stage = stage;
      training.threads = 1 + number % 2;
      training.bucket_bytes = number / 2 % 2 ? 100000 : training.bucket_bytes;
      ++number;
      expectSameOutcome(first, trainModel(training), training.describe());
    }
  }
}

// One micro-batch of eight samples draws what four of two draw: the losses
// differ by their rounding alone.
TEST(Dropout, SameMasksForEveryMicroBatch) {
  Training small = nano();
  small.steps = 1;
  small.accumulate = 4;
  Outcome first = trainModel(small);
  ASSERT_EQ(first.result.losses.size(), 1u);
  for (int64_t micro_batch : {1, 4, 8}) {
    Training training = small;
    training.micro_batch = micro_batch;
    training.accumulate = 8 / micro_batch;
    Outcome outcome = trainModel(training);
    ASSERT_EQ(outcome.result.losses.size(), 1u);
    EXPECT_LE(std::abs(outcome.result.losses[0] - first.result.losses[0]),
              1e-6 * first.result.losses[0])
        << training.describe();
  }
}

TEST(Dropout, FollowsTheSeed) {
  Training training = nano();
  training.accumulate = 4;
  training.seed = 5;
  Outcome first = trainModel(training);
  expectSameOutcome(first, trainModel(training), "the same seed");
  for (uint64_t seed : {uint64_t(6), uint64_t(5) << 32 | 5}) {
    training.seed = seed;
    Outcome other = trainModel(training);
    ASSERT_EQ(other.result.losses.size(), first.result.losses.size());
    EXPECT_NE(other.result.losses[0], first.result.losses[0]) << seed;
  }
}

// With a learning rate of 0 only the masks differ when the samples come around
// again, after 20 steps.
TEST(Dropout, EveryStepHasItsOwnMasks) {
  Training training = nano();
  training.micro_batch = 8;
  training.learning_rate = 0;
  training.steps = 21;
  std::vector<double> losses = trainModel(training).result.losses;
  training.dropout = 0;
  std::vector<double> off = trainModel(training).result.losses;
  ASSERT_EQ(losses.size(), 21u);
  ASSERT_EQ(off.size(), 21u);
  EXPECT_EQ(off[0], off[20]);
  EXPECT_NE(losses[0], losses[20]);
}

// Kernels that make masks read the step of the run, and those that update
// parameters what is made of the updates' number: no kernel reads both.
TEST(Dropout, MasksCountStepsAndAdamCountsUpdates) {
  plan::Plan plan = compilePlan(nano());
  std::map<uint32_t, plan::Scalar::Kind> scalars;
  for (const plan::Scalar &scalar : plan.scalars()) {
    scalars[scalar.slice()] = scalar.kind();
  }
  int masks = 0, updates = 0;
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      std::set<plan::Scalar::Kind> read;
      for (const plan::Access &access : step.accesses()) {
        if (access.mode() == plan::WRITE) {
          continue; // copied in
        }
        if (auto it = scalars.find(access.slice()); it != scalars.end()) {
          read.insert(it->second);
        }
      }
      bool counts_updates = read.count(plan::Scalar::STEP_SIZE) ||
                            read.count(plan::Scalar::BIAS_CORRECTION2_SQRT);
      EXPECT_EQ(read.count(plan::Scalar::STEP), read.count(plan::Scalar::SEED))
          << step.name();
      EXPECT_FALSE(counts_updates && read.count(plan::Scalar::STEP))
          << step.name();
      masks += read.count(plan::Scalar::STEP);
      updates += counts_updates;
    }
  }
  EXPECT_GE(masks, 13);
  EXPECT_GE(updates, 1);
}

} // namespace
} // namespace zerograph::testing
