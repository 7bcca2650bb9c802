//===- PyTorchGradients.cpp - gradients that a file does not tell ---------===//

#include "frontend/quirks/PyTorchGradients.h"

#include "frontend/parameters/ExporterMetadata.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace zerograph::frontend {

namespace {

/// "2.13.0+cu130" is {2, 13}.
std::pair<int, int> versionOf(const onnx::ModelProto &model) {
  std::vector<std::string> parts =
      absl::StrSplit(model.producer_version(), '.');
  std::pair<int, int> version;
  bool known = parts.size() >= 2 &&
               absl::SimpleAtoi(parts[0], &version.first) &&
               absl::SimpleAtoi(parts[1], &version.second);
  return known ? version : std::pair(0, 0);
}

bool hasTwoBounds(const Op &op) {
  int bounds = op.hasAttribute("min") + op.hasAttribute("max");
  for (int i = 1; i < op.inputCount(); ++i) {
    bounds += op.hasInput(i);
  }
  return bounds == 2;
}

/// Returns whether a node finds the place of the extreme along `axis`.
bool hasPlace(const Graph &graph, const onnx::NodeProto &node, int64_t axis,
              int64_t rank) {
  const char *finder = node.op_type() == "ReduceMax" ? "ArgMax" : "ArgMin";
  auto users = graph.users.find(node.input(0));
  return users != graph.users.end() &&
         std::any_of(users->second.begin(), users->second.end(), [&](int i) {
           const onnx::NodeProto &user = graph.proto.node(i);
           const auto *axisOf = findAttribute(user, "axis");
           int64_t found = axisOf == nullptr ? 0 : axisOf->i();
           return user.op_type() == finder &&
                  (found < 0 ? found + rank : found) == axis;
         });
}

} // namespace

bool passesAtBounds(const Op &op) {
  const onnx::ModelProto &model = op.context.file.model;
  if (model.producer_name() != "pytorch" ||
      versionOf(model) >= std::pair(2, 14)) {
    return false;
  }
  const std::string *made = fxNodeOf(op.proto());
  return made != nullptr ? absl::StrContains(*made, "aten.clamp")
                         : !hasTwoBounds(op);
}

bool choosesFirst(Op &op, const std::vector<int64_t> &axes) {
  if (const std::string *made = fxNodeOf(op.proto())) {
    return absl::StrContains(*made, "aten.max.dim") ||
           absl::StrContains(*made, "aten.min.dim");
  }
  return axes.size() == 1 && (isOfTorchScript(op.context.file.model) ||
                              hasPlace(op.context.graph, op.proto(),
                                       axes.front(), op.shape(0).size()));
}

bool stopsGradient(const onnx::NodeProto &node) {
  return fxCallOf(node).isOf("detach");
}

std::optional<int64_t> paddingRow(const Op &op) {
  FxCall call = fxCallOf(op.proto());
  int64_t row = call.isOf("embedding") ? call.number(2, -1) : -1;
  return row < 0 ? std::nullopt : std::optional(row);
}

} // namespace zerograph::frontend
