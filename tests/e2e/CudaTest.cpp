//===- CudaTest.cpp - trainings on an emulated GPU ------------------------===//
//
// The whole runtime of CUDA but the driver and the silicon: plans for a GPU,
// run on tests/emulator, have the bits of the host. The whole matrix with
// ZEROGRAPH_FULL set, under twenty schedules; ZEROGRAPH_PASSED then names a
// file of what has passed, which is not run again by a run with the same file.
//
//===----------------------------------------------------------------------===//

#include <gtest/gtest.h>

#include "tests/e2e/CudaTrainings.h"
#include "tests/emulator/Nccl.h"

#include "absl/strings/str_cat.h"

#include <cstdlib>
#include <fstream>
#include <set>

namespace zerograph::testing {
namespace {

bool full() {
  const char *value = std::getenv("ZEROGRAPH_FULL");
  return value && *value;
}

/// Names, kept in a file if one is given.
class Passed {
public:
  Passed() {
    if (const char *path = std::getenv("ZEROGRAPH_PASSED")) {
      std::ifstream known(path);
      for (std::string line; std::getline(known, line);) {
        names.insert(line);
      }
      file.open(path, std::ios::app);
    }
  }
  bool has(const std::string &name) const { return names.contains(name); }
  void add(const std::string &name) { file << name << std::endl; }

private:
  std::set<std::string> names;
  std::ofstream file;
};

/// On a GPU that the ranks share or, by NCCL, on one for each.
void expectHostsBits(Training training, const Outcome &host, uint32_t seed,
                     bool share) {
  emulator::Gpu gpu(seed, share ? 1 : unsigned(training.ranks));
  emulator::Nccl nccl(gpu);
  training.target = "cuda:emulated";
  Outcome cuda = trainModel(training);
  std::string what = absl::StrCat(training.describe(), ", seed ", seed);
  EXPECT_EQ(gpu.complaint(), "") << what;
  EXPECT_EQ(gpu.leftovers() + nccl.leftovers(), "") << what;
  EXPECT_GT(gpu.launches(), 0u) << what;
  EXPECT_EQ(nccl.launches() > 0, !share && training.ranks > 1) << what;
  // To the byte: the emulator has no granules, and NCCL takes nothing there.
  ASSERT_TRUE(cuda.result.gpu) << what;
  EXPECT_EQ(cuda.result.gpu->arenas, cuda.result.gpu->all -
                                         cuda.result.gpu->before -
                                         cuda.result.gpu->code)
      << what;
  EXPECT_GT(cuda.result.gpu->arenas, 0u) << what;
  bool graphs = gpu.calls().contains("cuGraphLaunch");
  EXPECT_EQ(graphs, training.graphs != Graphs::Off) << what;
  expectSameOutcome(host, cuda, what);
}

class Cuda : public ::testing::TestWithParam<Training> {};

/// Graphs and single steps, a shared GPU and one for each, in turn.
TEST_P(Cuda, HasTheHostsBits) {
  Training training = GetParam();
  Passed passed;
  std::optional<Outcome> host;
  for (uint32_t seed = 1; seed <= (full() ? 20 : 2); ++seed) {
    std::string name = absl::StrCat(training.describe(), ", seed ", seed);
    if (passed.has(name)) {
      continue;
    }
    if (!host) {
      host = trainModel(training);
    }
    Training on_gpu = training;
    on_gpu.graphs = seed % 2 == 1 ? Graphs::Compute : Graphs::Off;
    expectHostsBits(on_gpu, *host, seed, /*share=*/seed % 4 < 2);
    if (!HasFailure()) {
      passed.add(name);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Cuda,
                         ::testing::ValuesIn(full() ? allCudaTrainings()
                                                    : cudaTrainings()));

/// Of one rank: collectives cannot be recorded.
TEST(CudaGraphs, OfWholePrograms) {
  for (int64_t accumulate : {1, 2}) {
    Training training{"mlp-digits"};
    training.matmul = "generated";
    training.accumulate = accumulate;
    training.steps = 3;
    training.gradients = true;
    Outcome host = trainModel(training);
    training.graphs = Graphs::All;
    expectHostsBits(training, host, 3, /*share=*/true);
  }
}

} // namespace
} // namespace zerograph::testing
