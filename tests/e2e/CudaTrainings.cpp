//===- CudaTrainings.cpp - what is trained on a GPU and on the host -------===//

#include "tests/e2e/CudaTrainings.h"

#include "absl/strings/str_cat.h"

#include <array>
#include <set>

namespace zerograph::testing {
namespace {

struct Model {
  const char *model, *file;
  int64_t micro_batch;
  bool large;  // takes the emulator seconds a step and rank
  bool halved; // also in 16 bits
};

constexpr Model kModels[] = {
    {"mlp-digits", "model.onnx", 2, false, true},
    {"resnet-mini", "model.onnx", 1, false, false},
    {"resnet-mini", "model_ts.onnx", 1, false, false},
    {"gpt2-nano", "model.onnx", 1, true, true},
    {"gpt2-nano", "model_ts.onnx", 1, true, false},
    {"gpt2-nano-dropout", "model.onnx", 1, true, false},
};
constexpr int64_t kStages = 4, kMostRanks = 4, kMostAccumulate = 2;
constexpr Exchange kExchanges[] = {Exchange::OnOneGpu, Exchange::Threads,
                                   Exchange::Processes};
constexpr const char *kPrecisions[] = {"fp32", "bf16", "fp16"};

/// One of the matrix: model, stage, ranks, micro-batches, exchange, clipping,
/// precision.
using Cell = std::array<int64_t, 7>;

CudaTraining trainingOf(const Cell &cell) {
  const Model &model = kModels[cell[0]];
  CudaTraining training;
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
  training.exchange = Exchange(cell[4]);
  training.clip_norm = cell[5] ? 0.01 : 0;
  training.precision = kPrecisions[cell[6]];
  return training;
}

int64_t precisionsOf(const Model &model) {
  return model.halved ? std::size(kPrecisions) : 1;
}

std::vector<Cell> allCells(bool small) {
  std::vector<Cell> cells;
  for (int64_t model = 0; model < int64_t(std::size(kModels)); ++model) {
    int64_t most = small && kModels[model].large ? 2 : kMostRanks;
    for (int64_t stage = 0; stage < kStages; ++stage) {
      for (int64_t ranks = 1; ranks <= most; ++ranks) {
        for (int64_t accumulate = 1; accumulate <= kMostAccumulate;
             ++accumulate) {
          for (Exchange exchange : kExchanges) {
            // One rank has nobody to exchange with.
            if (ranks == 1 && exchange != Exchange::OnOneGpu) {
              continue;
            }
            for (int64_t clip : {0, 1}) {
              Cell cell = {model, stage, ranks, accumulate, int64_t(exchange),
                           clip};
              for (cell[6] = 0; cell[6] < precisionsOf(kModels[model]);
                   ++cell[6]) {
                cells.push_back(cell);
              }
            }
          }
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
  for (size_t i = 0; i < cell.size(); ++i) {
    for (size_t j = i + 1; j < cell.size(); ++j) {
      pairs.insert({int64_t(i), cell[i], int64_t(j), cell[j]});
    }
  }
  return pairs;
}

} // namespace

std::string CudaTraining::describe() const {
  static constexpr const char *names[] = {"on one GPU", "as threads",
                                          "as processes"};
  return absl::StrCat(Training::describe(), ", ranks ", names[int(exchange)]);
}

std::vector<CudaTraining> allCudaTrainings() {
  std::vector<CudaTraining> trainings;
  for (const Cell &cell : allCells(/*small=*/false)) {
    trainings.push_back(trainingOf(cell));
  }
  return trainings;
}

// Again and again the cell with most pairs that none has yet.
std::vector<CudaTraining> cudaTrainings() {
  std::vector<Cell> cells = allCells(/*small=*/true);
  std::set<Pair> left;
  for (const Cell &cell : cells) {
    left.merge(pairsOf(cell));
  }
  std::vector<CudaTraining> trainings;
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

} // namespace zerograph::testing
