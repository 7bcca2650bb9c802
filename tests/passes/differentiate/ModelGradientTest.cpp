//===- ModelGradientTest.cpp - gradients of whole models, as PyTorch's ----===//
//
// Imports a model, differentiates and decomposes it, and interprets the result
// on the model's own weights and first batch. The loss and the norm of all
// gradients must be those that PyTorch computed in float64, every gradient
// those that it computed in float32. No kernel and no library is involved.
//
//===----------------------------------------------------------------------===//

#include "frontend/Import.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/Rules.h"
#include "runtime/io/TensorFile.h"
#include "tests/support/Interpreter.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

using namespace mlir;
using namespace mlir::zg::testing;
namespace nn = mlir::zg::nn;

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

class ModelGradient : public ::testing::TestWithParam<ModelCase> {
protected:
  std::string path(const std::string &file) const {
    return std::string(ZEROGRAPH_MODELS) + "/" + GetParam().folder + "/" + file;
  }

  /// Fills a tensor from plain little-endian bytes of its type.
  void read(const zerograph::File &file, uint64_t offset, Tensor &tensor) {
    uint64_t size = nn::elementBytes(tensor.element);
    std::vector<char> bytes(size * tensor.values.size());
    ASSERT_TRUE(file.read(offset, bytes.size(), bytes.data()).ok());
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      const char *from = bytes.data() + i * size;
      if (tensor.element.isF32()) {
        tensor.values[i] = *reinterpret_cast<const float *>(from);
      } else {
        ASSERT_TRUE(tensor.element.isInteger(64));
        tensor.values[i] = *reinterpret_cast<const int64_t *>(from);
      }
    }
  }

  /// The first elements of a named array.
  void read(const zerograph::TensorFile &arrays, const std::string &name,
            Tensor &tensor) {
    auto found = arrays.find(name);
    ASSERT_NE(found, arrays.end()) << name;
    read(*found->second.file, found->second.offset, tensor);
  }

  /// The module with @micro in the form that kernels are made of.
  OwningOpRef<ModuleOp> compile(MLIRContext &context) {
    zerograph::frontend::ImportOptions options;
    options.dims = GetParam().dims;
    auto module = zerograph::frontend::importModel(
        context, path(GetParam().file), options, nullptr);
    if (!module.ok()) {
      ADD_FAILURE() << module.status().ToString();
      return {};
    }
    PassManager manager(&context);
    manager.addPass(nn::createDifferentiate());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    manager.addNestedPass<func::FuncOp>(nn::createDecompose());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
    EXPECT_TRUE(succeeded(manager.run(**module)));
    return std::move(*module);
  }

  /// The weights in the model's file and the first batch.
  std::vector<Tensor> arguments(func::FuncOp micro) {
    std::vector<Tensor> tensors;
    auto batches = zerograph::readSafetensors(path("batches.safetensors"));
    EXPECT_TRUE(batches.ok()) << batches.status().ToString();
    for (unsigned i = 0; i < micro.getNumArguments(); ++i) {
      tensors.push_back(filled(micro.getArgumentTypes()[i], 0));
      if (auto input =
              micro.getArgAttrOfType<nn::InputAttr>(i, nn::kInputAttr)) {
        read(*batches, input.getName().str(), tensors.back());
        continue;
      }
      nn::SourceAttr source =
          micro.getArgAttrOfType<nn::ParameterAttr>(i, nn::kParameterAttr)
              .getSource();
      auto file = zerograph::File::openForReading(
          path(source.getFile().getValue().str()));
      EXPECT_TRUE(file.ok()) << file.status().ToString();
      read(**file, source.getOffset(), tensors.back());
    }
    return tensors;
  }
};

TEST_P(ModelGradient, IsPyTorchs) {
  DialectRegistry registry;
  nn::registerGradientRules(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = compile(context);
  ASSERT_TRUE(module);
  auto micro = module->lookupSymbol<func::FuncOp>(nn::kMicroFunction);
  ASSERT_TRUE(micro);
  std::vector<Tensor> results = evaluate(micro, arguments(micro));

  std::ifstream stream(path("reference.json"));
  auto reference = nlohmann::json::parse(stream);
  auto run = reference["runs"][0];
  EXPECT_NEAR(results[0].values[0], run["losses_fp64"][0], 1e-7);

  // A tied weight may have another name in the file than in the reference.
  auto tied = reference["variants"][0]["tied_names_in_state_dict"];
  auto expected = zerograph::readSafetensors(path("grads0.safetensors"));
  ASSERT_TRUE(expected.ok()) << expected.status().ToString();
  EXPECT_EQ(results.size(), 1 + expected->size());
  double squares = 0;
  for (unsigned i = 1; i < results.size(); ++i) {
    std::string name =
        micro.getResultAttrOfType<StringAttr>(i, nn::kGradientAttr)
            .getValue()
            .str();
    name = tied.value(name, name);
    Tensor wanted = filled(micro.getResultTypes()[i], 0);
    read(*expected, name, wanted);
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
