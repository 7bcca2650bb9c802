//===- Origins.cpp - what a value depends on, for messages ----------------===//

#include "frontend/walk/Importer.h"

#include "absl/strings/str_join.h"

#include <algorithm>

namespace zerograph::frontend {

std::set<std::string> Importer::originsOf(const std::string &name) const {
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
    auto alias = bodyAliases.find(value);
    auto inner = bodyProducer.find(value);
    if (alias != bodyAliases.end()) {
      reach(alias->second);
    } else if (inner != bodyProducer.end()) {
      if (!isMeasure(*inner->second)) {
        for (const std::string &input : inner->second->input()) {
          reach(input);
        }
      }
    } else if (value[0] != '\1') {
      origins.merge(graph.originsOf(value));
    }
  }
  return origins;
}

std::string Importer::describeOrigins(const std::string &name) const {
  std::vector<std::string> parts;
  for (const std::string &origin : originsOf(name)) {
    bool initializer = graph.initializers.count(origin) != 0;
    auto slot = slots.find(origin);
    if (!initializer || slot == slots.end() || !slot->second.host) {
      parts.push_back(
          absl::StrCat(initializer ? "initializer '" : "input '", origin, "'"));
    }
  }
  return parts.empty() ? describeUnknown(name) : absl::StrJoin(parts, ", ");
}

std::string Importer::describeUnknown(const std::string &name) const {
  auto isKnown = [&](const std::string &value) {
    auto slot = slots.find(value);
    return slot != slots.end() && slot->second.host;
  };
  const onnx::NodeProto *node = nullptr;
  for (std::string value = name; !value.empty();) {
    auto found = graph.producer.find(value);
    if (found == graph.producer.end()) {
      break;
    }
    node = &graph.proto.node(found->second);
    auto unknown = std::find_if_not(node->input().begin(), node->input().end(),
                                    [&](const std::string &input) {
                                      return input.empty() || isKnown(input);
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
