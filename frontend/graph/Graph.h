//===- Graph.h - order, liveness and gradient path of an ONNX graph -------===//

#ifndef ZEROGRAPH_FRONTEND_GRAPH_GRAPH_H
#define ZEROGRAPH_FRONTEND_GRAPH_GRAPH_H

#include "onnx/onnx_pb.h"

#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace zerograph::frontend {

/// Name of a node for people: its own, else that of its first output.
std::string nodeName(const onnx::NodeProto &node);

/// Whether a gradient can flow from the outputs of a node to its input i.
bool carriesGradient(const onnx::NodeProto &node, int i);

/// An index over a graph, or over the body of a node; the graph must outlive
/// it. Throws ImportError on a graph that is not one: values defined twice or
/// not at all, cycles.
class Graph {
public:
  explicit Graph(const onnx::GraphProto &graph, bool isBody = false);

  const onnx::GraphProto &proto;
  std::unordered_map<std::string, const onnx::TensorProto *> initializers;
  std::unordered_map<std::string, int> producer; ///< name -> node
  std::unordered_map<std::string, std::vector<int>> users;
  std::vector<int> order; ///< nodes that outputs need, inputs first
  /// The branches or the body of a node that has some.
  std::map<int, std::vector<Graph>> bodies;
  /// Of a body: the names that it reads from the graphs around it.
  std::set<std::string> captured;

  /// All names that node n reads: its inputs, and what its bodies capture.
  std::vector<std::string> reads(int n) const;
  /// Those of them that a gradient flows to.
  std::vector<std::string> gradientReads(int n) const;
  /// Nodes from which a gradient of `output` flows to their inputs.
  std::vector<bool> nodesReaching(const std::string &output) const;
  /// Nodes whose outputs depend, differentiably, on one of `names`.
  std::vector<bool> nodesReachedFrom(const std::set<std::string> &names) const;
  /// Graph inputs and initializers that the values `names` are computed from.
  std::set<std::string> originsOf(const std::string &name) const;

private:
  /// Whether input i of a batch normalization is a mean or variance that the
  /// graph computes of its inputs, and that the node takes as it is.
  bool isStatisticOfData(const onnx::NodeProto &node, int i) const;
  void index(bool isBody);
  void sort();
  /// The nodes that a gradient of one of `names` flows through; those of the
  /// values it ends at that no node defines are added to `ends`.
  std::vector<bool> follow(std::vector<std::string> names,
                           std::set<std::string> *ends) const;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_GRAPH_H
