//===- ConvolutionTest.cpp - convolutions by cuDNN on this machine's GPU --===//

#include <gtest/gtest.h>

#include "runtime/device/cuda/CublasLtApi.h"
#include "runtime/device/cuda/CudnnApi.h"
#include "tests/e2e/CudaTrainings.h"
#include "tests/e2e/Oracle.h"
#include "tests/support/CudnnRun.h"

namespace zerograph::testing {
namespace {

class GpuConvolution : public ::testing::Test {
protected:
  void SetUp() override {
    for (const absl::Status &status :
         {cudaApi().status(), cudnnApi().status(), cublasLtApi().status()}) {
      if (!status.ok()) {
        GTEST_SKIP() << status.message();
      }
    }
  }
};

// Tests what cannot be seen without a GPU: that the engines do what was
// understood of them, without TF32.
TEST_F(GpuConvolution, AgreesWithLoops) {
  const std::pair<plan::ElementType, double> kTypes[] = {{plan::F32, 1e-5},
                                                         {plan::F64, 1e-12},
                                                         {plan::F16, 5e-4},
                                                         {plan::BF16, 4e-3}};
  for (const ConvolutionShape &shape : convolutionShapes()) {
    for (plan::ConvolutionKind kind : kConvolutionKinds) {
      for (const auto &[type, most] : kTypes) {
        OneConvolution one(shape, kind, type, 8 << 20);
        std::string memory = one.memory();
        auto choices = runCudnn(one, memory);
        ASSERT_TRUE(choices.ok()) << shape.name << ": " << choices.status();
        EXPECT_LT(one.error(one.result(memory)), most)
            << shape.name << " kind " << kind << ", " << *choices;
        std::string again = one.memory();
        ASSERT_TRUE(runCudnn(one, again).ok());
        EXPECT_EQ(one.result(again), one.result(memory)) << shape.name;
      }
    }
  }
}

TEST_F(GpuConvolution, ResnetMiniIsNearPyTorchAndTheSameEachTime) {
  Training training{"resnet-mini", "model.onnx", "sgd"};
  training.target = "cuda:native";
  training.convolution = "library";
  training.steps = 3;
  training.gradients = true;
  Outcome first = trainModel(training);
  expectLosses(training, first);
  expectGradients(training, first);
  // Stages change nothing, and neither does what else the GPU does.
  training.ranks = 2;
  first = trainModel(training);
  for (int time = 0; time < 20; ++time) {
    training.zero_stage = time % 4;
    expectSameOutcome(first, trainModel(training), training.describe());
  }
}

} // namespace
} // namespace zerograph::testing
