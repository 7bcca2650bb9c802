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
         list,
         ": export the model with its loss, or add one: --loss cross_entropy");
  }
  if (candidates.size() > 1 && !absl::c_linear_search(candidates, "loss")) {
    fail("several outputs could be the loss: ", absl::StrJoin(candidates, ", "),
         "; choose one with --loss-output NAME");
  }
  return candidates.size() > 1 ? "loss" : candidates.front();
}

/// The output, or the value on the way to one, that an added loss is of.
std::string Importer::pickScores() const {
  std::vector<std::string> names, floats;
  for (const auto &output : graph.proto.output()) {
    names.push_back(output.name());
    if (isFloatType(output.type().tensor_type().elem_type())) {
      floats.push_back(output.name());
    }
  }
  std::string list = absl::StrJoin(names, ", ");
  if (!options.loss_on.empty()) {
    auto made = graph.producer.find(options.loss_on);
    bool value = made != graph.producer.end() &&
                 absl::c_linear_search(graph.order, made->second);
    if (!value && !absl::c_linear_search(names, options.loss_on)) {
      fail("--loss-on ", options.loss_on,
           ": no output, nor a value that one is made of, has that name; the "
           "outputs are ",
           list);
    }
    return options.loss_on;
  }
  if (absl::c_linear_search(floats, "logits")) {
    return "logits";
  }
  if (floats.size() != 1) {
    fail("--loss ", options.added_loss,
         ": of which output? Give --loss-on "
         "NAME; the outputs are ",
         list);
  }
  return floats.front();
}

} // namespace zerograph::frontend
