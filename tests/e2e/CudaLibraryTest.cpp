//===- CudaLibraryTest.cpp - trainings with cuBLASLt, emulated ------------===//
//
// Products by the library of an emulated GPU, everything else by generated
// kernels: near PyTorch's numbers, and the same bits for every stage.
//
//===----------------------------------------------------------------------===//

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/Oracle.h"
#include "tests/emulator/CublasLt.h"
#include "tests/support/Says.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace zerograph::testing {
namespace {

/// On a GPU of its own, which must have nothing to complain of.
Outcome trainEmulated(Training training, uint32_t seed) {
  emulator::Gpu gpu(seed);
  Outcome outcome;
  std::string what = training.describe();
  {
    emulator::CublasLt library(gpu);
    training.target = "cuda:emulated";
    outcome = trainModel(training);
    EXPECT_GT(library.products(), 0u) << what;
    EXPECT_EQ(library.leftovers(), "") << what;
  }
  EXPECT_EQ(gpu.complaint(), "") << what;
  EXPECT_EQ(gpu.leftovers(), "") << what;
  return outcome;
}

TEST(CudaLibrary, MlpDigitsIsNearPyTorch) {
  uint32_t seed = 1;
  for (const char *run : {"sgd_momentum", "adamw"}) {
    for (int64_t stage = 0; stage < 4; ++stage) {
      int64_t ranks = stage % 2 == 0 ? 1 : 2;
      Training training{"mlp-digits", "model.onnx", run, ranks, stage};
      training.gradients = training.run == "adamw";
      Outcome outcome = trainEmulated(training, seed++);
      expectLosses(training, outcome);
      if (training.gradients) {
        expectGradients(training, outcome);
        expectFinalParameters(training, outcome);
      }
    }
  }
}

// Some steps: the emulator's kernels are slow.
TEST(CudaLibrary, Gpt2NanoIsNearPyTorch) {
  Training training{"gpt2-nano", "model.onnx", "adamw", 2, 3};
  training.gradients = true;
  training.steps = 2;
  Outcome outcome = trainEmulated(training, 7);
  expectLosses(training, outcome);
  expectGradients(training, outcome);
}

// Products of 16 bits, of which some are of 32: the losses of the host, but for
// the order of sums, and the same bits for every stage.
TEST(CudaLibrary, SixteenBitsAreNearTheHosts) {
  for (const char *precision : {"bf16", "fp16"}) {
    Training training{"mlp-digits"};
    training.precision = precision;
    training.ranks = 2;
    training.steps = 5;
    Outcome host = trainModel(training);
    Outcome first = trainEmulated(training, 3);
    ASSERT_EQ(first.result.losses.size(), host.result.losses.size());
    for (size_t step = 0; step < host.result.losses.size(); ++step) {
      EXPECT_NEAR(first.result.losses[step], host.result.losses[step], 2e-3)
          << precision << " step " << step;
    }
    training.zero_stage = 3;
    expectSameOutcome(first, trainEmulated(training, 4), training.describe());
  }
}

// Convolutions become products.
TEST(CudaLibrary, ResnetMiniIsNearPyTorch) {
  Training training{"resnet-mini", "model.onnx", "sgd"};
  training.steps = 1;
  expectLosses(training, trainEmulated(training, 8));
}

using CudaAlgorithms = FolderCase;

// The library chooses by the same, so its algorithms and the bits are the same,
// also with a file of another stage.
TEST_F(CudaAlgorithms, DoNotDependOnStagesAndBuckets) {
  Training training{"mlp-digits"};
  training.ranks = 2;
  training.micro_batch = 2;
  training.steps = 3;
  training.gradients = true;
  training.algorithms = path("algorithms");
  Outcome first = trainEmulated(training, 1);
  for (int64_t stage = 1; stage < 4; ++stage) {
    training.zero_stage = stage;
    training.bucket_bytes = 1 << (8 + stage);
    for (const char *file : {"algorithms", "own"}) {
      training.algorithms = path(file);
      Outcome other = trainEmulated(training, uint32_t(1 + stage));
      EXPECT_EQ(first.result.losses, other.result.losses);
      expectSameBits(first.parameters, other.parameters, training.describe());
      expectSameBits(first.gradients, other.gradients, training.describe());
    }
    EXPECT_EQ(contentOf(path("own")), contentOf(path("algorithms")));
    std::filesystem::remove(path("own"));
  }
  expectSays(contentOf(path("algorithms")), "product f32 1 x 2 x ");
}

// TF32 is in the plan, and makes other bits.
TEST_F(CudaAlgorithms, Tf32IsWhatThePlanSays) {
  Training training{"mlp-digits"};
  training.steps = 1;
  Outcome exact = trainEmulated(training, 1);
  training.allow_tf32 = true;
  training.algorithms = path("tf32");
  Outcome fast = trainEmulated(training, 1);
  EXPECT_FALSE(exact.plan.devices(0).allow_tf32());
  EXPECT_TRUE(fast.plan.devices(0).allow_tf32());
  EXPECT_NE(exact.parameters, fast.parameters);
  std::string text = contentOf(training.algorithms);
  expectSays(text, ", TF32 allowed, ");
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("without TF32")));
}

} // namespace
} // namespace zerograph::testing
