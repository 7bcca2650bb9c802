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
#include "frontend/walk/ImportContext.h"
#include "frontend/walk/Quirk.h"

namespace zerograph::frontend {

/// A node bound to its inputs, attributes and outputs, and to the import that
/// it is a part of. All accessors throw ImportError on what the operator does
/// not allow.
class Op {
public:
  /// Both must outlive the Op.
  Op(ImportContext &context, const onnx::NodeProto &node)
      : Op(context, node, context.log.locationOf(node)) {}
  /// Emits at the location of another node, which needs this one's result.
  Op(ImportContext &context, const onnx::NodeProto &node,
     mlir::Location location)
      : context(context), emit(context.builder, location), node(node) {}

  const onnx::NodeProto &proto() const { return node; }
  int64_t opset() const { return context.file.opset; }

  int inputCount() const { return node.input_size(); }
  bool hasInput(int i) const {
    return i < node.input_size() && !node.input(i).empty();
  }
  bool wantsOutput(int i) const {
    return i < node.output_size() && !node.output(i).empty();
  }
  Slot &slot(int i);
  /// Returns input i as a value of the program; a constant is emitted.
  mlir::Value value(int i);
  /// Returns the same, but of a parameter that nodes change (see `keep`) the
  /// newest value: what the last of these nodes made of it.
  mlir::Value newest(int i);
  /// Makes `next` the value that input i has in the next micro-batch; in this
  /// one only `newest` gives it. Returns false if input i is neither a
  /// parameter nor what a node made of one. Without a loss nothing is kept, and
  /// this is true.
  bool keep(int i, mlir::Value next);
  /// Returns input i if it is a constant, else null.
  const HostTensor *host(int i);
  /// Returns input i, which must be a constant; `what` names it in the error.
  const HostTensor &constant(int i, const char *what);
  std::vector<int64_t> constantInts(int i, const char *what);
  /// Returns the one number of input i, a constant.
  int64_t constantInt(int i, const char *what);
  /// Returns these, or, in older versions of the operator, the attribute.
  std::vector<int64_t> intsInput(int i, const char *name);
  bool hasIntsInput(int i, const char *name) const {
    return hasInput(i) || hasAttribute(name);
  }
  /// Return the shape and the ONNX type of input i, constant or not.
  Shape shape(int i);
  int32_t type(int i);
  /// Returns whether all inputs are constants.
  bool allConstant();

  bool hasAttribute(const char *name) const;
  int64_t intAttribute(const char *name, int64_t otherwise) const;
  /// Returns an ONNX type, as numbers of it are computed with.
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
  /// Makes output i input k under another name.
  void forward(int i, int k);
  void forwardSlot(int i, Slot &slot);
  /// Makes output i the slot itself, also if it failed.
  void setSlot(int i, const Slot &slot);
  NamedSlot namedSlot(int i);
  /// Returns a slot as a value of the program.
  mlir::Value materialize(Slot &slot);

  /// Says that `indices` must lie in [low, high] or be `ignored`. If it is an
  /// input of the model, moved but not changed, the data are checked before
  /// they are used; returns false if nothing will check them.
  bool boundInput(mlir::Value indices, int64_t low, int64_t high,
                  std::optional<int64_t> ignored = std::nullopt);

  /// Imports the body that an attribute holds, run on `inputs`. The names of
  /// its nodes begin with this node's name and `label`. Problems of its nodes
  /// are noted, and the outputs that depend on them are marked as failed.
  std::vector<NamedSlot> runBody(const char *attribute,
                                 const std::string &label,
                                 const std::vector<NamedSlot> &inputs);
  /// Throws ImportError with the finding. If the user allows an exporter's
  /// damage, adds a warning about this node instead.
  void refuseOrWarn(const Finding &finding);
  /// Returns whether input i is a parameter that is trained.
  bool isTrained(int i) const;

  ImportContext &context;
  Emitter emit;

private:
  const Slot &tensor(int i);
  /// Returns the attribute of that name, or null.
  const onnx::AttributeProto *
  attribute(const char *name, onnx::AttributeProto::AttributeType type) const;
  /// Returns the same, or one without elements.
  const onnx::AttributeProto &
  list(const char *name, onnx::AttributeProto::AttributeType type) const;

  const onnx::NodeProto &node;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_OP_H
