//===- PickLoss.cpp - which output is the loss ----------------------------===//

#include "frontend/walk/Importer.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"

namespace zerograph::frontend {

/// Whether PyTorch's exporter wrote that the output is the loss.
static bool isMarkedAsLoss(const onnx::ValueInfoProto &output) {
  return absl::c_any_of(output.metadata_props(), [](const auto &entry) {
    return entry.key() == "pkg.torch.export.graph_signature.OutputSpec.kind" &&
           entry.value() == "LOSS_OUTPUT";
  });
}

/// Whether an output is one float, or of floats and made by a loss operator.
bool Importer::mayBeLoss(const onnx::ValueInfoProto &output) const {
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

std::string Importer::pickLoss() const {
  if (!options.require_loss && options.loss_output.empty()) {
    return "";
  }
  std::vector<std::string> names, candidates;
  for (const auto &output : graph.proto.output()) {
    names.push_back(output.name());
    if (options.loss_output.empty() ? isMarkedAsLoss(output)
                                    : output.name() == options.loss_output) {
      return output.name();
    }
    if (mayBeLoss(output)) {
      candidates.push_back(output.name());
    }
  }
  std::string list = absl::StrJoin(names, ", ");
  if (!options.loss_output.empty()) {
    fail("--loss-output ", options.loss_output,
         ": there is no output of that name; there are ", list);
  }
  if (candidates.empty()) {
    fail("no output is a float scalar, so there is no loss to minimize; the "
         "outputs are ",
         list, ": export the model with its loss");
  }
  if (candidates.size() > 1 && !absl::c_linear_search(candidates, "loss")) {
    fail("several outputs could be the loss: ", absl::StrJoin(candidates, ", "),
         "; choose one with --loss-output NAME");
  }
  return candidates.size() > 1 ? "loss" : candidates.front();
}

} // namespace zerograph::frontend
