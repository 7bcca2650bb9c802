//===- ModelTrainingTest.cpp - training runs, as PyTorch's ----------------===//
//
// Interprets @micro and the optimizer's update for every step of the runs that
// PyTorch recorded for a small model. Every loss must be that of its float64
// run: a wrong update of one step shows in all that follow. Running statistics
// must be at the end what ONNX makes them in that run.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/differentiate/ImportedModel.h"
#include "tests/passes/differentiate/UpdateProgram.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mlir;
using namespace mlir::zg::nn;
using namespace mlir::zg::testing;

namespace {

OptimizerOptions optionsOf(const nlohmann::json &run) {
  OptimizerOptions options;
  options.kind =
      zerograph::options::findOptimizer(run["optimizer"].get<std::string>());
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

struct Case {
  const char *model;
  const char *run;
};

class ModelTraining : public ::testing::TestWithParam<Case> {
protected:
  /// All steps of the run; the parameters and running statistics are left in
  /// `arguments`.
  void train(const ImportedModel &model, std::vector<Tensor> &arguments);
};

void ModelTraining::train(const ImportedModel &model,
                          std::vector<Tensor> &arguments) {
  nlohmann::json run;
  for (const auto &candidate : model.reference()["runs"]) {
    if (candidate["name"] == GetParam().run) {
      run = candidate;
    }
  }
  ASSERT_FALSE(run.is_null());
  // One update and its parameter and states for each gradient of @micro.
  std::map<unsigned, std::unique_ptr<UpdateProgram>> updates; // by result
  std::map<unsigned, std::vector<Tensor>> persistent;
  std::vector<unsigned> places = {0};
  for (unsigned i = 1; i < model.function().getNumResults(); ++i) {
    std::string trained = model.gradientName(i);
    places.push_back(
        model.argumentOf(trained.empty() ? model.nextValueName(i) : trained));
    if (!trained.empty()) {
      updates[i] = std::make_unique<UpdateProgram>(
          optionsOf(run), arguments[places[i]].values.size());
      persistent[i] = updates[i]->start(arguments[places[i]]);
    }
  }
  int steps = run["losses_fp64"].size();
  ASSERT_GT(steps, 1);
  for (int step = 0; step < steps; ++step) {
    model.setBatch(arguments, step);
    std::vector<Tensor> results = evaluate(model.function(), arguments);
    EXPECT_NEAR(results[0].values[0], run["losses_fp64"][step], 1e-7)
        << "step " << step;
    for (unsigned i = 1; i < results.size(); ++i) {
      if (updates.count(i) != 0) {
        persistent[i] = updates[i]->step(persistent[i], results[i], step + 1);
      }
      arguments[places[i]].values =
          (updates.count(i) != 0 ? persistent[i][0] : results[i]).values;
    }
  }
}

/// An argument is the array of that name, which was stored in float32.
void expectNear(const ImportedModel &model, const zerograph::TensorFile &arrays,
                const std::string &name, const std::string &key,
                const std::vector<Tensor> &arguments) {
  const Tensor &got = arguments[model.argumentOf(name)];
  Tensor want = got;
  readTensor(arrays, key, want);
  for (size_t k = 0; k < got.values.size(); ++k) {
    EXPECT_NEAR(got.values[k], want.values[k], 1e-6) << name << " " << k;
  }
}

TEST_P(ModelTraining, IsPyTorchs) {
  ImportedModel model(GetParam().model, "model.onnx", {{"batch", 32}});
  ASSERT_TRUE(model.ok());
  std::vector<Tensor> arguments = model.weights();
  train(model, arguments);
  if (GetParam().run == std::string("adamw")) {
    auto final =
        zerograph::readSafetensors(model.path("final_adamw.safetensors"));
    ASSERT_TRUE(final.ok()) << final.status().ToString();
    for (unsigned i = 1; i < model.function().getNumResults(); ++i) {
      if (!model.gradientName(i).empty()) {
        expectNear(model, *final, model.gradientName(i), model.gradientName(i),
                   arguments);
      }
    }
  }
  // Running statistics, which follow ONNX where PyTorch's variance differs.
  auto expected =
      zerograph::readSafetensors(model.path("buffers_adamw.safetensors"));
  int statistics = 0;
  for (unsigned i = 1; i < model.function().getNumResults(); ++i) {
    std::string name = model.nextValueName(i);
    if (name.empty()) {
      continue;
    }
    ASSERT_TRUE(expected.ok()) << expected.status().ToString();
    expectNear(model, *expected, name,
               expected->count(name + ".onnx") != 0 ? name + ".onnx" : name,
               arguments);
    ++statistics;
  }
  EXPECT_EQ(statistics,
            GetParam().model == std::string("resnet-mini") ? 12 : 0);
}

INSTANTIATE_TEST_SUITE_P(Runs, ModelTraining,
                         ::testing::Values(Case{"mlp-digits", "sgd"},
                                           Case{"mlp-digits", "sgd_momentum"},
                                           Case{"mlp-digits", "adamw"},
                                           Case{"resnet-mini", "adamw"}),
                         [](const auto &info) {
                           std::string name = std::string(info.param.model) +
                                              "_" + info.param.run;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
