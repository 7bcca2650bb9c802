//===- Graph.cpp - order, liveness and gradient path of an ONNX graph -----===//

#include "frontend/Graph.h"

#include "frontend/Error.h"
#include "frontend/HostTensor.h"

#include <algorithm>

namespace zerograph::frontend {

std::string nodeName(const onnx::NodeProto &node) {
  if (!node.name().empty()) {
    return node.name();
  }
  for (const std::string &output : node.output()) {
    if (!output.empty()) {
      return output;
    }
  }
  return node.op_type();
}

bool carriesGradient(const onnx::NodeProto &node, int i) {
  static const std::set<std::string> none = {"And",
                                             "ArgMax",
                                             "ArgMin",
                                             "Ceil",
                                             "Constant",
                                             "ConstantOfShape",
                                             "Equal",
                                             "EyeLike",
                                             "Floor",
                                             "Greater",
                                             "GreaterOrEqual",
                                             "IsInf",
                                             "IsNaN",
                                             "Less",
                                             "LessOrEqual",
                                             "NonZero",
                                             "Not",
                                             "OneHot",
                                             "Or",
                                             "Range",
                                             "Round",
                                             "SequenceLength",
                                             "Shape",
                                             "Sign",
                                             "Size",
                                             "Xor"};
  static const std::set<std::string> firstOnly = {"CastLike",
                                                  "Clip",
                                                  "CumSum",
                                                  "Dropout",
                                                  "Expand",
                                                  "Gather",
                                                  "GatherElements",
                                                  "GatherND",
                                                  "OneHot",
                                                  "NegativeLogLikelihoodLoss",
                                                  "ReduceL1",
                                                  "ReduceL2",
                                                  "ReduceLogSum",
                                                  "ReduceLogSumExp",
                                                  "ReduceMax",
                                                  "ReduceMean",
                                                  "ReduceMin",
                                                  "ReduceProd",
                                                  "ReduceSum",
                                                  "ReduceSumSquare",
                                                  "Reshape",
                                                  "Resize",
                                                  "SequenceAt",
                                                  "Slice",
                                                  "SoftmaxCrossEntropyLoss",
                                                  "Split",
                                                  "SplitToSequence",
                                                  "Squeeze",
                                                  "Tile",
                                                  "TopK",
                                                  "Trilu",
                                                  "Unsqueeze"};
  const std::string &op = node.op_type();
  if (none.count(op) != 0) {
    return false;
  }
  if (firstOnly.count(op) != 0) {
    return i == 0;
  }
  if (op == "Where") {
    return i != 0;
  }
  if (op == "Pad") {
    return i == 0 || i == 2;
  }
  if (op == "BatchNormalization") {
    return i < 3;
  }
  if (op == "Cast") {
    for (const auto &attribute : node.attribute()) {
      if (attribute.name() == "to") {
        return isFloatType(static_cast<int32_t>(attribute.i()));
      }
    }
  }
  return true;
}

Graph::Graph(const onnx::GraphProto &graph) : proto(graph) {
  index();
  sort();
}

void Graph::index() {
  std::set<std::string> defined;
  for (const auto &tensor : proto.initializer()) {
    if (tensor.name().empty()) {
      fail("an initializer has no name");
    }
    if (!initializers.emplace(tensor.name(), &tensor).second) {
      fail("initializer '", tensor.name(), "' is there twice");
    }
    defined.insert(tensor.name());
  }
  std::set<std::string> inputs;
  for (const auto &input : proto.input()) {
    if (input.name().empty() || !inputs.insert(input.name()).second) {
      fail("graph input '", input.name(), "' has no name or is there twice");
    }
    defined.insert(input.name());
  }
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string &output : proto.node(n).output()) {
      if (!output.empty() && !defined.insert(output).second) {
        fail("node '", nodeName(proto.node(n)), "' defines '", output,
             "', which is defined already");
      }
      if (!output.empty()) {
        producer.emplace(output, n);
      }
    }
  }
  std::vector<std::string> missing;
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string &input : proto.node(n).input()) {
      if (input.empty()) {
        continue;
      }
      users[input].push_back(n);
      if (defined.count(input) == 0) {
        missing.push_back(absl::StrCat("node '", nodeName(proto.node(n)),
                                       "' reads '", input, "'"));
      }
    }
  }
  for (const auto &output : proto.output()) {
    if (defined.count(output.name()) == 0) {
      missing.push_back(absl::StrCat("graph output '", output.name(), "'"));
    }
  }
  if (!missing.empty()) {
    std::string list;
    for (const std::string &line : missing) {
      absl::StrAppend(&list, "\n  ", line);
    }
    fail("values that no node, input or initializer defines:", list);
  }
}

