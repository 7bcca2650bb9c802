//===- UnlistedConstants.cpp - constants where no parameters are listed ---===//

#include "frontend/parameters/UnlistedConstants.h"

#include "frontend/file/TensorBytes.h"
#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/parameters/TensorFlowNames.h"

#include "absl/strings/match.h"

namespace zerograph::frontend {

/// Returns whether PyTorch's own modules give a parameter this name:
/// "fc.weight", "rnn.bias_hh_l0", "attn.in_proj_weight".
static bool isParameterName(const std::string &name) {
  std::string last = name.substr(name.find_last_of('.') + 1);
  for (const char *word : {"weight", "bias"}) {
    if (absl::StartsWith(last, word) || absl::EndsWith(last, word)) {
      return true;
    }
  }
  return false;
}

/// Returns whether it has a name such as nodes have, "/head/Constant_1" or
/// "onnx::Mul_7", and not a parameter's, "head.scale".
static bool hasNodesName(const std::string &name) {
  return !absl::StrContains(name, '.') || absl::StrContains(name, '/') ||
         absl::StrContains(name, ':');
}

/// Returns whether all elements are 0 or 1, and both are there.
static bool holdsFlags(const HostTensor &values) {
  bool has[2] = {false, false};
  for (int64_t i = 0; i < values.size(); ++i) {
    double value = values.floatAt(i);
    if (value != 0 && value != 1) {
      return false;
    }
    has[value == 1] = true;
  }
  return has[0] && has[1];
}

UnlistedConstants::UnlistedConstants(const ModelFile &file, const Graph &graph,
                                     const ParameterUses &uses)
    : file(file), graph(graph), uses(uses),
      ofTensorFlow(isOfTensorFlow(graph.proto)),
      ofTorchScript(isOfTorchScript(file.model)) {}

bool UnlistedConstants::has(const onnx::TensorProto &tensor) const {
  const std::string &name = tensor.name();
  if (ofTensorFlow && originOf(name) == Origin::variable) {
    return false;
  }
  return areSure(name) ||
         (longDims(tensor) > 0
              ? isMask(tensor)
              // PyTorch's biases have names of their own.
              : hasNodesName(name) && (ofTorchScript || !isBias(tensor)));
}

bool UnlistedConstants::areSure(const std::string &name) const {
  return ofTensorFlow && originOf(name) == Origin::constant;
}

bool UnlistedConstants::mayHave(const onnx::TensorProto &tensor) const {
  const std::string &name = tensor.name();
  return ofTensorFlow ? originOf(name) == Origin::unknown
                      : ofTorchScript && !isParameterName(name);
}

const char *UnlistedConstants::reason() const {
  return ofTensorFlow ? "constants, as they hold only 0 and 1 or are named as "
                        "TensorFlow's constants are"
                      : "constants, as they hold only 0 and 1";
}

/// Returns whether a product or a convolution adds it to each of its results.
bool UnlistedConstants::isBias(const onnx::TensorProto &tensor) const {
  bool found = false;
  uses.each(tensor.name(), [&](const onnx::NodeProto &node, int input) {
    const std::string &op = node.op_type();
    if (input == 2) {
      found |= op == "Gemm" || op == "Conv" || op == "ConvTranspose";
    } else if (op == "Add" && node.input_size() == 2) {
      auto made = graph.producer.find(node.input(1 - input));
      found |= made != graph.producer.end() &&
               graph.proto.node(made->second).op_type() == "MatMul";
    }
  });
  return found && tensor.dims_size() > 0;
}

/// Returns whether it is a matrix of 0 and 1 by which others are masked, and
/// not a parameter by its name.
bool UnlistedConstants::isMask(const onnx::TensorProto &tensor) const {
  constexpr int64_t kMostElements = 1 << 22;
  bool masks = longDims(tensor) >= 2 && !isParameterName(tensor.name()) &&
               elementCount(shapeOf(tensor)) <= kMostElements;
  uses.each(tensor.name(), [&](const onnx::NodeProto &node, int) {
    const std::string &op = node.op_type();
    masks &= op == "Mul" || op == "Sub" || op == "Add";
  });
  return masks && isReadable(file, tensor) &&
         holdsFlags(readTensor(tensor, &file));
}

} // namespace zerograph::frontend
