//===- Graph.cpp - order, liveness and gradient path of an ONNX graph -----===//

#include "frontend/graph/Graph.h"

#include "frontend/base/Error.h"
#include "frontend/base/HostTensor.h"

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
  static const std::set<std::string> none = {
      "And",     "ArgMax",         "ArgMin",
      "Ceil",    "Constant",       "ConstantOfShape",
      "Equal",   "EyeLike",        "Floor",
      "Greater", "GreaterOrEqual", "Hardmax",
      "If",      "IsInf",          "IsNaN",
      "Less",    "LessOrEqual",    "NonZero",
      "Not",     "OneHot",         "Or",
      "Range",   "Round",          "SequenceLength",
      "Shape",   "Sign",           "Size",
      "Xor"};
  // Only the shape counts, or a probability.
  static const std::set<std::string> random = {"Bernoulli", "RandomNormalLike",
                                               "RandomUniformLike"};
  static const std::set<std::string> firstOnly = {
      "CastLike",     "CumSum",
      "Dropout",      "Expand",
      "Gather",       "GatherElements",
      "GatherND",     "NegativeLogLikelihoodLoss",
      "ReduceL1",     "ReduceL2",
      "ReduceLogSum", "ReduceLogSumExp",
      "ReduceMax",    "ReduceMean",
      "ReduceMin",    "ReduceProd",
      "ReduceSum",    "ReduceSumSquare",
      "Reshape",      "Resize",
      "SequenceAt",   "SequenceErase",
      "Slice",        "SoftmaxCrossEntropyLoss",
      "Split",        "SplitToSequence",
      "Squeeze",      "Tile",
      "TopK",         "Trilu",
      "Unsqueeze",    "Upsample"};
  const std::string &op = node.op_type();
  if (none.count(op) != 0 || random.count(op) != 0) {
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
  if (op == "Loop") {
    return i > 1; // trip count, condition
  }
  if (op == "SequenceInsert") {
    return i < 2;
  }
  if (op == "LSTM" || op == "GRU" || op == "RNN") {
    return i != 4; // sequence_lens
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

Graph::Graph(const onnx::GraphProto &graph, bool isBody) : proto(graph) {
  index(isBody);
  sort();
}

std::vector<std::string> Graph::reads(int n) const {
  std::vector<std::string> names;
  for (const std::string &input : proto.node(n).input()) {
    if (!input.empty()) {
      names.push_back(input);
    }
  }
  if (auto found = bodies.find(n); found != bodies.end()) {
    for (const Graph &body : found->second) {
      names.insert(names.end(), body.captured.begin(), body.captured.end());
    }
  }
  return names;
}

bool Graph::isStatisticOfData(const onnx::NodeProto &node, int i) const {
  if (node.op_type() != "BatchNormalization" || i < 3) {
    return false;
  }
  for (const auto &attribute : node.attribute()) {
    if (attribute.name() == "training_mode" && attribute.i() != 0) {
      return false; // they are computed anew
    }
  }
  std::set<std::string> origins = originsOf(node.input(i));
  return std::any_of(origins.begin(), origins.end(), [&](const auto &origin) {
    return initializers.count(origin) == 0 && captured.count(origin) == 0;
  });
}

std::vector<std::string> Graph::gradientReads(int n) const {
  const onnx::NodeProto &node = proto.node(n);
  std::vector<std::string> names;
  for (int i = 0; i < node.input_size(); ++i) {
    if (!node.input(i).empty() &&
        (carriesGradient(node, i) || isStatisticOfData(node, i))) {
      names.push_back(node.input(i));
    }
  }
  if (auto found = bodies.find(n); found != bodies.end()) {
    for (const Graph &body : found->second) {
      std::vector<std::string> outputs;
      for (const auto &output : body.proto.output()) {
        outputs.push_back(output.name());
      }
      std::set<std::string> ends;
      body.follow(outputs, &ends);
      for (const std::string &name : ends) {
        if (body.captured.count(name) != 0) {
          names.push_back(name);
        }
      }
    }
  }
  return names;
}

void Graph::index(bool isBody) {
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
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const auto &attribute : proto.node(n).attribute()) {
      if (attribute.has_g()) {
        try {
          bodies[n].emplace_back(attribute.g(), /*isBody=*/true);
        } catch (const ImportError &error) {
          fail("node '", nodeName(proto.node(n)), "', attribute '",
               attribute.name(), "': ", error.what());
        }
      }
    }
  }
  std::vector<std::string> missing;
  auto use = [&](const std::string &name, const std::string &where) {
    if (defined.count(name) == 0) {
      if (isBody) {
        captured.insert(name);
      } else {
        missing.push_back(absl::StrCat(where, "'", name, "'"));
      }
    }
  };
  for (int n = 0; n < proto.node_size(); ++n) {
    for (const std::string &name : reads(n)) {
      users[name].push_back(n);
      use(name, absl::StrCat("node '", nodeName(proto.node(n)), "' reads "));
    }
  }
  for (const auto &output : proto.output()) {
    use(output.name(), "graph output ");
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
  struct Visit {
    int node;
    std::vector<std::string> reads;
    size_t next = 0;
  };
  std::vector<Visit> stack;
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
    stack.push_back({found->second, reads(found->second)});
  };
  for (const auto &output : proto.output()) {
    enter(output.name());
    while (!stack.empty()) {
      Visit &visit = stack.back();
      if (visit.next < visit.reads.size()) {
        enter(std::string(visit.reads[visit.next++]));
      } else {
        state[visit.node] = done;
        order.push_back(visit.node);
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
    for (const std::string &name : reads(node)) {
      auto found = producer.find(name);
      if (found != producer.end() && !seen[found->second]) {
        return;
      }
    }
    seen[node] = true;
  }
  order = byFile;
}

std::vector<bool> Graph::follow(std::vector<std::string> work,
                                std::set<std::string> *ends) const {
  std::vector<bool> reached(proto.node_size(), false);
  while (!work.empty()) {
    std::string name = std::move(work.back());
    work.pop_back();
    auto found = producer.find(name);
    if (found == producer.end()) {
      if (ends != nullptr) {
        ends->insert(std::move(name));
      }
    } else if (!reached[found->second]) {
      reached[found->second] = true;
      for (std::string &read : gradientReads(found->second)) {
        work.push_back(std::move(read));
      }
    }
  }
  return reached;
}

std::vector<bool> Graph::nodesReaching(const std::string &output) const {
  return follow({output}, nullptr);
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
      if (reached[n]) {
        continue;
      }
      std::vector<std::string> sources = gradientReads(n);
      if (std::find(sources.begin(), sources.end(), name) != sources.end()) {
        reached[n] = true;
        for (const std::string &output : proto.node(n).output()) {
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
    for (const std::string &name : reads(found->second)) {
      if (seen.insert(name).second) {
        work.push_back(name);
      }
    }
  }
  return origins;
}

} // namespace zerograph::frontend
