//===- Importer.h - the forward walk over the nodes -----------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_IMPORTER_H
#define ZEROGRAPH_FRONTEND_WALK_IMPORTER_H

#include "frontend/Import.h"
#include "frontend/exporter/Parameters.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"
#include "frontend/walk/IndexRange.h"
#include "frontend/walk/Op.h"

#include <deque>

namespace onnx {
class OpSchema;
}

namespace zerograph::frontend {

/// Imports one model. Every ONNX name becomes a Slot: a host constant, a
/// value of the program, or, on demand, both. A node whose inputs are all
/// constants is computed here; a constant is emitted when a value of the
/// program needs it.
class Importer {
public:
  Importer(mlir::MLIRContext &context, const ModelFile &file,
           const ImportOptions &options, ImportReport &report);
  /// Throws ImportError.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  int64_t opset() const { return file.opset; }
  const ImportOptions &importOptions() const { return options; }
  /// See Op.
  std::string onlyReader(const std::string &name) const;
  /// Whether an initializer of this name is trained.
  bool isTrained(const std::string &name) const;
  /// Adds to the report's notes what is not among them.
  void note(const std::string &text);
  /// See Op.
  double decideDropout(double ofFile);
  int64_t nextRandomNumber() { return randomNumbers++; }
  mlir::OpBuilder &builderAtEnd() { return builder; }
  Slot &slotOf(const std::string &name);
  /// The slot as a value, emitted at the end of the program if need be.
  mlir::Value materialize(Slot &slot, mlir::Location location);
  /// What a parameter, an argument of the program, is after the nodes so far:
  /// itself, or what one of them made of it.
  mlir::Value newest(mlir::Value parameter) const;
  /// `next` is what becomes of the parameter that `old` is, or was made of by
  /// `keep`; false if it is none.
  bool keep(mlir::Value old, mlir::Value next);
  /// A constant to put into slots; small equal ones are one object.
  std::shared_ptr<const HostTensor> share(HostTensor tensor);
  /// Where `indices` is an input, or a part of one, moved but not changed:
  /// notes their range. True of a whole input: all values will be in it.
  bool boundInput(mlir::Value indices, const IndexRange &range);
  /// Adds to the one error that the import will end with.
  void addProblem(const onnx::NodeProto &node, const std::string &problem);
  void addWarning(const onnx::NodeProto &node, const std::string &text);
  size_t problemCount() const { return problems.size(); }
  /// "input 'a', initializer 'b'": what a value depends on.
  std::string describeOrigins(const std::string &name) const;
  /// Imports a body run on `inputs`; `label` names the run.
  std::vector<NamedSlot> runBody(const onnx::GraphProto &body,
                                 const std::string &label,
                                 const std::vector<NamedSlot> &inputs);

private:
  void addInputs();
  void addParameters();
  void walk();
  void importNode(const onnx::NodeProto &node);
  void expandFunction(const onnx::NodeProto &node);
  bool foldNode(const OpDef &def, Op &op);
  /// Null where ONNX has no such operator.
  const onnx::OpSchema *schemaOf(const onnx::NodeProto &node) const;
  void checkNode(const onnx::NodeProto &node) const;
  void checkTypes(Op &op);
  /// Gives the outputs of a node that failed something to go on with, or marks
  /// them as failed.
  void addPlaceholders(const onnx::NodeProto &node);
  void finish();
  void reportDropouts();
  mlir::NamedAttrList attributesOf(size_t input, bool perSample);
  std::string pickLoss() const;
  mlir::Location locationOf(const onnx::NodeProto &node);

  mlir::MLIRContext &context;
  const ModelFile &file;
  const ImportOptions &options;
  ImportReport &report;
  Graph graph;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *body = nullptr;
  std::unordered_map<std::string, Slot> slots;
  std::string loss;
  std::vector<InputSignature> inputs;
  std::vector<Shape> inputShapes;
  std::vector<IndexUses> indexUses; ///< one an input
  std::vector<Parameter> parameters;
  llvm::DenseMap<mlir::Value, mlir::Value> nextValues; ///< by argument
  llvm::DenseMap<mlir::Value, mlir::Value> keptOf;     ///< argument by value
  std::vector<bool> onGradientPath;                    ///< one a node
  int current = 0; ///< the node of the graph in the walk
  std::vector<std::string> problems;
  int emitDepth = 0;
  std::map<double, int> dropouts; ///< ratio -> number of nodes
  int64_t randomNumbers = 0;

  // Bodies of branches, loops, and of operators that ONNX defines as
  // functions, once expanded: copies of their nodes with names of their own.
  std::deque<onnx::NodeProto> bodyNodes;
  std::unordered_map<std::string, const onnx::NodeProto *> bodyProducer;
  /// The name outside of what is an input inside.
  std::unordered_map<std::string, std::string> bodyAliases;
  std::unordered_map<const onnx::GraphProto *, std::unique_ptr<Graph>>
      bodyGraphs;
  int64_t scopes = 0, unrolledNodes = 0;
  int expandDepth = 0;

  // Exporters repeat the same arithmetic in every block; equal nodes over
  // equal constants are folded once, and each constant is emitted once.
  std::map<std::string, std::shared_ptr<const HostTensor>> shared;
  std::map<std::string, std::vector<std::shared_ptr<const HostTensor>>> folded;
  std::map<const HostTensor *, mlir::Value> emitted;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_IMPORTER_H
