//===- Probabilities.cpp - probabilities that pass for scores -------------===//

#include "frontend/walk/Probabilities.h"

#include "frontend/base/Error.h"
#include "frontend/file/ModelFile.h"
#include "frontend/file/TensorBytes.h"

#include <set>

namespace zerograph::frontend {

namespace {

/// Returns whether what the node makes of probabilities are the same ones, in
/// other places or as good as.
bool keepsProbabilities(const onnx::NodeProto &node) {
  static const std::set<std::string> kKeep = {
      "Cast",    "Clip",  "Expand",  "Flatten", "Identity",  "Max",      "Min",
      "Reshape", "Slice", "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
  return kKeep.count(node.op_type()) != 0;
}

/// Returns whether the node is the last of a softmax that is written out:
/// exp(x) / sum(exp(x)).
bool endsSoftmax(const Graph &graph, const onnx::NodeProto &node) {
  if (node.op_type() != "Div" || node.input_size() != 2) {
    return false;
  }
  auto above = graph.producer.find(node.input(0));
  auto below = graph.producer.find(node.input(1));
  if (above == graph.producer.end() || below == graph.producer.end()) {
    return false;
  }
  const onnx::NodeProto &sum = graph.proto.node(below->second);
  const onnx::NodeProto &power = graph.proto.node(above->second);
  return power.op_type() == "Exp" && power.input_size() == 1 &&
         sum.op_type() == "ReduceSum" && sum.input_size() > 0 &&
         sum.input(0) == node.input(0);
}

/// Returns whether a value is the constant 1.
bool isOne(const Graph &graph, const std::string &name) {
  const onnx::TensorProto *tensor = nullptr;
  if (auto found = graph.initializers.find(name);
      found != graph.initializers.end()) {
    tensor = found->second;
  } else if (auto made = graph.producer.find(name);
             made != graph.producer.end()) {
    const auto *value = findAttribute(graph.proto.node(made->second), "value");
    tensor = value != nullptr && value->has_t() ? &value->t() : nullptr;
  }
  if (tensor == nullptr || longDims(*tensor) > 0 ||
      tensor->data_location() == onnx::TensorProto::EXTERNAL ||
      !isFloatType(tensor->data_type())) {
    return false;
  }
  HostTensor one = readTensor(*tensor, nullptr);
  return one.size() == 1 && one.floatAt(0) == 1;
}

/// Returns p of a node that joins 1 - p and p, the probabilities of two
/// classes; empty for any other node.
std::string secondOfPair(const Graph &graph, const onnx::NodeProto &node) {
  if (node.op_type() != "Concat" || node.input_size() != 2) {
    return "";
  }
  auto first = graph.producer.find(node.input(0));
  if (first == graph.producer.end()) {
    return "";
  }
  const onnx::NodeProto &rest = graph.proto.node(first->second);
  bool pair = rest.op_type() == "Sub" && rest.input_size() == 2 &&
              rest.input(1) == node.input(1) && isOne(graph, rest.input(0));
  return pair ? node.input(1) : "";
}

} // namespace

void checkScores(const Graph &graph, const std::string &name,
                 const AddedLoss &wanted) {
  std::string made = name;
  const onnx::NodeProto *node = nullptr;
  bool moved = false, pair = false;
  for (;;) {
    auto found = graph.producer.find(made);
    if (found == graph.producer.end()) {
      return;
    }
    node = &graph.proto.node(found->second);
    std::string second = secondOfPair(graph, *node);
    made = node->input_size() > 0 ? node->input(0) : "";
    if (!second.empty()) {
      pair = true;
      made = second;
    } else if (keepsProbabilities(*node)) {
      moved |= node->op_type() != "Identity" && node->op_type() != "Cast";
    } else {
      break;
    }
  }
  bool written = endsSoftmax(graph, *node);
  if (written) {
    made = graph.proto.node(graph.producer.at(made)).input(0); // of Exp
  }
  bool softmax =
      (written || node->op_type() == "Softmax") && wanted.ofClasses();
  bool sigmoid =
      node->op_type() == "Sigmoid" &&
      (pair ? wanted.ofClasses() : wanted.name() == "bce_with_logits");
  if (softmax || sigmoid) {
    fail("--loss ", wanted.name(), ": '", name,
         "' holds probabilities, made by ", node->op_type(), " '",
         nodeName(*node), "'; expected ",
         wanted.name() == "nll" ? "their logarithms" : "scores",
         "; give --loss ", softmax ? "cross_entropy" : "bce_with_logits",
         " --loss-on ", made, ", what they are made of",
         pair    ? ", with labels of its shape, floats of 0 and 1"
         : moved ? ", and labels in the order of its dims"
                 : "");
  }
}

} // namespace zerograph::frontend
