//===- Embedding.cpp - tables that PyTorch trains otherwise ---------------===//
//
// The calls, as aten declares them:
//
//   embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
//   embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, ...)
//   embedding_renorm(weight, indices, max_norm, norm_type)
//
//===----------------------------------------------------------------------===//

#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"

#include "runtime/base/Text.h"

namespace zerograph::frontend {

static bool scalesByFrequency(const FxCall &call) {
  return call.isTrue(3) &&
         (call.isOf("embedding") || call.isOf("embedding_bag"));
}

/// Finds tables that PyTorch trains otherwise than the file computes: with
/// gradients scaled by how often an index comes (scale_grad_by_freq), or with
/// rows that each forward pass shortens (max_norm).
static std::vector<Finding> findTables(const TrainedModel &model) {
  std::vector<std::string> scaled, shortened;
  for (const onnx::NodeProto &node : model.graph.proto.node()) {
    // A call becomes several nodes; this one reads the table's rows.
    if (node.op_type() != "Gather" || node.input_size() < 1) {
      continue;
    }
    FxCall call = fxCallOf(node);
    bool scales = scalesByFrequency(call);
    if (!scales && !call.isOf("embedding_renorm")) {
      continue;
    }
    for (const std::string &origin : model.graph.originsOf(node.input(0))) {
      if (!scales && model.graph.initializers.count(origin) != 0) {
        shortened.push_back(
            absl::StrCat("'", origin, "' (node '", nodeName(node), "')"));
      } else if (scales && model.trained.count(origin) != 0) {
        scaled.push_back(
            absl::StrCat("'", origin, "' (node '", nodeName(node), "')"));
      }
    }
  }
  std::vector<Finding> findings;
  if (!scaled.empty()) {
    findings.push_back(
        {absl::StrCat("the gradient of ", listOf(scaled, 8),
                      " is divided by how often each index comes "
                      "(scale_grad_by_freq), which is not supported"),
         remedy("Export with scale_grad_by_freq=False, or keep the table as it "
                "is (--freeze).",
                "the gradient is not divided")});
  }
  if (!shortened.empty()) {
    findings.push_back(
        {absl::StrCat("each forward pass shortens rows of ",
                      listOf(shortened, 8),
                      " in place (max_norm), which a file cannot say"),
         remedy("Export with max_norm=None; to keep rows short, divide them by "
                "their norm in forward().",
                "the table keeps its rows")});
  }
  return findings;
}

const Quirk kEmbedding = {.find = findTables};

} // namespace zerograph::frontend
