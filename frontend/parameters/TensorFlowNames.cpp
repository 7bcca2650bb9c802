//===- TensorFlowNames.cpp - what tf2onnx's names tell of a tensor --------===//

#include "frontend/parameters/TensorFlowNames.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

#include <set>

namespace zerograph::frontend {

/// Returns the operator of TensorFlow that a value is named by:
/// "ReadVariableOp" of "dense/Add/ReadVariableOp_1:0".
static std::string operatorOf(const std::string &name) {
  std::string last = name.substr(name.find_last_of('/') + 1);
  last = last.substr(0, last.find(':'));
  size_t end = last.find_last_not_of("0123456789");
  bool numbered =
      end != std::string::npos && end + 1 < last.size() && last[end] == '_';
  return numbered ? last.substr(0, end) : last;
}

bool isOfTensorFlow(const onnx::GraphProto &graph) {
  return graph.name() == "tf2onnx" &&
         absl::c_any_of(graph.initializer(), [](const auto &tensor) {
           std::string made = operatorOf(tensor.name());
           return made == "ReadVariableOp" || made == "resource";
         });
}

bool isTensorFlowVariable(const std::string &name) {
  static const std::set<std::string> kOperators = {
      "Cast",    "ExpandDims", "ReadVariableOp", "Reshape",
      "Squeeze", "resource",   "transpose"};
  // Those of an LSTM are named by what ONNX calls them: "W0__264".
  size_t number = name.find("__");
  bool recurrent = number != std::string::npos && number <= 2 &&
                   absl::StrContains("WRB", name.substr(0, 1));
  return recurrent || (absl::StrContains(name, '/') &&
                       !absl::StartsWith(name, "ConstantFolding/") &&
                       kOperators.count(operatorOf(name)) != 0);
}

bool isTensorFlowConstant(const std::string &name) {
  static const std::set<std::string> kOperators = {"Const", "x", "y"};
  return absl::StartsWith(name, "ConstantFolding/") ||
         (absl::StrContains(name, '/') &&
          kOperators.count(operatorOf(name)) != 0);
}

} // namespace zerograph::frontend
