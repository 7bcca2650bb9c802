//===- GradientPath.h - where a gradient flows in a graph -----------------===//

#ifndef ZEROGRAPH_FRONTEND_GRAPH_GRADIENTPATH_H
#define ZEROGRAPH_FRONTEND_GRAPH_GRADIENTPATH_H

#include "frontend/graph/Graph.h"

namespace zerograph::frontend {

/// Follows gradients through the nodes of `graph`, which must outlive it, as
/// their operators declare (see OpDef).
class GradientPath {
public:
  GradientPath(const Graph &graph, int64_t opset)
      : graph(graph), opset(opset) {}

  /// Returns what node n reads and a gradient flows to: of its inputs, and of
  /// what its bodies capture.
  std::vector<std::string> reads(int n) const;
  /// Nodes that a gradient of `output` flows through. One bool per node.
  std::vector<bool> nodesReaching(const std::string &output) const;
  /// Nodes whose outputs depend, differentiably, on one of `names`.
  std::vector<bool> nodesReachedFrom(const std::set<std::string> &names) const;

private:
  /// Nodes that a gradient of one of `names` flows through. Adds to `ends`, if
  /// it is not null, the names it flows to that no node defines.
  std::vector<bool> follow(std::vector<std::string> names,
                           std::set<std::string> *ends) const;

  const Graph &graph;
  int64_t opset;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_GRADIENTPATH_H
