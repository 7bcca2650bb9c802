//===- CudaTest.cpp - trainings on an emulated GPU ------------------------===//
//
// The whole runtime of CUDA but the driver and the silicon: plans for a GPU,
// run on tests/emulator, have the bits of the host. With ZEROGRAPH_MATRIX set
// the whole matrix: it names a file of what has passed, which another run with
// the same file does not run again.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "tests/e2e/CudaTrainings.h"
#include "tests/e2e/Matrix.h"
#include "tests/e2e/Processes.h"
#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

namespace zerograph::testing {
namespace {

/// As threads: on a GPU that the ranks share or, by NCCL, on one for each.
Outcome trainThreads(const Training &training, uint32_t seed, bool share) {
  emulator::Gpu gpu(seed, share ? 1 : unsigned(training.ranks));
  emulator::Nccl nccl(gpu);
  Outcome cuda = trainModel(training);
  std::string what = training.describe();
  EXPECT_EQ(gpu.complaint(), "") << what;
  EXPECT_EQ(gpu.leftovers() + nccl.leftovers(), "") << what;
  EXPECT_GT(gpu.launches(), 0u) << what;
  EXPECT_EQ(nccl.launches() > 0, !share) << what;
  bool graphs = gpu.calls().contains("cuGraphLaunch");
  EXPECT_EQ(graphs, training.graphs != Graphs::Off) << what;
  // To the byte: the emulator has no granules, and NCCL takes nothing there.
  EXPECT_TRUE(cuda.result.gpu) << what;
  GpuMemory memory = cuda.result.gpu.value_or(GpuMemory());
  EXPECT_EQ(memory.arenas, memory.all - memory.before - memory.code) << what;
  EXPECT_GT(memory.arenas, 0u) << what;
  return cuda;
}

void expectHostsBits(CudaTraining training, const Outcome &host,
                     uint32_t seed) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  training.target = "cuda:emulated";
  Outcome cuda = training.exchange == Exchange::Processes
                     ? trainProcesses(training, seed)
                     : trainThreads(training, seed,
                                    training.exchange == Exchange::OnOneGpu);
  EXPECT_FALSE(cuda.states.empty() || cuda.gradients.empty());
  expectSameOutcome(host, cuda, training.describe());
}

/// A training by its number, and the schedule of the emulator.
struct Scheduled {
  CudaTraining training;
  uint32_t seed;
};

/// Returns each of the matrix under one schedule of twenty, and each of the
/// sample under two.
std::vector<Scheduled> makeSchedules() {
  std::vector<Scheduled> all;
  if (matrixFile()) {
    for (const CudaTraining &training : allCudaTrainings()) {
      all.push_back({training, uint32_t(all.size() % 20 + 1)});
    }
    return all;
  }
  for (uint32_t seed : {1u, 2u}) {
    for (const CudaTraining &training : cudaTrainings()) {
      all.push_back({training, seed});
    }
  }
  return all;
}

const std::vector<Scheduled> &scheduled() {
  static const std::vector<Scheduled> all = makeSchedules();
  return all;
}

class Cuda : public ::testing::TestWithParam<size_t> {};

/// Collectives of ranks that are threads cannot be recorded.
Graphs graphsOf(const CudaTraining &training, uint32_t seed) {
  std::vector<Graphs> ways = {Graphs::Compute, Graphs::Off};
  if (training.ranks == 1 || training.exchange == Exchange::Processes) {
    ways = {Graphs::Compute, Graphs::All, Graphs::Off};
  }
  return ways[(seed - 1) % ways.size()];
}

/// Every way to give a GPU its steps in turn.
TEST_P(Cuda, HasTheHostsBits) {
  static Passed passed;
  auto [training, seed] = scheduled()[GetParam()];
  std::string name = absl::StrCat(training.describe(), ", seed ", seed);
  if (passed.has(name)) {
    return;
  }
  training.graphs = graphsOf(training, seed);
  expectHostsBits(training, trainModel(training), seed);
  if (!HasFailure()) {
    passed.add(name);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Cuda,
                         ::testing::Range(size_t(0), scheduled().size()));

/// Tiles of hidden layers, which are computed again one at a time.
TEST(CudaTiles, OfHiddenLayers) {
  CudaTraining training;
  training.model = "gpt2-nano";
  training.micro_batch = 2;
  training.matmul = "generated";
  training.recompute = "units";
  training.steps = 1;
  training.gradients = true;
  plan::Plan whole = compilePlan(training);
  training.also = [](CompileOptions &options) { options.hidden_tile = 1; };
  Outcome host = trainModel(training);
  EXPECT_GT(host.plan.programs(0).steps_size(), whole.programs(0).steps_size());
  expectHostsBits(training, host, 1);
}

/// One rank trains: collectives cannot be recorded.
TEST(CudaGraphs, OfWholePrograms) {
  for (int64_t accumulate : {1, 2}) {
    CudaTraining training;
    training.model = "mlp-digits";
    training.matmul = "generated";
    training.accumulate = accumulate;
    training.steps = 3;
    training.gradients = true;
    Outcome host = trainModel(training);
    training.graphs = Graphs::All;
    expectHostsBits(training, host, 3);
  }
}

} // namespace
} // namespace zerograph::testing
