//===- ModelTrainingTest.cpp - training runs, as PyTorch's ----------------===//
//
// Interprets @micro and the optimizer's update for every step of the runs that
// PyTorch recorded for a small model. Every loss must be that of its float64
// run: a wrong update of one step shows in all that follow.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/differentiate/ImportedModel.h"
#include "tests/passes/differentiate/UpdateProgram.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

OptimizerOptions optionsOf(const nlohmann::json &run) {
  OptimizerOptions options;
  std::string kind = run["optimizer"];
  options.kind = kind == "sgd"    ? OptimizerOptions::sgd
                 : kind == "adam" ? OptimizerOptions::adam
                                  : OptimizerOptions::adamw;
  options.lr = run["lr"];
  options.momentum = run.value("momentum", 0.0);
  options.nesterov = run.value("nesterov", false);
  options.weight_decay = run["weight_decay"];
  if (run.contains("betas")) {
    options.beta1 = run["betas"][0];
    options.beta2 = run["betas"][1];
    options.eps = run["eps"];
  }
  return options;
}

class ModelTraining : public ::testing::TestWithParam<const char *> {};

TEST_P(ModelTraining, IsPyTorchs) {
  ImportedModel model("mlp-digits", "model.onnx", {{"batch", 32}});
  ASSERT_TRUE(model.ok());
  nlohmann::json run;
  for (const auto &candidate : model.reference()["runs"]) {
    if (candidate["name"] == GetParam()) {
      run = candidate;
    }
  }
  ASSERT_FALSE(run.is_null());

  std::vector<Tensor> arguments = model.weights();
  // One update and its parameter and states for each gradient of @micro.
  std::vector<std::unique_ptr<UpdateProgram>> updates;
  std::vector<std::vector<Tensor>> persistent;
  std::vector<unsigned> places;
  for (unsigned i = 1; i < model.function().getNumResults(); ++i) {
    places.push_back(model.argumentOf(model.gradientName(i)));
    updates.push_back(std::make_unique<UpdateProgram>(
        optionsOf(run), arguments[places.back()].values.size()));
    persistent.push_back(updates.back()->start(arguments[places.back()]));
  }
  int steps = run["losses_fp64"].size();
  ASSERT_GT(steps, 1);
  for (int step = 0; step < steps; ++step) {
    model.setBatch(arguments, step);
    std::vector<Tensor> results = evaluate(model.function(), arguments);
    EXPECT_NEAR(results[0].values[0], run["losses_fp64"][step], 1e-7)
        << "step " << step;
    for (size_t i = 0; i < updates.size(); ++i) {
      persistent[i] = updates[i]->step(persistent[i], results[1 + i], step + 1);
      arguments[places[i]].values = persistent[i][0].values;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, ModelTraining,
                         ::testing::Values("sgd", "sgd_momentum", "adamw"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
