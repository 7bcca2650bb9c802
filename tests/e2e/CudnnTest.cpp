//===- CudnnTest.cpp - trainings with cuDNN, emulated ---------------------===//
//
// Convolutions and products by the libraries of an emulated GPU, everything
// else by generated kernels: near PyTorch's numbers, and the same bits for
// every stage.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "tests/e2e/Oracle.h"
#include "tests/emulator/CublasLt.h"
#include "tests/emulator/Cudnn.h"
#include "tests/support/Says.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace zerograph::testing {
namespace {

Training resnet() {
  Training training{"resnet-mini", "model.onnx", "sgd"};
  training.target = "cuda:emulated";
  training.convolution = "library";
  training.steps = 1;
  training.gradients = true;
  return training;
}

/// On a GPU of its own, which must have nothing to complain of.
Outcome trainEmulated(const Training &training, uint32_t seed) {
  emulator::Gpu gpu(seed);
  Outcome outcome;
  std::string what = training.describe();
  {
    emulator::CublasLt products(gpu);
    emulator::Cudnn library(gpu);
    outcome = trainModel(training);
    EXPECT_GT(library.convolutions(), 0u) << what;
    EXPECT_EQ(library.leftovers(), "") << what;
    EXPECT_EQ(products.leftovers(), "") << what;
  }
  EXPECT_EQ(gpu.complaint(), "") << what;
  EXPECT_EQ(gpu.leftovers(), "") << what;
  return outcome;
}

int countConvolutions(const plan::Plan &plan) {
  int count = 0;
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      count += step.has_convolution();
    }
  }
  return count;
}

using CudnnTraining = FolderCase;

TEST_F(CudnnTraining, ResnetMiniIsNearPyTorch) {
  Training training = resnet();
  Outcome outcome = trainEmulated(training, 1);
  expectLosses(training, outcome);
  expectGradients(training, outcome);
  EXPECT_GT(countConvolutions(outcome.plan), 10);
  EXPECT_EQ(outcome.plan.devices(0).math_library(), "cuBLASLt, cuDNN");
}

// All that the library chooses by is the same, and so are its engines and the
// bits. With a file of another stage too, in graphs and without.
TEST_F(CudnnTraining, TheSameBitsForAllStages) {
  Training training = resnet();
  training.ranks = 2;
  training.algorithms = path("algorithms");
  Outcome first = trainEmulated(training, 1);
  expectSays(contentOf(training.algorithms), "library cuBLASLt 13.1.0\n",
             "library cuDNN 9.19.0\n");
  for (int64_t stage = 1; stage < 4; ++stage) {
    training.zero_stage = stage;
    training.graphs = stage == 2 ? Graphs::Off : Graphs::Compute;
    training.algorithms = stage == 3 ? path("algorithms") : "";
    Outcome other = trainEmulated(training, uint32_t(1 + stage));
    EXPECT_EQ(first.result.losses, other.result.losses);
    expectSameBits(first.parameters, other.parameters, training.describe());
    expectSameBits(first.gradients, other.gradients, training.describe());
  }
}

// Without cuDNN where the plan was made for it.
TEST_F(CudnnTraining, WithGeneratedConvolutionsThereAreNone) {
  Training training = resnet();
  training.convolution = "generated";
  EXPECT_EQ(countConvolutions(compilePlan(training)), 0);
  training.convolution = ""; // the emulated target's default
  EXPECT_EQ(countConvolutions(compilePlan(training)), 0);
  training.target = "host";
  training.matmul = "generated";
  EXPECT_EQ(countConvolutions(compilePlan(training)), 0);
  training.convolution = "library";
  EXPECT_GT(countConvolutions(compilePlan(training)), 10);
}

} // namespace
} // namespace zerograph::testing
