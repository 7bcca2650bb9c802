//===- Embedding.cpp - how PyTorch trains tables that are looked up in ----===//
//
// The calls, as aten declares them:
//
//   embedding(weight, indices, padding_idx, scale_grad_by_freq, sparse)
//   embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, ...)
//   embedding_renorm(weight, indices, max_norm, norm_type)
//
//===----------------------------------------------------------------------===//

#include "frontend/exporter/Embedding.h"

#include "frontend/exporter/Damage.h"
#include "frontend/exporter/FxCall.h"

#include "absl/algorithm/container.h"
#include "runtime/base/Text.h"

namespace zerograph::frontend {

namespace {

constexpr size_t kMostTables = 8;

bool scalesByFrequency(const FxCall &call) {
  return call.isTrue(3) &&
         (call.isOf("embedding") || call.isOf("embedding_bag"));
}

} // namespace

std::optional<int64_t> paddingRow(const onnx::NodeProto &node) {
  FxCall call = fxCallOf(node);
  int64_t row = call.isOf("embedding") ? call.number(2, -1) : -1;
  return row < 0 ? std::nullopt : std::optional(row);
}

void checkEmbeddings(const Graph &graph, const std::set<std::string> &trained,
                     const ImportOptions &options, ImportReport &report) {
  std::vector<std::string> scaled, shortened;
  for (const onnx::NodeProto &node : graph.proto.node()) {
    // A call becomes several nodes; this one reads the table's rows.
    if (node.op_type() != "Gather" || node.input_size() < 1) {
      continue;
    }
    FxCall call = fxCallOf(node);
    bool scales = scalesByFrequency(call);
    if (!scales && !call.isOf("embedding_renorm")) {
      continue;
    }
    for (const std::string &origin : graph.originsOf(node.input(0))) {
      if (!scales && graph.initializers.count(origin) != 0) {
        shortened.push_back(
            absl::StrCat("'", origin, "' (node '", nodeName(node), "')"));
      } else if (scales && trained.count(origin) != 0) {
        scaled.push_back(
            absl::StrCat("'", origin, "' (node '", nodeName(node), "')"));
      }
    }
  }
  if (!scaled.empty()) {
    refuseOrWarn(
        absl::StrCat("the gradient of ", listOf(scaled, kMostTables),
                     " is divided by how often each index comes "
                     "(scale_grad_by_freq), which is not supported"),
        absl::StrCat("Export with scale_grad_by_freq=False, or keep the table "
                     "as it is (--freeze).",
                     kWayOut, "the gradient is not divided"),
        options, report);
  }
  if (!shortened.empty()) {
    refuseOrWarn(
        absl::StrCat("each forward pass shortens rows of ",
                     listOf(shortened, kMostTables),
                     " in place (max_norm), which a file cannot say"),
        absl::StrCat("Export with max_norm=None; to keep rows short, divide "
                     "them by their norm in forward().",
                     kWayOut, "the table keeps its rows"),
        options, report);
  }
}

} // namespace zerograph::frontend
