//===- ImportedModel.cpp - @micro of a model of the repository ------------===//

#include "tests/passes/differentiate/ImportedModel.h"

#include "frontend/Import.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/Rules.h"
#include "passes/kernels/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

using namespace mlir;
using namespace mlir::zg::testing;
namespace nn = mlir::zg::nn;

namespace {

DialectRegistry makeRegistry() {
  DialectRegistry registry;
  nn::registerGradientRules(registry);
  return registry;
}

template <typename T>
double load(const char *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return static_cast<double>(value);
}

} // namespace

ImportedModel::ImportedModel(const std::string &folder, const std::string &file,
                             const std::map<std::string, int64_t> &dims)
    : folder(folder),
      context(makeRegistry(), MLIRContext::Threading::DISABLED) {
  std::ifstream stream(path("reference.json"));
  references = nlohmann::json::parse(stream);
  zerograph::frontend::ImportOptions options;
  options.dims = dims;
  auto imported = zerograph::frontend::importModel(context, path(file), options,
                                                   /*report=*/nullptr);
  if (!imported.ok()) {
    ADD_FAILURE() << imported.status().ToString();
    return;
  }
  module = std::move(*imported);
  PassManager manager(&context);
  manager.addPass(nn::createDifferentiate());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addNestedPass<nn::ProgramOp>(nn::createDecompose());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (failed(manager.run(*module))) {
    ADD_FAILURE() << "a pass failed";
    return;
  }
  micro = module->lookupSymbol<nn::ProgramOp>(nn::kMicroFunction);
}

std::string ImportedModel::path(const std::string &file) const {
  return std::string(ZEROGRAPH_MODELS) + "/" + folder + "/" + file;
}

std::vector<Tensor> ImportedModel::weights() const {
  nn::ProgramOp func = micro;
  std::vector<Tensor> tensors;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    tensors.push_back(filled(func.getArgumentTypes()[i], 0));
    auto parameter =
        func.getArgAttrOfType<nn::ParameterAttr>(i, nn::kParameterAttr);
    if (!parameter) {
      continue;
    }
    nn::SourceAttr source = parameter.getSource();
    auto file = zerograph::File::openForReading(
        path(source.getFile().getValue().str()));
    if (!file.ok()) {
      ADD_FAILURE() << file.status().ToString();
      continue;
    }
    readTensor(**file, source.getOffset(), tensors.back());
  }
  return tensors;
}

void ImportedModel::setBatch(std::vector<Tensor> &arguments, int number) const {
  nn::ProgramOp func = micro;
  auto batches = zerograph::readSafetensors(path("batches.safetensors"));
  ASSERT_TRUE(batches.ok()) << batches.status().ToString();
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    if (auto input = func.getArgAttrOfType<nn::InputAttr>(i, nn::kInputAttr)) {
      int64_t size = arguments[i].values.size();
      readTensor(*batches, input.getName().str(), arguments[i], number * size);
    }
  }
}

static std::string nameOf(nn::ProgramOp func, unsigned result,
                          StringRef attribute) {
  auto name = func.getResultAttrOfType<StringAttr>(result, attribute);
  return name ? name.getValue().str() : "";
}

std::string ImportedModel::gradientName(unsigned result) const {
  return nameOf(micro, result, nn::kGradientAttr);
}

std::string ImportedModel::nextValueName(unsigned result) const {
  return nameOf(micro, result, nn::kNextValueAttr);
}

unsigned ImportedModel::argumentOf(const std::string &parameter) const {
  nn::ProgramOp func = micro;
  for (unsigned i = 0; i < func.getNumArguments(); ++i) {
    auto attribute =
        func.getArgAttrOfType<nn::ParameterAttr>(i, nn::kParameterAttr);
    if (attribute && attribute.getName().getValue() == parameter) {
      return i;
    }
  }
  ADD_FAILURE() << "no parameter " << parameter;
  return 0;
}

std::string ImportedModel::referenceName(const std::string &parameter) const {
  const auto &tied = references["variants"][0]["tied_names_in_state_dict"];
  return tied.value(parameter, parameter);
}

void mlir::zg::testing::readTensor(const zerograph::File &file, uint64_t offset,
                                   Tensor &tensor) {
  uint64_t size = nn::elementBytes(tensor.element);
  bool isFloat = tensor.element.isF32();
  ASSERT_TRUE(isFloat || tensor.element.isInteger(64));
  std::vector<char> bytes(size * tensor.values.size());
  absl::Status status = file.read(offset, bytes.size(), bytes.data());
  ASSERT_TRUE(status.ok()) << status.ToString();
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    const char *from = bytes.data() + i * size;
    tensor.values[i] = isFloat ? load<float>(from) : load<int64_t>(from);
  }
}

void mlir::zg::testing::readTensor(const zerograph::TensorFile &arrays,
                                   const std::string &name, Tensor &tensor,
                                   int64_t first) {
  auto found = arrays.find(name);
  ASSERT_NE(found, arrays.end()) << name;
  uint64_t skipped = first * nn::elementBytes(tensor.element);
  ASSERT_LE(skipped + tensor.values.size() * nn::elementBytes(tensor.element),
            found->second.bytes)
      << name;
  readTensor(*found->second.file, found->second.offset + skipped, tensor);
}
