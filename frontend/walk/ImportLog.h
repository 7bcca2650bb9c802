//===- ImportLog.h - what an import tells the user ------------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_IMPORTLOG_H
#define ZEROGRAPH_FRONTEND_WALK_IMPORTLOG_H

#include "frontend/Import.h"
#include "frontend/graph/Graph.h"

#include "mlir/IR/Location.h"

namespace zerograph::frontend {

/// Collects problems, with which the import ends, and warnings and notes.
class ImportLog {
public:
  ImportLog(mlir::MLIRContext &context, const Graph &graph,
            ImportReport &report)
      : context(context), graph(graph), report(report) {}

  /// Says which node of the graph is imported from now on. Nodes of bodies and
  /// functions are placed where it was made.
  void beginNode(int n, bool onGradientPath);
  mlir::Location locationOf(const onnx::NodeProto &node) const;

  /// Adds a problem of the node. The walk goes on, so that later nodes are
  /// checked too.
  void addProblem(const onnx::NodeProto &node, const std::string &problem);
  /// Returns how many nodes have had a problem so far.
  size_t problemCount() const { return problem_count; }
  /// Throws one ImportError with all problems if there are any.
  void failOnProblems() const;

  /// Adds a warning about the node.
  void warn(const onnx::NodeProto &node, const std::string &text);
  /// Adds a note, once.
  void note(const std::string &text);
  /// Tells that the node is computed otherwise than it is written, as a stable
  /// form (emit/StableLog.h); one note names all nodes.
  void noteStable(const onnx::NodeProto &node, const std::string &form);
  /// Takes back what was told of the node, unless several nodes read it.
  void forgetStable(const onnx::NodeProto &node);
  void countDropout(double ratio) { ++dropouts[ratio]; }
  /// Adds the notes that tell of many nodes at once.
  void noteSums(const ImportOptions &options, bool hasLoss);

private:
  void noteDropouts(const ImportOptions &options, bool hasLoss);

  mlir::MLIRContext &context;
  const Graph &graph;
  ImportReport &report;
  int current = 0; ///< the graph's node that the walk is at
  bool onGradientPath = false;
  /// One problem of several nodes of an operator, reported once.
  struct Problem {
    std::string type, text, place; ///< `place`: of the first node
    std::vector<std::string> nodes;
  };
  std::vector<Problem> problems;
  size_t problem_count = 0;        ///< counts nodes that have one
  std::map<double, int> dropouts;  ///< ratio -> how many nodes have it
  std::vector<std::string> stable; ///< nodes, as texts
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_IMPORTLOG_H
