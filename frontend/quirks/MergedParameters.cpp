//===- MergedParameters.cpp - parameters that TorchScript made one --------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"

#include "absl/strings/match.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

/// PyTorch's older exporter writes no list of parameters. But outside of its
/// training mode it leaves traces: a parameter that was equal to another is an
/// Identity of it, and a transposed weight has a new name. A tied weight, which
/// is right, has neither. Merging and renaming harm nothing that stays as it
/// is.
static std::vector<Finding> findMerged(const TrainedModel &model) {
  const onnx::GraphProto &graph = model.graph.proto;
  if (hasSignature(graph)) {
    return {};
  }
  std::vector<std::string> merged;
  for (const auto &node : graph.node()) {
    if (node.op_type() == "Identity" && node.input_size() == 1 &&
        node.output_size() == 1 && model.trained.count(node.input(0)) != 0 &&
        absl::StrContains(node.output(0), '.') &&
        !absl::StrContains(node.output(0), '/')) {
      merged.push_back(
          absl::StrCat(node.output(0), " (merged with ", node.input(0), ")"));
    }
  }
  for (const auto &tensor : graph.initializer()) {
    if (absl::StartsWith(tensor.name(), "onnx::") && tensor.dims_size() > 1 &&
        model.trained.count(tensor.name()) != 0) {
      merged.push_back(absl::StrCat(tensor.name(),
                                    " (a weight that was transposed, or "
                                    "changed with a norm after it)"));
    }
  }
  if (merged.empty()) {
    return {};
  }
  return {
      {absl::StrCat(merged.size(),
                    " parameters were merged with equal ones or renamed by the "
                    "exporter:\n  ",
                    linesOf(merged)),
       remedy("Training would tie them, and weights would not load back. "
              "Export again with torch.onnx.export(..., dynamo=False, "
              "training=torch.onnx.TrainingMode.TRAINING, "
              "do_constant_folding=False).",
              "merged parameters stay one, and renamed ones are saved by "
              "the names that the file gives them")}};
}

const Quirk kMergedParameters = {.find = findMerged};

} // namespace zerograph::frontend
