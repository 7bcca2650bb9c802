//===- NodeTable.h - the values and nodes of an import by name ------------===//

#ifndef ZEROGRAPH_FRONTEND_WALK_NODETABLE_H
#define ZEROGRAPH_FRONTEND_WALK_NODETABLE_H

#include "frontend/base/HostTensor.h"
#include "frontend/graph/Graph.h"

#include "mlir/IR/Value.h"

#include <deque>
#include <memory>

namespace zerograph::frontend {

class Constants;

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

/// Holds a slot for each name of the graph, and of the bodies that are imported
/// as if they stood in it, and knows the node that computes it. References to
/// slots and nodes stay valid as long as the table.
class NodeTable {
public:
  /// Both must outlive the table.
  NodeTable(const Graph &graph, Constants &constants)
      : graph(graph), constants(constants) {}

  /// Returns the slot of a name. The first time reads the initializer of that
  /// name if there is one, which may throw ImportError; an empty slot is of a
  /// node that has not been imported.
  Slot &slotOf(const std::string &name);
  /// Gives a name its slot, even if an initializer has that name.
  Slot &define(const std::string &name) { return slots[name] = Slot(); }

  /// Returns a prefix for the names of a body or a function, unlike all others.
  std::string newScope();
  /// Keeps a copy of a body's node, whose names are unique by now.
  const onnx::NodeProto &adopt(onnx::NodeProto node);
  /// Says that the input `inner` of a body is the value `outer` around it.
  void addAlias(const std::string &inner, const std::string &outer) {
    aliases[inner] = outer;
  }

  /// Describes what a value depends on, "input 'a', initializer 'b'", or, if on
  /// constants alone, why it is not known.
  std::string describeOrigins(const std::string &name) const;

private:
  bool isKnown(const std::string &name) const {
    auto slot = slots.find(name);
    return slot != slots.end() && slot->second.host;
  }
  const onnx::NodeProto *producerOf(const std::string &name) const;
  std::set<std::string> originsOf(const std::string &name) const;
  std::string describeUnknown(const std::string &name) const;

  const Graph &graph;
  Constants &constants;
  std::unordered_map<std::string, Slot> slots;
  // Copies of the nodes of bodies, with names of their own, one copy per run:
  // of branches, loops, and operators that ONNX defines as functions.
  std::deque<onnx::NodeProto> innerNodes;
  std::unordered_map<std::string, const onnx::NodeProto *> innerProducer;
  std::unordered_map<std::string, std::string> aliases;
  int64_t scopes = 0;
};

} // namespace zerograph::frontend

#endif // ZEROGRAPH_FRONTEND_WALK_NODETABLE_H
