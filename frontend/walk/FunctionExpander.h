//===- FunctionExpander.h - nodes that stand for other nodes --------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_FUNCTIONEXPANDER_H
#define ZEROGRAPH_FRONTEND_WALK_FUNCTIONEXPANDER_H

#include "frontend/walk/NodeTable.h"

namespace zerograph::frontend {

struct ImportContext;
class Op;

/// Imports the nodes that a node stands for: the body of a branch or a loop,
/// once for each run, or the one by which ONNX defines an operator. They are
/// copied with names of their own, and imported as if they stood in the graph.
/// Functions that the file itself defines are written out when it is read
/// (file/ModelFile.h).
class FunctionExpander {
public:
  explicit FunctionExpander(ImportContext &context) : context(context) {}

  /// Begins another node of the graph, for which runs are counted anew.
  void beginNode() { unrolledNodes = 0; }
  /// Imports an operator without an entry in ops/ as the body that ONNX's
  /// schema gives it. Some bodies depend on shapes; these are known by now.
  /// Throws ImportError with the first problem in it.
  void expand(Op &op);
  /// Imports a body run on `inputs`, and returns its outputs. The names of its
  /// nodes begin with `label`. What it reads from around it keeps its name.
  /// Problems of its nodes are noted, and the outputs that depend on them are
  /// marked as failed.
  std::vector<NamedSlot> run(const onnx::GraphProto &body,
                             const std::string &label,
                             const std::vector<NamedSlot> &inputs);

private:
  const Graph &graphOf(const onnx::GraphProto &body);
  void countRun(const Graph &body);
  std::set<std::string> bind(const Graph &body, const std::string &prefix,
                             const std::vector<NamedSlot> &inputs);

  ImportContext &context;
  std::unordered_map<const onnx::GraphProto *, std::unique_ptr<Graph>> graphs;
  int64_t unrolledNodes = 0;
  int expandDepth = 0;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_FUNCTIONEXPANDER_H
