//===- CudaTrainings.cpp - what is trained on a GPU and on the host -------===//

#include "tests/e2e/CudaTrainings.h"

#include "tests/support/CoveringSample.h"

#include "absl/strings/str_cat.h"

#include <iterator>

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
    {"wide-head", "model.onnx", 16, true, true},
};
constexpr int64_t kStages = 4, kMostRanks = 4, kMostAccumulate = 2;
constexpr Exchange kExchanges[] = {Exchange::OnOneGpu, Exchange::Threads,
                                   Exchange::Processes};
constexpr const char *kPrecisions[] = {"fp32", "bf16", "fp16"};

/// One of the matrix: model, stage, ranks - 1, micro-batches - 1, exchange,
/// clipping, precision, recomputation.
using Cell = Combination;

CudaTraining trainingOf(const Cell &cell) {
  const Model &model = kModels[cell[0]];
  CudaTraining training;
  training.model = model.model;
  training.file = model.file;
  training.settings = training.model == "gpt2-nano-dropout" ? "gpt2-nano" : "";
  training.zero_stage = cell[1];
  training.ranks = cell[2] + 1;
  training.accumulate = cell[3] + 1;
  training.micro_batch = model.micro_batch;
  training.steps = 2;
  training.matmul = "generated";
  training.gradients = true;
  training.exchange = Exchange(cell[4]);
  training.clip_norm = cell[5] ? 0.01 : 0;
  training.precision = kPrecisions[cell[6]];
  training.recompute = cell[7] ? "units" : "none";
  return training;
}

std::vector<Cell> allCells(bool small) {
  std::vector<Cell> cells = allCombinations(
      {std::ssize(kModels), kStages, kMostRanks, kMostAccumulate,
       std::ssize(kExchanges), 2, std::ssize(kPrecisions), 2});
  std::erase_if(cells, [&](const Cell &cell) {
    const Model &model = kModels[cell[0]];
    int64_t ranks = cell[2] + 1;
    // One rank has nobody to exchange with.
    return (ranks == 1 && Exchange(cell[4]) != Exchange::OnOneGpu) ||
           (small && model.large && ranks > 2) ||
           (cell[6] > 0 && !model.halved);
  });
  return cells;
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

std::vector<CudaTraining> cudaTrainings() {
  std::vector<Cell> cells = allCells(/*small=*/true);
  std::vector<CudaTraining> trainings;
  for (size_t number : coveringSample(cells)) {
    trainings.push_back(trainingOf(cells[number]));
    trainings.back().steps = kModels[cells[number][0]].large ? 1 : 2;
  }
  return trainings;
}

} // namespace zerograph::testing
