//===- CudaOffloadTest.cpp - what the host keeps beside a GPU -------------===//
//
// The GPU, emulated, and the host's own kernels in one plan: steps of the two
// await each other by counters in pinned memory.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "tests/e2e/Matrix.h"
#include "tests/e2e/Offloads.h"
#include "tests/emulator/Nccl.h"
#include "tests/support/Says.h"

#include "absl/strings/str_cat.h"

#include <chrono>
#include <cstdlib>

namespace zerograph::testing {
namespace {

Training make(const char *model, int64_t ranks, int64_t stage,
              int64_t accumulate, const char *precision) {
  Training training{model, "model.onnx"};
  training.micro_batch = 1;
  training.ranks = ranks;
  training.zero_stage = stage;
  training.accumulate = accumulate;
  training.precision = precision;
  training.matmul = "generated";
  training.steps = 2;
  return training;
}

struct Case {
  Training training;
  Offloads what;

  std::string describe() const {
    return absl::StrCat(training.describe(), ", ", what.describe());
  }
};

std::vector<Case> sample() {
  return {{make("mlp-digits", 1, 0, 1, "fp32"), kOptimizer},
          {make("mlp-digits", 2, 1, 2, "fp16"), kOptimizer},
          {make("mlp-digits", 3, 2, 1, "fp32"), kOptimizer},
          {make("mlp-digits", 4, 3, 2, "bf16"), kParameters},
          {make("mlp-digits", 1, 3, 2, "fp32"), kParameters},
          {make("gpt2-nano", 2, 2, 1, "bf16"), kOptimizer},
          {make("gpt2-nano", 2, 3, 1, "fp32"), kParameters},
          {make("mlp-digits", 2, 1, 1, "fp32"), kFile},
          {make("mlp-digits", 2, 3, 2, "bf16"), kFileAndParameters},
          {make("mlp-digits", 2, 3, 1, "fp32"), kAllInFile},
          {make("mlp-digits", 1, 3, 2, "bf16"), kParametersInFile},
          {make("mlp-digits", 1, 0, 2, "fp16"), {"cpu", "none", "cpu"}},
          {make("mlp-digits", 2, 2, 2, "bf16"), {"cpu", "none", "cpu"}},
          {make("mlp-digits", 3, 3, 2, "fp32"), {"nvme", "nvme", "nvme"}}};
}

std::vector<Case> matrix() {
  std::vector<Case> cases;
  for (const char *precision : {"fp32", "bf16", "fp16"}) {
    for (int64_t ranks : {1, 2, 3, 4}) {
      for (int64_t accumulate : {1, 2}) {
        for (int64_t stage : {0, 1, 2, 3}) {
          for (Offloads what : offloadsOf(stage)) {
            cases.push_back(
                {make("gpt2-nano", ranks, stage, accumulate, precision), what});
          }
        }
      }
    }
  }
  return cases;
}

/// Cases under one schedule each.
class CudaOffload : public ::testing::TestWithParam<int> {};

TEST_P(CudaOffload, HasTheHostsBits) {
  static Passed passed;
  auto seed = uint32_t(GetParam() + 1);
  Case one = (matrixFile() ? matrix() : sample())[GetParam()];
  std::string what = absl::StrCat(one.describe(), ", seed ", seed);
  if (passed.has(what)) {
    return;
  }
  Outcome host = trainModel(one.training);
  Training training = offloaded(one.training, one.what);
  training.target = "cuda:emulated";
  training.graphs = seed % 2 == 0 ? Graphs::Off : Graphs::Compute;
  bool share = seed % 3 == 0 || training.ranks == 1;
  emulator::Gpu gpu(seed, share ? 1 : unsigned(training.ranks));
  emulator::Nccl nccl(gpu);
  Outcome cuda = trainModel(training);
  EXPECT_EQ(gpu.complaint(), "") << what;
  EXPECT_EQ(gpu.leftovers() + nccl.leftovers(), "") << what;
  EXPECT_TRUE(gpu.calls().contains("cuStreamWriteValue32")) << what;
  EXPECT_EQ(gpu.calls().contains("cuGraphLaunch"), seed % 2 != 0) << what;
  expectSameOutcome(host, cuda, what);
  if (!HasFailure()) {
    passed.add(what);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CudaOffload,
    ::testing::Range(0, int((matrixFile() ? matrix() : sample()).size())));

/// Tests what goes wrong with one plan.
class CudaOffloadErrors : public ::testing::Test {
protected:
  absl::Status errorOf(Training training, TrainOptions options) {
    training = offloaded(training);
    training.target = "cuda:emulated";
    Folder scratch;
    auto plan = compileInto(training, scratch.path + "/plan");
    if (!plan) {
      return absl::OkStatus();
    }
    emulator::Gpu gpu(1);
    options.data = {dataOf(training)};
    options.plan_path = scratch.path + "/plan";
    options.quiet = true;
    absl::Status status = train(*plan, options).status();
    EXPECT_EQ(gpu.complaint(), "");
    EXPECT_EQ(gpu.leftovers(), "");
    return status;
  }

  Training one = make("mlp-digits", 1, 0, 1, "fp32");
  TrainOptions options;
};

TEST_F(CudaOffloadErrors, NoGraphOfAWholeProgram) {
  options.steps = 1;
  options.graphs = Graphs::All;
  expectSays(errorOf(one, options),
             "is put in order with the host, which helps the GPU");
}

/// It is named, and ends what the GPU does: nothing is left.
TEST_F(CudaOffloadErrors, AStepOfTheHostThatFails) {
  // The first update is infinite, which the host makes.
  one.also = [](CompileOptions &compile) {
    compile.optimizer = "sgd";
    compile.momentum = 0.9;
    compile.weight_decay = 3e38;
    compile.lr = 1e4;
  };
  options.steps = 3;
  options.graphs = Graphs::Off;
  options.debug_nonfinite = true;
  options.deadline_seconds = 20;
  auto begin = std::chrono::steady_clock::now();
  expectSays(errorOf(one, options), "inf, the first value that is not finite. "
                                    "The update made it");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

/// In one queue a stream that awaits the host holds up those after it.
TEST_F(CudaOffloadErrors, MoreStreamsThanQueues) {
  options.steps = 1;
  expectSays(errorOf(make("mlp-digits", 16, 1, 1, "fp32"), options),
             "let fewer ranks share a GPU");
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  expectSays(errorOf(one, options), "unset CUDA_DEVICE_MAX_CONNECTIONS");
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  EXPECT_TRUE(errorOf(one, options).ok());
}

} // namespace
} // namespace zerograph::testing
