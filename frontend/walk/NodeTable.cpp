//===- NodeTable.cpp - the values and nodes of an import by name ----------===//

#include "frontend/walk/NodeTable.h"

#include "frontend/walk/Constants.h"

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"

namespace zerograph::frontend {

const onnx::NodeProto *NodeTable::producerOf(const std::string &name) const {
  if (auto found = graph.producer.find(name); found != graph.producer.end()) {
    return &graph.proto.node(found->second);
  }
  auto inner = innerProducer.find(name);
  return inner == innerProducer.end() ? nullptr : inner->second;
}

Slot &NodeTable::slotOf(const std::string &name) {
  auto found = slots.find(name);
  if (found != slots.end()) {
    return found->second;
  }
  Slot slot;
  auto initializer = graph.initializers.find(name);
  if (initializer != graph.initializers.end()) {
    // Not a parameter, since those have their slots already: a constant.
    slot.host = constants.share(constants.read(*initializer->second));
  } else {
    slot.node = producerOf(name);
  }
  return slots[name] = std::move(slot);
}

std::string NodeTable::newScope() {
  // '\1' keeps inner names apart from those of the graph.
  return absl::StrCat("\1", scopes++, ".");
}

const onnx::NodeProto &NodeTable::adopt(onnx::NodeProto node) {
  const onnx::NodeProto &kept = innerNodes.emplace_back(std::move(node));
  for (const std::string &output : kept.output()) {
    innerProducer[output] = &kept;
  }
  return kept;
}

/// Returns the graph's inputs and initializers that a value depends on.
std::set<std::string> NodeTable::originsOf(const std::string &name) const {
  std::set<std::string> seen = {name}, origins;
  std::vector<std::string> work = {name};
  auto reach = [&](const std::string &next) {
    if (!next.empty() && seen.insert(next).second) {
      work.push_back(next);
    }
  };
  while (!work.empty()) {
    std::string value = std::move(work.back());
    work.pop_back();
    auto alias = aliases.find(value);
    auto inner = innerProducer.find(value);
    if (alias != aliases.end()) {
      reach(alias->second);
    } else if (inner != innerProducer.end()) {
      if (!isMeasure(*inner->second)) {
        absl::c_for_each(inner->second->input(), reach);
      }
    } else if (value[0] != '\1') {
      origins.merge(graph.originsOf(value));
    }
  }
  return origins;
}

std::string NodeTable::describeOrigins(const std::string &name) const {
  std::vector<std::string> parts;
  for (const std::string &origin : originsOf(name)) {
    bool initializer = graph.initializers.count(origin) != 0;
    if (!initializer || !isKnown(origin)) {
      parts.push_back(
          absl::StrCat(initializer ? "initializer '" : "input '", origin, "'"));
    }
  }
  return parts.empty() ? describeUnknown(name) : absl::StrJoin(parts, ", ");
}

/// Names the node at which a value that depends on constants alone is not
/// known.
std::string NodeTable::describeUnknown(const std::string &name) const {
  const onnx::NodeProto *node = nullptr;
  for (std::string value = name; !value.empty();) {
    auto found = graph.producer.find(value);
    if (found == graph.producer.end()) {
      break;
    }
    node = &graph.proto.node(found->second);
    auto unknown = absl::c_find_if(node->input(), [&](const auto &input) {
      return !input.empty() && !isKnown(input);
    });
    value = unknown == node->input().end() ? "" : *unknown;
  }
  return node == nullptr
             ? "a constant too large to fold"
             : absl::StrCat("the result of node '", nodeName(*node), "' (",
                            node->op_type(),
                            "), which is the same in each step and too large "
                            "to be computed once, or of an operator that only "
                            "the program computes");
}

} // namespace zerograph::frontend
