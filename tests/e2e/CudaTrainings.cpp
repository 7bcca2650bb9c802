//===- CudaTrainings.cpp - what is trained on a GPU and on the host -------===//

#include "tests/e2e/CudaTrainings.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace zerograph::testing {
namespace {

struct Model {
  const char *model, *file;
  int64_t micro_batch;
  bool large; // takes the emulator seconds a step and rank
};

constexpr Model kModels[] = {
    {"mlp-digits", "model.onnx", 2, false},
    {"resnet-mini", "model.onnx", 1, false},
    {"resnet-mini", "model_ts.onnx", 1, false},
    {"gpt2-nano", "model.onnx", 1, true},
    {"gpt2-nano", "model_ts.onnx", 1, true},
    {"gpt2-nano-dropout", "model.onnx", 1, true},
};
constexpr int64_t kStages = 4, kMostRanks = 4, kMostAccumulate = 2;

/// One of the matrix: model, stage, ranks, micro-batches.
using Cell = std::array<int64_t, 4>;

Training trainingOf(const Cell &cell) {
  const Model &model = kModels[cell[0]];
  Training training;
  training.model = model.model;
  training.file = model.file;
  training.settings = training.model == "gpt2-nano-dropout" ? "gpt2-nano" : "";
  training.zero_stage = cell[1];
  training.ranks = cell[2];
  training.accumulate = cell[3];
  training.micro_batch = model.micro_batch;
  training.steps = 2;
  training.matmul = "generated";
  training.gradients = true;
  return training;
}

std::vector<Cell> allCells(bool small) {
  std::vector<Cell> cells;
  for (int64_t model = 0; model < int64_t(std::size(kModels)); ++model) {
    int64_t most = small && kModels[model].large ? 2 : kMostRanks;
    for (int64_t stage = 0; stage < kStages; ++stage) {
      for (int64_t ranks = 1; ranks <= most; ++ranks) {
        for (int64_t accumulate = 1; accumulate <= kMostAccumulate;
             ++accumulate) {
          cells.push_back({model, stage, ranks, accumulate});
        }
      }
    }
  }
  return cells;
}

/// Two values: which, and what they are.
using Pair = std::array<int64_t, 4>;

std::set<Pair> pairsOf(const Cell &cell) {
  std::set<Pair> pairs;
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = i + 1; j < 4; ++j) {
      pairs.insert({i, cell[size_t(i)], j, cell[size_t(j)]});
    }
  }
  return pairs;
}

} // namespace

std::vector<Training> allCudaTrainings() {
  std::vector<Training> trainings;
  for (const Cell &cell : allCells(/*small=*/false)) {
    trainings.push_back(trainingOf(cell));
  }
  return trainings;
}

// Again and again the cell with most pairs that none has yet.
std::vector<Training> cudaTrainings() {
  std::vector<Cell> cells = allCells(/*small=*/true);
  std::set<Pair> left;
  for (const Cell &cell : cells) {
    left.merge(pairsOf(cell));
  }
  std::vector<Training> trainings;
  while (!left.empty()) {
    const Cell *best = nullptr;
    size_t most = 0;
    for (const Cell &cell : cells) {
      size_t fresh = 0;
      for (const Pair &pair : pairsOf(cell)) {
        fresh += left.contains(pair);
      }
      if (fresh > most) {
        best = &cell;
        most = fresh;
      }
    }
    for (const Pair &pair : pairsOf(*best)) {
      left.erase(pair);
    }
    trainings.push_back(trainingOf(*best));
    trainings.back().steps = kModels[(*best)[0]].large ? 1 : 2;
  }
  return trainings;
}

void expectSameOutcome(const Outcome &host, const Outcome &cuda,
                       const std::string &what) {
  ASSERT_FALSE(cuda.result.losses.empty()) << what;
  EXPECT_EQ(host.result.losses, cuda.result.losses) << what;
  expectSameBits(host.parameters, cuda.parameters, what);
  expectSameBits(host.gradients, cuda.gradients, what);
}

} // namespace zerograph::testing
