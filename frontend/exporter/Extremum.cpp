//===- Extremum.cpp - who gets the gradient of equal extremes -------------===//

#include "frontend/exporter/Extremum.h"

#include "frontend/exporter/Signature.h"

#include "absl/strings/match.h"

#include <algorithm>

namespace zerograph::frontend {

namespace {

int64_t axisOf(const onnx::NodeProto &node) {
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    if (attribute.name() == "axis") {
      return attribute.i();
    }
  }
  return 0;
}

/// Returns whether a node finds the place of the extreme along `axis`.
bool hasPlace(const Graph &graph, const onnx::NodeProto &node, int64_t axis,
              int64_t rank) {
  const char *finder = node.op_type() == "ReduceMax" ? "ArgMax" : "ArgMin";
  auto users = graph.users.find(node.input(0));
  return users != graph.users.end() &&
         std::any_of(users->second.begin(), users->second.end(), [&](int i) {
           const onnx::NodeProto &user = graph.proto.node(i);
           int64_t found = axisOf(user);
           return user.op_type() == finder &&
                  (found < 0 ? found + rank : found) == axis;
         });
}

} // namespace

bool choosesFirst(const onnx::ModelProto &model, const Graph &graph,
                  const onnx::NodeProto &node, const std::vector<int64_t> &axes,
                  int64_t rank) {
  if (const std::string *made = fxNodeOf(node)) {
    return absl::StrContains(*made, "aten.max.dim") ||
           absl::StrContains(*made, "aten.min.dim");
  }
  return axes.size() == 1 &&
         (isOfTorchScript(model) || hasPlace(graph, node, axes.front(), rank));
}

} // namespace zerograph::frontend