void Graph::sort() {
  // Depth first from the outputs, with a stack of its own: a chain of nodes
  // may be longer than the call stack.
  enum { unseen, open, done };
  std::vector<char> state(proto.node_size(), unseen);
  std::vector<std::pair<int, int>> stack; // node, next input
  auto enter = [&](const std::string &name) {
    auto found = producer.find(name);
    if (found == producer.end() || state[found->second] == done) {
      return;
    }
    if (state[found->second] == open) {
      fail("the graph has a cycle through node '",
           nodeName(proto.node(found->second)), "'");
    }
    state[found->second] = open;
    stack.emplace_back(found->second, 0);
  };
  for (const auto &output : proto.output()) {
    enter(output.name());
    while (!stack.empty()) {
      auto &[node, next] = stack.back();
      if (next < proto.node(node).input_size()) {
        enter(proto.node(node).input(next++));
      } else {
        state[node] = done;
        order.push_back(node);
        stack.pop_back();
      }
    }
  }
  // The file's own order where it is one, so that programs read alike.
  std::vector<int> place(proto.node_size(), -1);
  std::vector<int> byFile = order;
  std::sort(byFile.begin(), byFile.end());
  std::vector<bool> seen(proto.node_size(), false);
  for (int node : byFile) {
    for (const std::string &input : proto.node(node).input()) {
      auto found = producer.find(input);
      if (found != producer.end() && !seen[found->second]) {
        return;
      }
    }
    seen[node] = true;
  }
  order = byFile;
}

std::vector<bool> Graph::nodesReaching(const std::string &output) const {
  std::vector<bool> reached(proto.node_size(), false);
  std::vector<std::string> work = {output};
  while (!work.empty()) {
    auto found = producer.find(work.back());
    work.pop_back();
    if (found == producer.end() || reached[found->second]) {
      continue;
    }
    const auto &node = proto.node(found->second);
    reached[found->second] = true;
    for (int i = 0; i < node.input_size(); ++i) {
      if (!node.input(i).empty() && carriesGradient(node, i)) {
        work.push_back(node.input(i));
      }
    }
  }
  return reached;
}

std::vector<bool>
Graph::nodesReachedFrom(const std::set<std::string> &names) const {
  std::vector<bool> reached(proto.node_size(), false);
  std::vector<std::string> work(names.begin(), names.end());
  while (!work.empty()) {
    auto found = users.find(work.back());
    std::string name = std::move(work.back());
    work.pop_back();
    if (found == users.end()) {
      continue;
    }
    for (int n : found->second) {
      const auto &node = proto.node(n);
      bool flows = false;
      for (int i = 0; i < node.input_size(); ++i) {
        flows |= node.input(i) == name && carriesGradient(node, i);
      }
      if (flows && !reached[n]) {
        reached[n] = true;
        for (const std::string &output : node.output()) {
          if (!output.empty()) {
            work.push_back(output);
          }
        }
      }
    }
  }
  return reached;
}

std::set<std::string> Graph::originsOf(const std::string &name) const {
  std::set<std::string> origins, seen = {name};
  std::vector<std::string> work = {name};
  while (!work.empty()) {
    std::string value = std::move(work.back());
    work.pop_back();
    auto found = producer.find(value);
    if (found == producer.end()) {
      origins.insert(value);
      continue;
    }
    const auto &node = proto.node(found->second);
    // A shape is known whatever the values are.
    if (node.op_type() == "Shape" || node.op_type() == "Size") {
      continue;
    }
    for (const std::string &input : node.input()) {
      if (!input.empty() && seen.insert(input).second) {
        work.push_back(input);
      }
    }
  }
  return origins;
}

} // namespace zerograph::frontend
