//===- ReferenceTest.cpp - an imported model has PyTorch's loss -----------===//

#include "tests/frontend/Fixture.h"
#include "tests/support/Interpreter.h"

#include "nlohmann/json.hpp"

#include <cstring>
#include <fstream>

namespace zerograph::frontend::testing {

namespace {

using mlir::zg::testing::Tensor;

std::string readBytes(const std::string &path, int64_t offset, int64_t length) {
  std::ifstream stream(path, std::ios::binary);
  std::string bytes(length, '\0');
  stream.seekg(offset);
  stream.read(bytes.data(), length);
  EXPECT_TRUE(stream) << path;
  return bytes;
}

/// Bytes as a tensor of f32 or i64.
Tensor toTensor(mlir::RankedTensorType type, const std::string &bytes) {
  Tensor tensor = mlir::zg::testing::filled(type, 0);
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    if (type.getElementType().isF32()) {
      float value;
      std::memcpy(&value, bytes.data() + 4 * i, 4);
      tensor.values[i] = value;
    } else {
      int64_t value;
      std::memcpy(&value, bytes.data() + 8 * i, 8);
      tensor.values[i] = static_cast<double>(value);
    }
  }
  return tensor;
}

/// The first batch of an input, from batches.safetensors.
Tensor firstBatch(const std::string &path, const std::string &name,
                  mlir::RankedTensorType type) {
  uint64_t size;
  std::memcpy(&size, readBytes(path, 0, 8).data(), 8);
  auto header = nlohmann::json::parse(readBytes(path, 8, size));
  int64_t begin = header[name]["data_offsets"][0];
  return toTensor(
      type, readBytes(path, 8 + size + begin, mlir::zg::nn::tensorBytes(type)));
}

/// The loss of batch 0 with the weights in the file.
double lossOf(const std::string &folder, const std::string &file,
              const std::map<std::string, int64_t> &dims) {
  ImportOptions options;
  options.dims = dims;
  Imported imported = importFile(model(folder + "/" + file), options);
  EXPECT_TRUE(imported.status.ok()) << imported.error();
  auto function = imported.function();
  llvm::SmallVector<Tensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type =
        mlir::cast<mlir::RankedTensorType>(function.getArgument(i).getType());
    if (auto input = imported.input(i)) {
      arguments.push_back(firstBatch(model(folder + "/batches.safetensors"),
                                     input.getName().str(), type));
      continue;
    }
    auto source = function
                      .getArgAttrOfType<mlir::zg::nn::ParameterAttr>(
                          i, mlir::zg::nn::kParameterAttr)
                      .getSource();
    arguments.push_back(
        toTensor(type, readBytes(model(folder + "/" + source.getFile().str()),
                                 source.getOffset(), source.getLength())));
  }
  return mlir::zg::testing::evaluate(function, arguments)[0].values[0];
}

/// The first loss of a float64 run of PyTorch over the same batch.
double expectedLoss(const std::string &folder) {
  std::ifstream stream(model(folder + "/reference.json"));
  auto reference = nlohmann::json::parse(stream);
  return reference["runs"][0]["losses_fp64"][0];
}

TEST(Reference, MlpDigits) {
  for (const char *file : {"model.onnx", "model_keep_names.onnx"}) {
    EXPECT_NEAR(lossOf("mlp-digits", file, {{"batch", 32}}),
                expectedLoss("mlp-digits"), 1e-6)
        << file;
  }
}

TEST(Reference, GptNano) {
  for (const char *file :
       {"model.onnx", "model_sdpa.onnx", "model_keep_names.onnx"}) {
    EXPECT_NEAR(lossOf("gpt2-nano", file, {{"batch", 8}, {"seq", 64}}),
                expectedLoss("gpt2-nano"), 2e-6)
        << file;
  }
}

} // namespace

} // namespace zerograph::frontend::testing
