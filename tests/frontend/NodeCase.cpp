//===- NodeCase.cpp - ONNX's own node tests -------------------------------===//

#include "tests/frontend/NodeCase.h"

#include "frontend/base/HostTensor.h"
#include "frontend/walk/Op.h"
#include "onnx/defs/schema.h"

#include <algorithm>
#include <cmath>
#include <fstream>

namespace zerograph::frontend::testing {

namespace fs = std::filesystem;

namespace {

template <typename Proto>
bool readProto(const fs::path &path, Proto &proto) {
  std::ifstream stream(path, std::ios::binary);
  return stream && proto.ParseFromIstream(&stream);
}

} // namespace

onnx::ModelProto NodeCase::bind(Bound bound) const {
  onnx::ModelProto result = model;
  for (const onnx::TensorProto &tensor : inputs) {
    bool first = &tensor == inputs.data();
    if (bound == kAll || (bound == kAllButFirst && !first) ||
        (bound == kIntegers && !isFloatType(tensor.data_type()))) {
      *result.mutable_graph()->add_initializer() = tensor;
    }
  }
  return result;
}

double NodeCase::tolerance(int32_t type) const {
  // Their expected numbers are written with four digits.
  if (name == "test_averagepool_2d_ceil_last_window_starts_on_pad" ||
      name == "test_gridsample_bicubic") {
    return 1e-4;
  }
  switch (type) {
  case onnx::TensorProto::DOUBLE:
    return 1e-7;
  case onnx::TensorProto::FLOAT:
    return 1e-5;
  case onnx::TensorProto::BFLOAT16:
    return 2e-2;
  default:
    return 4e-3;
  }
}

bool near(double found, double expected, double tolerance) {
  if (std::isnan(expected)) {
    return std::isnan(found);
  }
  return found == expected ||
         (std::isfinite(expected) &&
          std::fabs(found - expected) <= tolerance * (1 + std::fabs(expected)));
}

std::vector<fs::path> nodeCaseFolders() {
  fs::path root =
      fs::path(ZEROGRAPH_ONNX_SOURCE) / "onnx/backend/test/data/node";
  std::vector<fs::path> folders;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(root, error)) {
    folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::optional<NodeCase> readNodeCase(const fs::path &folder) {
  NodeCase result{folder.filename().string(), {}, {}, {}};
  if (!readProto(folder / "model.onnx", result.model)) {
    return std::nullopt;
  }
  int64_t opset = 0;
  for (const auto &import : result.model.opset_import()) {
    if (!import.domain().empty()) {
      return std::nullopt;
    }
    opset = import.version();
  }
  for (const auto &node : result.model.graph().node()) {
    const onnx::OpSchema *schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset));
    if (findOp(node.op_type(), opset) == nullptr &&
        (schema == nullptr ||
         !(schema->HasFunction() || schema->HasContextDependentFunction()))) {
      return std::nullopt;
    }
  }
  for (auto [list, graphList, stem] :
       {std::tuple(&result.inputs, &result.model.graph().input(), "input_"),
        std::tuple(&result.outputs, &result.model.graph().output(),
                   "output_")}) {
    for (int i = 0; i < graphList->size(); ++i) {
      fs::path path =
          folder / "test_data_set_0" / (stem + std::to_string(i) + ".pb");
      onnx::TensorProto tensor;
      if (!graphList->Get(i).type().has_tensor_type() ||
          !readProto(path, tensor) || typeBytes(tensor.data_type()) == 0) {
        return std::nullopt;
      }
      tensor.set_name(graphList->Get(i).name());
      list->push_back(tensor);
    }
  }
  return result;
}

std::string refusalLine(const std::string &error) {
  // The second line names the node, where the first only counts.
  size_t begin = error.find("\n  ");
  begin = begin == std::string::npos ? error.find(": ") + 2 : begin + 3;
  return error.substr(begin, error.find('\n', begin) - begin);
}

} // namespace zerograph::frontend::testing
