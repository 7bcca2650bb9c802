//===- Graph.h - the nodes of a graph and their order ---------------------===//

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

/// Returns a node's attribute of that name, or null.
const onnx::AttributeProto *findAttribute(const onnx::NodeProto &node,
                                          const std::string &name);

/// Returns whether the node tells a shape or a size, whatever its input holds.
bool isMeasure(const onnx::NodeProto &node);

/// An index over a graph, or over the body of a node. `graph` must outlive it.
/// The constructor throws ImportError if a value is defined twice or not at
/// all, or if there is a cycle.
class Graph {
public:
  explicit Graph(const onnx::GraphProto &graph, bool isBody = false);

  const onnx::GraphProto &proto;
  std::unordered_map<std::string, const onnx::TensorProto *> initializers;
  std::unordered_map<std::string, int> producer; ///< name -> node
  std::unordered_map<std::string, std::vector<int>> users;
  std::vector<int> order; ///< nodes that outputs need, inputs first
  /// Node -> its branches or its body.
  std::map<int, std::vector<Graph>> bodies;
  /// The names that a body reads from the graphs around it.
  std::set<std::string> captured;

  /// All names that node n reads: its inputs, and what its bodies capture.
  std::vector<std::string> reads(int n) const;
  /// Returns the operator of the one node that reads a value; "" if there is
  /// none or more than one, and within bodies.
  std::string onlyReader(const std::string &name) const;
  /// Graph inputs and initializers that the value `name` is computed from.
  std::set<std::string> originsOf(const std::string &name) const;

private:
  void index(bool isBody);
  void indexInitializers(std::set<std::string> &defined);
  void indexInputs(std::set<std::string> &defined);
  void indexNodes(std::set<std::string> &defined);
  void indexBodies();
  void indexReads(const std::set<std::string> &defined, bool isBody);
  void sort();
  /// The nodes that outputs need, inputs first.
  std::vector<int> depthFirst() const;
  /// Returns whether each of `nodes` stands after those whose outputs it
  /// reads.
  bool isOrder(const std::vector<int> &nodes) const;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_GRAPH_GRAPH_H
