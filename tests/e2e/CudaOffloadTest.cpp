//===- CudaOffloadTest.cpp - what the host keeps beside a GPU -------------===//
//
// The GPU, emulated, and the host's own kernels in one plan: steps of the two
// await each other by counters in pinned memory.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "tests/e2e/Harness.h"
#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

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

void expectHostsBits(const Training &plain, bool parameters, Graphs graphs,
                     uint32_t seed, const char *optimizer = "cpu",
                     const char *param = "cpu") {
  Outcome host = trainModel(plain);
  Training training = plain;
  training.target = "cuda:emulated";
  training.graphs = graphs;
  training.also = [=](CompileOptions &options) {
    options.offload_optimizer = optimizer;
    options.offload_param = parameters ? param : "none";
  };
  std::string what = absl::StrCat(training.describe(), ", seed ", seed);
  bool share = seed % 2 == 0 || training.ranks == 1;
  emulator::Gpu gpu(seed, share ? 1 : unsigned(training.ranks));
  emulator::Nccl nccl(gpu);
  Outcome cuda = trainModel(training);
  EXPECT_EQ(gpu.complaint(), "") << what;
  EXPECT_EQ(gpu.leftovers() + nccl.leftovers(), "") << what;
  EXPECT_TRUE(gpu.calls().contains("cuStreamWriteValue32")) << what;
  EXPECT_EQ(gpu.calls().contains("cuGraphLaunch"), graphs != Graphs::Off)
      << what;
  expectSameOutcome(host, cuda, what);
}

TEST(CudaOffload, HasTheHostsBits) {
  expectHostsBits(make("mlp-digits", 1, 0, 1, "fp32"), false, Graphs::Compute,
                  1);
  expectHostsBits(make("mlp-digits", 2, 1, 2, "fp16"), false, Graphs::Off, 2);
  expectHostsBits(make("mlp-digits", 3, 2, 1, "fp32"), false, Graphs::Compute,
                  3);
  expectHostsBits(make("mlp-digits", 4, 3, 2, "bf16"), true, Graphs::Off, 4);
  expectHostsBits(make("mlp-digits", 1, 3, 2, "fp32"), true, Graphs::Compute,
                  5);
  expectHostsBits(make("gpt2-nano", 2, 2, 1, "bf16"), false, Graphs::Compute,
                  6);
  expectHostsBits(make("gpt2-nano", 2, 3, 1, "fp32"), true, Graphs::Compute, 7);
  expectHostsBits(make("mlp-digits", 2, 1, 1, "fp32"), false, Graphs::Compute,
                  8, "nvme");
  expectHostsBits(make("mlp-digits", 2, 3, 2, "bf16"), true, Graphs::Off, 9,
                  "nvme");
  expectHostsBits(make("mlp-digits", 2, 3, 1, "fp32"), true, Graphs::Compute,
                  10, "nvme", "nvme");
  expectHostsBits(make("mlp-digits", 1, 3, 2, "bf16"), true, Graphs::Off, 11,
                  "cpu", "nvme");
}

TEST(CudaOffload, IsNotRecordedAsOneGraph) {
  Training training = make("mlp-digits", 1, 0, 1, "fp32");
  training.also = [](CompileOptions &options) {
    options.offload_optimizer = "cpu";
  };
  training.target = "cuda:emulated";
  Scratch scratch;
  auto plan = compileInto(training, scratch.path + "/plan");
  ASSERT_TRUE(plan);
  emulator::Gpu gpu(1);
  TrainOptions options;
  options.data = {dataOf(training)};
  options.plan_path = scratch.path + "/plan";
  options.steps = 1;
  options.graphs = Graphs::All;
  absl::StatusOr<TrainResult> result = train(*plan, options);
  EXPECT_NE(result.status().message().find(
                "is put in order with the host, which helps the GPU"),
            std::string::npos)
      << result.status();
}

} // namespace
} // namespace zerograph::testing
