//===- ModelGradientTest.cpp - gradients of whole models, as PyTorch's ----===//
//
// Interprets @micro on the model's own weights and first batch. The loss and
// the norm of all gradients must be those that PyTorch computed in float64,
// every gradient those that it computed in float32. No kernel and no library
// is involved.
//
//===----------------------------------------------------------------------===//

#include "tests/passes/differentiate/ImportedModel.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace mlir::zg::testing;

namespace {

struct ModelCase {
  const char *name;
  const char *folder;
  const char *file;
  std::map<std::string, int64_t> dims;
};

void PrintTo(const ModelCase &model, std::ostream *stream) {
  *stream << model.name;
}

class ModelGradient : public ::testing::TestWithParam<ModelCase> {};

TEST_P(ModelGradient, IsPyTorchs) {
  const ModelCase &modelCase = GetParam();
  ImportedModel model(modelCase.folder, modelCase.file, modelCase.dims);
  ASSERT_TRUE(model.ok());
  std::vector<Tensor> arguments = model.weights();
  model.setBatch(arguments, 0);
  std::vector<Tensor> results = evaluate(model.function(), arguments);

  auto run = model.reference()["runs"][0];
  EXPECT_NEAR(results[0].values[0], run["losses_fp64"][0], 1e-7);
  auto expected = zerograph::readSafetensors(model.path("grads0.safetensors"));
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  EXPECT_EQ(results.size(), 1 + expected->size());
  double squares = 0;
  for (unsigned i = 1; i < results.size(); ++i) {
    std::string name = model.referenceName(model.gradientName(i));
    Tensor wanted = filled(results[i].type(), 0);
    readTensor(*expected, name, wanted);
    double worst = 0;
    for (auto [a, b] : llvm::zip(results[i].values, wanted.values)) {
      worst = std::max(worst, std::fabs(a - b));
      squares += a * a;
    }
    EXPECT_LT(worst, 1e-6) << name;
  }
  EXPECT_NEAR(std::sqrt(squares), run["grad_norm_fp64"][0], 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelGradient,
    ::testing::Values(
        ModelCase{"mlp", "mlp-digits", "model.onnx", {{"batch", 32}}},
        ModelCase{
            "gpt2", "gpt2-nano", "model.onnx", {{"batch", 8}, {"seq", 64}}},
        ModelCase{"gpt2_sdpa",
                  "gpt2-nano",
                  "model_sdpa.onnx",
                  {{"batch", 8}, {"seq", 64}}}),
    [](const auto &info) { return info.param.name; });

} // namespace
