//===- Importer.h - the forward walk over the nodes -----------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_IMPORTER_H
#define ZEROGRAPH_FRONTEND_WALK_IMPORTER_H

#include "frontend/Import.h"
#include "frontend/exporter/Clamp.h"
#include "frontend/exporter/Extremum.h"
#include "frontend/exporter/Parameters.h"
#include "frontend/exporter/Signature.h"
#include "frontend/file/ModelFile.h"
#include "frontend/graph/Graph.h"
#include "frontend/walk/IndexRange.h"
#include "frontend/walk/Op.h"

#include <deque>

namespace onnx {
class OpSchema;
}
namespace mlir::zg::nn {
class SampleAnalysis;
}

namespace zerograph::frontend {

struct AddedLoss;
struct ScoreDims;

/// Imports one model. Every ONNX name becomes a Slot: a constant on the host, a
/// value of the program, or, on demand, both. A node whose inputs are all
/// constants is folded: computed while importing. A constant is emitted when a
/// value of the program needs it.
class Importer {
public:
  Importer(mlir::MLIRContext &context, const ModelFile &file,
           const ImportOptions &options, ImportReport &report);
  /// Throws ImportError.
  mlir::OwningOpRef<mlir::ModuleOp> run();

  int64_t opset() const { return file.opset; }
  bool isOfTorchScript() const {
    return zerograph::frontend::isOfTorchScript(file.model);
  }
  bool passesAtBounds(const onnx::NodeProto &node) const {
    return zerograph::frontend::passesAtBounds(file.model, node);
  }
  bool choosesFirst(const onnx::NodeProto &node,
                    const std::vector<int64_t> &axes, int64_t rank) const {
    return zerograph::frontend::choosesFirst(file.model, graph, node, axes,
                                             rank);
  }
  const ImportOptions &importOptions() const { return options; }
  /// See Op.
  std::string onlyReader(const std::string &name) const;
  /// Returns whether an initializer of this name is trained.
  bool isTrained(const std::string &name) const;
  /// Adds a note to the report, once.
  void note(const std::string &text);
  /// See Op.
  void noteStable(const onnx::NodeProto &node, const std::string &form);
  void forgetStable(const onnx::NodeProto &node);
  /// See Op.
  double decideDropout(double ofFile);
  int64_t nextRandomNumber() { return randomNumbers++; }
  /// Returns a builder that adds ops at the end of the program.
  mlir::OpBuilder &builderAtEnd() { return builder; }
  Slot &slotOf(const std::string &name);
  /// The slot as a value, emitted at the end of the program if need be.
  mlir::Value materialize(Slot &slot, mlir::Location location);
  /// The newest value of a parameter, which is an argument of the program: what
  /// the last node that changed it made of it, else itself.
  mlir::Value newest(mlir::Value parameter) const;
  /// `next` is what becomes of the parameter `old`, or of the one that `old`
  /// was made of; false if there is no such parameter.
  bool keep(mlir::Value old, mlir::Value next);
  /// The type that numbers of a type of the file are computed with: see
  /// Halves.cpp.
  int32_t computedType(int32_t type) const;
  /// The values of a tensor, which a node holds or which may lie in a file, in
  /// that type.
  HostTensor read(const onnx::TensorProto &tensor, bool inNode = false) const;
  /// A constant to put into slots; small equal ones are one object.
  std::shared_ptr<const HostTensor> share(HostTensor tensor);
  /// If `indices` is an input or a part of one, moved but not changed, notes
  /// its range. True for a whole input: all its values will be checked.
  bool boundInput(mlir::Value indices, const IndexRange &range);
  /// Adds a line to the one error with which the import will end.
  void addProblem(const onnx::NodeProto &node, const std::string &problem);
  void addWarning(const onnx::NodeProto &node, const std::string &text);
  size_t problemCount() const { return problem_count; }
  /// "input 'a', initializer 'b'": what a value depends on.
  std::string describeOrigins(const std::string &name) const;
  /// The node at which a value that depends on constants alone is not known.
  std::string describeUnknown(const std::string &name) const;
  /// Imports a body run on `inputs`; `label` names the run.
  std::vector<NamedSlot> runBody(const onnx::GraphProto &body,
                                 const std::string &label,
                                 const std::vector<NamedSlot> &inputs);

private:
  void addInputs();
  void addParameters();
  void addParameter(const Parameter &parameter);
  void decideHalves();
  void widenInputs();
  void findGradientPath(const std::set<std::string> &trained);
  void walk();
  void importNode(const onnx::NodeProto &node);
  /// The same; a failure becomes a problem, and the walk can go on.
  void tryNode(const onnx::NodeProto &node);
  /// A graph's inputs and initializers that a value depends on.
  std::set<std::string> originsOf(const std::string &name) const;
  /// The index over a body, made once.
  const Graph &graphOf(const onnx::GraphProto &body);
  /// Counts a run of a body; throws ImportError if there are too many nodes.
  void countRun(const Graph &body);
  /// Gives the inputs and initializers of a body their slots, under names that
  /// begin with `prefix`. Gives the names that the body itself defines.
  std::set<std::string> bindBody(const Graph &body, const std::string &prefix,
                                 const std::vector<NamedSlot> &inputs);
  /// Keeps a copy of a body's node, whose names are unique by now.
  const onnx::NodeProto &adopt(onnx::NodeProto node);
  /// The body that defines the operator of `node`.
  onnx::FunctionProto functionOf(const onnx::NodeProto &node);
  onnx::FunctionProto builtFunctionOf(const onnx::NodeProto &node);
  void expandFunction(const onnx::NodeProto &node);
  bool foldNode(const OpDef &def, Op &op);
  /// Emits the node that computed a constant; null if there is none.
  mlir::Value emitNodeOf(const Slot &slot, mlir::Location location);
  /// Null where ONNX has no such operator.
  const onnx::OpSchema *schemaOf(const onnx::NodeProto &node) const;
  void checkNode(const onnx::NodeProto &node) const;
  void checkTypes(Op &op);
  /// Gives each output of a node that failed a placeholder, or marks it as
  /// failed.
  void addPlaceholders(const onnx::NodeProto &node);
  bool describeInputs(const onnx::NodeProto &node, onnx::GraphProto &single);
  /// Returns what ONNX infers of the outputs of a node, by name; nothing if
  /// that fails.
  std::vector<onnx::ValueInfoProto> inferOutputs(const onnx::NodeProto &node);
  /// Makes the outputs constants without elements. False if ONNX does not infer
  /// that all that are used are.
  bool setEmpty(const onnx::NodeProto &node);
  void addLoss();
  void noteOwnLoss();
  ScoreDims scoreDimsOf(const AddedLoss &wanted, mlir::Value scores);
  mlir::Value labelsOf(const AddedLoss &wanted, mlir::Value scores,
                       mlir::Location location);
  mlir::Value addLabels(const Shape &shape, mlir::Type element,
                        mlir::Location location);
  void finish();
  /// The input by whose leading size inputs with samples are known where all
  /// sizes are fixed: the labels if they are known, else the first.
  size_t anchorInput() const;
  /// The inputs whose leading dim is samples.
  llvm::SmallVector<mlir::Value> sampleInputs() const;
  bool hasSamplesInFront(const onnx::ValueInfoProto &output, mlir::Value value,
                         const nn::SampleAnalysis &samples);
  llvm::SmallVector<mlir::Attribute> addResults();
  mlir::Value resultOf(const std::string &output);
  void eraseUnused();
  void addInputAttributes(llvm::SmallVector<mlir::Attribute> &attributes);
  void addParameterAttributes(llvm::SmallVector<mlir::Attribute> &attributes);
  mlir::Attribute attributeOf(const Parameter &parameter);
  /// None: an empty one.
  nn::AdapterAttr adapterOf(const Parameter &parameter);
  void noteFiles(llvm::ArrayRef<mlir::Attribute> arguments);
  void noteMadeConstants();
  void verifyModule();
  void reportDropouts();
  void reportStable();
  mlir::NamedAttrList attributesOf(size_t input, bool perSample);
  std::string pickLoss() const;
  std::string pickScores() const;
  mlir::Location locationOf(const onnx::NodeProto &node);
  /// "node 'y' (Gather) in layers.1 (model.py:61)", for people.
  std::string describeNode(const onnx::NodeProto &node);

