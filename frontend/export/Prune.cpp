//===- Prune.cpp - removes what no output needs ---------------------------===//

#include "frontend/export/Inference.h"
#include "frontend/graph/Inputs.h"

#include <set>

namespace zerograph::frontend {

namespace {

/// Removes the elements of a repeated field that `keep` is false for.
template <typename Field, typename Keep>
void filter(Field &field, Keep keep) {
  Field kept;
  int i = 0;
  for (auto &element : field) {
    if (keep(element, i++)) {
      *kept.Add() = std::move(element);
    }
  }
  field.Swap(&kept);
}

/// Nodes and names that outputs need.
struct Needed {
  std::set<int> nodes;
  std::set<std::string> names;
  std::set<std::string> unusedInputs; ///< that no node has ever read
};

Needed findNeeded(const onnx::GraphProto &proto) {
  Graph graph(proto);
  Needed needed;
  needed.nodes.insert(graph.order.begin(), graph.order.end());
  for (int n : graph.order) {
    std::vector<std::string> reads = graph.reads(n);
    needed.names.insert(reads.begin(), reads.end());
    const auto &outputs = proto.node(n).output();
    needed.names.insert(outputs.begin(), outputs.end());
  }
  for (const auto &output : proto.output()) {
    needed.names.insert(output.name());
  }
  for (const auto &input : proto.input()) {
    if (graph.users.count(input.name()) == 0 &&
        graph.initializers.count(input.name()) == 0) {
      needed.unusedInputs.insert(input.name());
    }
  }
  return needed;
}

} // namespace

std::vector<std::string> prune(onnx::GraphProto &graph) {
  Needed needed = findNeeded(graph);
  std::vector<std::string> removed;
  std::set<std::string> initializers;
  for (const auto &tensor : graph.initializer()) {
    initializers.insert(tensor.name());
  }
  auto isNeeded = [&](const auto &named, int) {
    return needed.names.count(named.name()) != 0;
  };
  filter(*graph.mutable_node(),
         [&](const auto &, int n) { return needed.nodes.count(n) != 0; });
  filter(*graph.mutable_initializer(), isNeeded);
  filter(*graph.mutable_value_info(), isNeeded);
  filter(*graph.mutable_input(), [&](const auto &input, int n) {
    bool stays =
        isNeeded(input, n) || needed.unusedInputs.count(input.name()) != 0;
    if (!stays && initializers.count(input.name()) == 0) {
      removed.push_back(input.name());
    }
    return stays;
  });
  return removed;
}

} // namespace zerograph::frontend
