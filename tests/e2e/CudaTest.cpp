//===- CudaTest.cpp - trainings on an emulated GPU ------------------------===//
//
// The whole runtime of CUDA but the driver and the silicon: plans for a GPU,
// run on tests/emulator, have the bits of the host.
//
//===----------------------------------------------------------------------===//

#include "tests/e2e/Harness.h"
#include "tests/emulator/Gpu.h"

#include <gtest/gtest.h>

namespace zerograph::testing {
namespace {

/// Losses, gradients and parameters are the host's, under two schedules.
void expectTheHostsBits(Training training) {
  training.matmul = "generated";
  training.gradients = true;
  Outcome host = trainModel(training);
  training.target = "cuda:emulated";
  for (uint32_t seed : {1, 2}) {
    emulator::Gpu gpu(seed);
    Outcome cuda = trainModel(training);
    std::string what = training.describe();
    EXPECT_EQ(gpu.complaint(), "") << what;
    EXPECT_EQ(gpu.leftovers(), "") << what;
    EXPECT_GT(gpu.launches(), 0u) << what;
    ASSERT_FALSE(cuda.result.losses.empty()) << what;
    EXPECT_EQ(host.result.losses, cuda.result.losses) << what;
    expectSameBits(host.parameters, cuda.parameters, what);
    expectSameBits(host.gradients, cuda.gradients, what);
  }
}

TEST(Cuda, Mlp) {
  Training training{"mlp-digits"};
  training.steps = 3;
  expectTheHostsBits(training);
}

TEST(Cuda, MlpInTwoMicroBatches) {
  Training training{"mlp-digits"};
  training.accumulate = 2;
  training.steps = 3;
  expectTheHostsBits(training);
}

TEST(Cuda, RanksShareTheGpu) {
  for (int64_t stage = 0; stage < 4; ++stage) {
    Training training{"mlp-digits"};
    training.zero_stage = stage;
    training.ranks = stage == 0 ? 2 : 1 + stage;
    training.accumulate = 1 + stage % 2;
    training.micro_batch = 2;
    training.steps = 3;
    expectTheHostsBits(training);
  }
}

TEST(Cuda, Transformer) {
  Training training{"gpt2-nano"};
  training.ranks = 2;
  training.zero_stage = 3;
  training.micro_batch = 1;
  training.steps = 1;
  expectTheHostsBits(training);
}

TEST(Cuda, Convolutions) {
  Training training{"resnet-mini"};
  training.ranks = 2;
  training.zero_stage = 2;
  training.micro_batch = 1;
  training.steps = 1;
  expectTheHostsBits(training);
}

} // namespace
} // namespace zerograph::testing
