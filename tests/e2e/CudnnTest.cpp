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

std::vector<const plan::Step *> convolutionsOf(const plan::Plan &plan) {
  std::vector<const plan::Step *> found;
  for (const plan::Program &program : plan.programs()) {
    for (const plan::Step &step : program.steps()) {
      if (step.has_convolution()) {
        found.push_back(&step);
      }
    }
  }
  return found;
}

size_t countConvolutions(const plan::Plan &plan) {
  return convolutionsOf(plan).size();
}

using CudnnTraining = FolderCase;

TEST_F(CudnnTraining, ResnetMiniIsNearPyTorch) {
  Training training = resnet();
  Outcome outcome = trainEmulated(training, 1);
  expectLosses(training, outcome);
  expectGradients(training, outcome);
  EXPECT_GT(countConvolutions(outcome.plan), 10u);
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

// Tensor cores multiply 16 bits, and PyTorch's losses are as near as with the
// CPU. Stages change no bits.
TEST_F(CudnnTraining, SixteenBits) {
  const std::tuple<const char *, plan::ElementType, double> kPrecisions[] = {
      {"bf16", plan::BF16, 0.01}, {"fp16", plan::F16, 0.002}};
  for (auto [precision, type, tolerance] : kPrecisions) {
    Training training = resnet();
    training.precision = precision;
    training.also = [](CompileOptions &options) {
      options.initial_scale_power = 8; // no step is skipped
    };
    Outcome outcome = trainEmulated(training, 1);
    for (const plan::Step *step : convolutionsOf(outcome.plan)) {
      EXPECT_EQ(step->convolution().element_type(), type) << step->name();
    }
    double expected =
        loadReference(training.model).runs.at(training.run).losses.at(0);
    EXPECT_NEAR(outcome.result.losses.at(0) / expected, 1, tolerance);
    training.ranks = 2;
    outcome = trainEmulated(training, 2);
    training.zero_stage = 3;
    expectSameOutcome(outcome, trainEmulated(training, 3), precision);
  }
}

// Without cuDNN where the plan was made for it.
TEST_F(CudnnTraining, WithGeneratedConvolutionsThereAreNone) {
  Training training = resnet();
  training.convolution = "generated";
  EXPECT_EQ(countConvolutions(compilePlan(training)), 0u);
  training.convolution = ""; // the emulated target's default
  EXPECT_EQ(countConvolutions(compilePlan(training)), 0u);
  training.target = "host";
  training.matmul = "generated";
  EXPECT_EQ(countConvolutions(compilePlan(training)), 0u);
  training.convolution = "library";
  EXPECT_GT(countConvolutions(compilePlan(training)), 10u);
}

} // namespace
} // namespace zerograph::testing
