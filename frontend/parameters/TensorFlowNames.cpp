//===- TensorFlowNames.cpp - what tf2onnx's names tell of a tensor --------===//

#include "frontend/parameters/TensorFlowNames.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

#include <map>

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
           return originOf(tensor.name()) == Origin::variable;
         });
}

Origin originOf(const std::string &name) {
  static const auto *const kOrigins =
      new std::map<std::string, Origin>{{"ReadVariableOp", Origin::variable},
                                        {"resource", Origin::variable},
                                        {"Cast", Origin::arranged},
                                        {"ExpandDims", Origin::arranged},
                                        {"Reshape", Origin::arranged},
                                        {"Squeeze", Origin::arranged},
                                        {"transpose", Origin::arranged},
                                        {"Const", Origin::constant},
                                        {"x", Origin::constant},
                                        {"y", Origin::constant}};
  if (absl::StartsWith(name, "ConstantFolding/")) {
    return Origin::constant;
  }
  // Weights of recurrences are called as ONNX calls them: "W0__264".
  size_t number = name.find("__");
  if (number != std::string::npos && number > 0 && number <= 2 &&
      absl::StrContains("WRB", name.substr(0, 1))) {
    return Origin::variable;
  }
  auto found = absl::StrContains(name, '/') ? kOrigins->find(operatorOf(name))
                                            : kOrigins->end();
  return found == kOrigins->end() ? Origin::unknown : found->second;
}

} // namespace zerograph::frontend
