//===- TrainTest.cpp - trainings on this machine's GPU --------------------===//

#include <gtest/gtest.h>

#include "runtime/device/cuda/CudaApi.h"
#include "tests/e2e/CudaTrainings.h"

namespace zerograph::testing {
namespace {

class GpuTraining : public ::testing::TestWithParam<CudaTraining> {};

TEST_P(GpuTraining, HasTheHostsBits) {
  auto api = cudaApi();
  if (!api.ok()) {
    GTEST_SKIP() << api.status().message();
  }
  Training training = GetParam();
  Outcome host = trainModel(training);
  training.target = "cuda:sm_80";
  // Twice: what depends on when things run seldom does so the same way.
  for (int time = 0; time < 2; ++time) {
    expectSameOutcome(host, trainModel(training), training.describe());
  }
}

INSTANTIATE_TEST_SUITE_P(All, GpuTraining,
                         ::testing::ValuesIn(cudaTrainings()));

} // namespace
} // namespace zerograph::testing
