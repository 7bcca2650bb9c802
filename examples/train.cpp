// Trains with a plan through the runtime's own classes, for a program that is
// built with this project: no compiler, no files of data.
//
//     train_cpp PLAN WEIGHTS.safetensors
//
// The plan is for one rank, of a model as models/mlp-digits.

#include "runtime/exec/LiveRun.h"

#include <iostream>
#include <random>

using namespace zerograph;

namespace {

constexpr uint64_t kPixels = 64, kClasses = 10;

/// An array in memory, as a batch has it.
template <typename Element>
TensorExtent extentOf(const std::string &name, plan::ElementType type,
                      std::vector<uint64_t> shape,
                      const std::vector<Element> &values) {
  TensorExtent extent;
  extent.type = type;
  extent.shape = std::move(shape);
  extent.bytes = values.size() * sizeof(Element);
  extent.file = File::ofMemory(name, values.data(), extent.bytes);
  return extent;
}

absl::Status run(const std::string &plan_path, const std::string &weights) {
  ZG_ASSIGN_OR_RETURN(LoadedPlan loaded, readPlan(plan_path));
  TrainOptions options;
  options.plan_path = plan_path;
  ZG_ASSIGN_OR_RETURN(std::unique_ptr<LiveRun> trainer,
                      LiveRun::open(loaded, options));
  uint64_t samples = samplesOfStep(loaded.plan);
  std::mt19937 random(1);
  for (int i = 0; i < 20; ++i) {
    std::vector<float> x(samples * kPixels);
    std::vector<int64_t> labels(samples);
    for (uint64_t at = 0; at < x.size(); ++at) {
      int64_t &label = labels[at / kPixels];
      label = at % kPixels == 0 ? int64_t(random() % kClasses) : label;
      bool bright = int64_t(at % kPixels / 6) == label;
      x[at] = float(bright) + float(random() % 100) / 200;
    }
    ZG_ASSIGN_OR_RETURN(
        StepResult step,
        trainer->step(
            {{"x", extentOf("x", plan::F32, {samples, kPixels}, x)},
             {"labels", extentOf("labels", plan::I64, {samples}, labels)}}));
    std::cout << "step " << i + 1 << "  loss " << step.loss << "\n";
  }
  ZG_RETURN_IF_ERROR(trainer->saveWeights(weights, /*adapters_alone=*/false));
  return trainer->end();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: train_cpp PLAN WEIGHTS.safetensors\n";
    return 2;
  }
  absl::Status status = run(argv[1], argv[2]);
  if (!status.ok()) {
    std::cerr << "train_cpp: " << status.message() << "\n";
  }
  return status.ok() ? 0 : 1;
}
