//===- Op.h - one ONNX node while it is imported --------------------------===//
//
// This is what the functions of ops/ work with: the inputs, attributes and
// outputs of a node, and what they may ask or tell the import.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_OP_H
#define ZEROGRAPH_FRONTEND_WALK_OP_H

#include "frontend/base/Error.h"
#include "frontend/emit/Emitter.h"
#include "frontend/graph/OpDef.h"

#include <memory>
#include <optional>

namespace zerograph::frontend {

class Importer;
class Op;

/// The thing that an ONNX name stands for: a constant that the importer knows,
/// a value of the program, or both; or a sequence of these.
struct Slot {
  std::shared_ptr<const HostTensor> host;
  mlir::Value value;
  std::vector<Slot> sequence;
  bool isSequence = false;
  bool failed = false;                   ///< its node was not imported
  const onnx::NodeProto *node = nullptr; ///< computes it; null: nothing does
};

/// A slot with the name it has in the graph, for messages.
struct NamedSlot {
  Slot slot;
  std::string name;
};

/// A node bound to its inputs, attributes and outputs. All accessors throw
/// ImportError on what the operator does not allow.
class Op {
public:
  Op(Importer &importer, const onnx::NodeProto &node, mlir::Location location);

  const onnx::NodeProto &proto() const { return node; }
  int64_t opset() const;

  int inputCount() const { return node.input_size(); }
  bool hasInput(int i) const {
    return i < node.input_size() && !node.input(i).empty();
  }
  bool wantsOutput(int i) const {
    return i < node.output_size() && !node.output(i).empty();
  }
  Slot &slot(int i);
  /// Input i as a value of the program; a constant is materialized.
  mlir::Value value(int i);
  /// The same, but of a parameter that nodes change (see `keep`) the newest
  /// value: what the last of these nodes made of it.
  mlir::Value newest(int i);
  /// Makes `next` the value that input i has in the next micro-batch; in this
  /// one only `newest` gives it. False if input i is neither a parameter nor
  /// what a node made of one. Without a loss nothing is kept, and this is true.
  bool keep(int i, mlir::Value next);
  /// Input i where it is a constant, else null.
  const HostTensor *host(int i);
  /// Input i, which must be a constant; `what` names it in the error.
  const HostTensor &constant(int i, const char *what);
  std::vector<int64_t> constantInts(int i, const char *what);
  /// The same, or, in older versions of the operator, the attribute `name`.
  std::vector<int64_t> intsInput(int i, const char *name);
  bool hasIntsInput(int i, const char *name) const {
    return hasInput(i) || hasAttribute(name);
  }
  /// Shape and ONNX type of input i, constant or not.
  Shape shape(int i);
  int32_t type(int i);
  /// Returns whether all inputs are constants.
  bool allConstant();

  bool hasAttribute(const char *name) const;
  int64_t intAttribute(const char *name, int64_t otherwise) const;
  /// An ONNX type, as numbers of it are computed with.
  int32_t typeAttribute(const char *name, int32_t otherwise) const;
  float floatAttribute(const char *name, float otherwise) const;
  std::string stringAttribute(const char *name,
                              const std::string &otherwise) const;
  std::vector<int64_t> intsAttribute(const char *name) const;
  std::vector<float> floatsAttribute(const char *name) const;
  std::vector<std::string> stringsAttribute(const char *name) const;
  std::optional<HostTensor> tensorAttribute(const char *name) const;

  void set(int i, mlir::Value value);
  void set(int i, HostTensor value);
  void setSequence(int i, std::vector<Slot> sequence);
  /// Output i is input k under another name.
  void forward(int i, int k);
  void forwardSlot(int i, Slot &slot);
  /// Output i is the slot itself, also if it failed.
  void setSlot(int i, const Slot &slot);
  NamedSlot namedSlot(int i);
  /// Returns the slot of any name that nodes before this one read.
  Slot &slotOf(const std::string &name);
  /// A slot as a value of the program.
  mlir::Value materialize(Slot &slot);

  /// Says that `indices` must lie in [low, high] or be `ignored`. If it is an
  /// input of the model, moved but not changed, the data are checked before
  /// they are used; false if nothing will check them.
  bool boundInput(mlir::Value indices, int64_t low, int64_t high,
                  std::optional<int64_t> ignored = std::nullopt);

  /// Imports the body that an attribute holds, run on `inputs`. The names of
  /// its nodes begin with this node's name and `label`. Problems of its nodes
  /// are noted, and the outputs that depend on them are marked as failed.
  std::vector<NamedSlot> runBody(const char *attribute,
                                 const std::string &label,
                                 const std::vector<NamedSlot> &inputs);
  /// "input 'a', initializer 'b'": what a value depends on.
  std::string describeOrigins(const std::string &name) const;
  /// Problems that the import has found so far.
  size_t problemCount() const;

  /// The ratio of a dropout: the user's if there is one, else `ofFile`, which
  /// is 0 if the dropout is off. Counts the dropout for the report.
  double decideDropout(double ofFile);
  /// Returns whether the user gives all dropouts a ratio.
  bool setsDropout() const;
  /// A number that gives an op random numbers of its own: 0, 1, ... in the
  /// order of the walk.
  int64_t nextRandomNumber();

  /// Adds a warning about this node to the import's report.
  void warn(const std::string &text);
  /// The operator of the one node that reads output i; "" if there is none or
  /// more than one, and within bodies.
  std::string onlyReader(int i) const;
  /// Returns whether input i is a parameter that is trained.
  bool isTrained(int i) const;
  /// Returns whether the import has a loss to minimize.
  bool hasLoss() const;
  /// Returns whether the program evaluates, instead of training.
  bool evaluates() const;
  /// Returns whether PyTorch's TorchScript exporter wrote the model.
  bool isOfTorchScript() const;
  /// Returns whether the gradient passes at the bounds of this Clip, Max or
  /// Min.
  bool passesAtBounds() const;
  /// Returns whether the first of equal extremes gets the whole gradient of
  /// this ReduceMax or ReduceMin along `axes`.
  bool choosesFirst(const std::vector<int64_t> &axes);
  /// Returns whether the user accepts what an exporter is known to have
  /// damaged.
  bool allowsExporterDamage() const;
  /// Tells the user that this node is computed otherwise than it is written, as
  /// a stable form (emit/StableLog.h); once for all nodes.
  void noteStable(const std::string &form);
  /// Takes back what was told of another node, unless several nodes read it.
  void forgetStable(const onnx::NodeProto &other);
  /// Tells the user something, once for all nodes.
  void note(const std::string &text);

  /// Notes a problem of this node. The import will fail, but the walk goes on,
  /// so that later nodes are checked too.
  void complain(const std::string &problem);

  Emitter emit;

private:
  const onnx::AttributeProto *
  attribute(const char *name, onnx::AttributeProto::AttributeType type) const;

  Importer &importer;
  const onnx::NodeProto &node;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_OP_H
