//===- FindLoss.cpp - which output of a model is its loss -----------------===//

#include "frontend/parameters/FindLoss.h"

#include "frontend/base/ElementType.h"
#include "frontend/base/Error.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

namespace {

/// Returns whether PyTorch's exporter wrote that the output is the loss.
bool isMarkedAsLoss(const onnx::ValueInfoProto &output) {
  return absl::c_any_of(output.metadata_props(), [](const auto &entry) {
    return entry.key() == "pkg.torch.export.graph_signature.OutputSpec.kind" &&
           entry.value() == "LOSS_OUTPUT";
  });
}

/// Returns whether an output is one float, or of floats and made by a loss
/// operator.
bool mayBeLoss(const Graph &graph, const onnx::ValueInfoProto &output) {
  const auto &type = output.type().tensor_type();
  if (!output.type().has_tensor_type() || !isFloatType(type.elem_type())) {
    return false;
  }
  int64_t count = type.has_shape() ? 1 : 2;
  for (const auto &dim : type.shape().dim()) {
    count *=
        dim.has_dim_value() ? std::clamp<int64_t>(dim.dim_value(), 0, 2) : 2;
  }
  auto made = graph.producer.find(output.name());
  return count == 1 ||
         (made != graph.producer.end() &&
          absl::StrContains(graph.proto.node(made->second).op_type(), "Loss"));
}

} // namespace

std::string outputNames(const Graph &graph) {
  std::vector<std::string> names;
  for (const auto &output : graph.proto.output()) {
    names.push_back(output.name());
  }
  return listOf(names, 10);
}

std::string findLoss(const Graph &graph, const std::string &wanted,
                     const std::vector<std::string> &metrics) {
  std::vector<std::string> candidates;
  for (const auto &output : graph.proto.output()) {
    if (wanted.empty() ? isMarkedAsLoss(output) : output.name() == wanted) {
      return output.name();
    }
    bool isMetric = absl::c_linear_search(metrics, output.name());
    if (mayBeLoss(graph, output) && (!isMetric || output.name() == "loss")) {
      candidates.push_back(output.name());
    }
  }
  if (!wanted.empty()) {
    fail("--loss-output ", wanted,
         ": there is no output of that name; there are ", outputNames(graph));
  }
  if (candidates.size() > 1 && !absl::c_linear_search(candidates, "loss")) {
    fail("several outputs could be the loss: ", listOf(candidates, 10),
         "; choose one with --loss-output NAME");
  }
  return candidates.empty()       ? ""
         : candidates.size() == 1 ? candidates.front()
                                  : "loss";
}

} // namespace zerograph::frontend
