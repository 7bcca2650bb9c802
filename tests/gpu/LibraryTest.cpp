//===- LibraryTest.cpp - products by cuBLASLt on this machine's GPU -------===//

#include <gtest/gtest.h>

#include "runtime/device/cuda/CublasLtApi.h"
#include "tests/e2e/CudaTrainings.h"
#include "tests/e2e/Oracle.h"

namespace zerograph::testing {
namespace {

/// The run's numbers; with TF32, of 11 bits, they would be off.
class GpuLibrary : public ::testing::TestWithParam<const char *> {};

TEST_P(GpuLibrary, IsNearPyTorchAndTheSameEachTime) {
  for (const absl::Status &status :
       {cudaApi().status(), cublasLtApi().status()}) {
    if (!status.ok()) {
      GTEST_SKIP() << status.message();
    }
  }
  Training training{GetParam()};
  training.target = "cuda:native";
  training.steps = 3;
  training.gradients = true;
  Outcome first = trainModel(training);
  expectLosses(training, first);
  expectGradients(training, first);
  // Stages change nothing, and neither does what else the GPU does.
  training.ranks = 2;
  first = trainModel(training);
  for (int time = 0; time < 100; ++time) {
    training.zero_stage = time % 4;
    expectSameOutcome(first, trainModel(training), training.describe());
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuLibrary,
                         ::testing::Values("mlp-digits", "gpt2-nano"));

} // namespace
} // namespace zerograph::testing
