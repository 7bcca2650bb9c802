//===- Detach.cpp - results of detach() that gradients would pass ---------===//

#include "frontend/graph/GradientPath.h"
#include "frontend/parameters/ExporterMetadata.h"
#include "frontend/quirks/Quirks.h"

#include "runtime/base/Text.h"

namespace zerograph::frontend {

/// Finds results of detach() through which gradients of what is trained would
/// flow.
static std::vector<Finding> findDetached(const TrainedModel &model) {
  const Graph &graph = model.graph;
  std::vector<int> detached;
  for (int n = 0; n < graph.proto.node_size(); ++n) {
    if (fxCallOf(graph.proto.node(n)).isOf("detach")) {
      detached.push_back(n);
    }
  }
  if (detached.empty()) {
    return {};
  }
  GradientPath gradient(graph, model.file.opset);
  std::vector<bool> reached = gradient.nodesReachedFrom(model.trained);
  std::vector<bool> reaching = gradient.nodesReaching(model.loss);
  std::vector<std::string> found;
  for (int n : detached) {
    if (reached[n] && reaching[n]) {
      found.push_back(absl::StrCat("'", nodeName(graph.proto.node(n)), "'"));
    }
  }
  if (found.empty()) {
    return {};
  }
  return {{absl::StrCat("detach() stops gradients of what is trained at node ",
                        listOf(found, 8), ", which is not supported"),
           remedy("Make what is detached an input of the model, computed with "
                  "the data, or freeze what it is computed from (--freeze).",
                  "gradients flow through it")}};
}

const Quirk kDetach = {.find = findDetached};

} // namespace zerograph::frontend
