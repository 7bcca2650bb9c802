//===- CudaTest.cpp - trainings on an emulated GPU ------------------------===//
//
// The whole runtime of CUDA but the driver and the silicon: plans for a GPU,
// run on tests/emulator, have the bits of the host.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "tests/e2e/CudaTrainings.h"
#include "tests/emulator/Gpu.h"

namespace zerograph::testing {
namespace {

class Cuda : public ::testing::TestWithParam<Training> {};

/// Under two schedules.
TEST_P(Cuda, HasTheHostsBits) {
  Training training = GetParam();
  Outcome host = trainModel(training);
  training.target = "cuda:emulated";
  for (uint32_t seed : {1, 2}) {
    emulator::Gpu gpu(seed);
    Outcome cuda = trainModel(training);
    std::string what = training.describe();
    EXPECT_EQ(gpu.complaint(), "") << what;
    EXPECT_EQ(gpu.leftovers(), "") << what;
    EXPECT_GT(gpu.launches(), 0u) << what;
    expectSameOutcome(host, cuda, what);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Cuda, ::testing::ValuesIn(cudaTrainings()));

} // namespace
} // namespace zerograph::testing