  mlir::MLIRContext &context;
  const ModelFile &file;
  const ImportOptions &options;
  ImportReport &report;
  Graph graph;
  mlir::OpBuilder builder;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block *body = nullptr;
  std::unordered_map<std::string, Slot> slots;
  std::string loss; ///< output; if a loss is added, that which it is of
  /// --loss: what was added, and the name that it has as an output.
  mlir::Value addedLoss;
  std::string addedName;
  std::vector<InputSignature> inputs;
  std::vector<Shape> inputShapes;
  std::vector<IndexUses> indexUses; ///< one per input
  std::vector<Parameter> parameters;
  bool widensHalves = false;
  llvm::DenseMap<mlir::Value, mlir::Value> nextValues; ///< by argument
  llvm::DenseMap<mlir::Value, mlir::Value> keptOf;     ///< argument by value
  std::vector<bool> onGradientPath;                    ///< one per node
  int current = 0; ///< the node that the walk is at
  /// One problem of several nodes of an operator, reported once.
  struct Problem {
    std::string type, text, place; ///< `place`: of the first node
    std::vector<std::string> nodes;
  };
  std::vector<Problem> problems;
  size_t problem_count = 0; ///< counts nodes that have one
  int emitDepth = 0;
  std::map<double, int> dropouts; ///< ratio -> how many nodes have it
  int64_t randomNumbers = 0;
  std::vector<std::string> stableNodes; ///< as texts; see noteStable

  // Copies of the nodes of bodies, with names of their own, one copy per run:
  // of branches, loops, and operators that ONNX defines as functions.
  std::deque<onnx::NodeProto> bodyNodes;
  std::unordered_map<std::string, const onnx::NodeProto *> bodyProducer;
  /// Input of a body -> its name outside.
  std::unordered_map<std::string, std::string> bodyAliases;
  std::unordered_map<const onnx::GraphProto *, std::unique_ptr<Graph>>
      bodyGraphs;
  int64_t scopes = 0, unrolledNodes = 0;
  int expandDepth = 0;

  // Equal nodes over equal constants are folded once, and each constant is
  // emitted once (see Constants.cpp).
  std::map<std::string, std::shared_ptr<const HostTensor>> shared;
  std::map<std::string, std::vector<std::shared_ptr<const HostTensor>>> folded;
  std::map<const HostTensor *, mlir::Value> emitted;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_IMPORTER_H
