//===- SharedInput.cpp - two inputs that an exporter made one -------------===//

#include "frontend/quirks/Quirks.h"

#include "absl/algorithm/container.h"

#include <set>
#include <vector>

namespace zerograph::frontend {

namespace {

/// Returns whether the value is an initializer that may be trained.
bool mayBeParameter(const Graph &graph, const std::string &name) {
  auto found = graph.initializers.find(name);
  return found != graph.initializers.end() && found->second->dims_size() > 0 &&
         found->second->data_type() != onnx::TensorProto::INT64 &&
         found->second->data_type() != onnx::TensorProto::INT32;
}

/// Returns whether no parameter is read from the node on, as in a loss.
bool isInLoss(const Graph &graph, int first) {
  std::set<int> seen = {first};
  std::vector<int> open = {first};
  while (!open.empty()) {
    const onnx::NodeProto &node = graph.proto.node(open.back());
    open.pop_back();
    for (const std::string &operand : node.input()) {
      if (mayBeParameter(graph, operand)) {
        return false;
      }
    }
    for (const std::string &output : node.output()) {
      auto users = graph.users.find(output);
      for (int n :
           users == graph.users.end() ? std::vector<int>() : users->second) {
        if (seen.insert(n).second) {
          open.push_back(n);
        }
      }
    }
  }
  return true;
}

/// Returns whether the value is computed from parameters and, unless it is
/// empty, the input.
bool isLearnt(const Graph &graph, const std::string &name,
              const std::string &input = "") {
  std::set<std::string> origins = graph.originsOf(name);
  return (input.empty() || origins.count(input) > 0) &&
         absl::c_any_of(origins, [&](const std::string &origin) {
           return mayBeParameter(graph, origin);
         });
}

/// Returns the operands, of the first two, with which the other may be compared
/// as with labels: classes; or what MSE, L1 and Huber subtract, and what binary
/// cross entropy multiplies by.
std::vector<int> labelsOf(const Graph &graph, int n) {
  const onnx::NodeProto &node = graph.proto.node(n);
  if (node.input_size() < 2) {
    return {};
  }
  if (node.op_type() == "SoftmaxCrossEntropyLoss" ||
      node.op_type() == "NegativeLogLikelihoodLoss" ||
      node.op_type() == "GatherElements") {
    return {1};
  }
  bool compares = node.op_type() == "Sub" || node.op_type() == "Mul";
  return compares && isInLoss(graph, n) ? std::vector<int>{0, 1}
                                        : std::vector<int>();
}

/// Returns whether something reads more of the input than its shape.
bool isRead(const Graph &graph, const std::string &input) {
  auto users = graph.users.find(input);
  return users != graph.users.end() &&
         absl::c_any_of(users->second,
                        [&](int n) { return !isMeasure(graph.proto.node(n)); });
}

bool sameType(const onnx::ValueInfoProto &a, const onnx::ValueInfoProto &b) {
  const auto &left = a.type().tensor_type(), &right = b.type().tensor_type();
  return left.elem_type() == right.elem_type() && left.has_shape() &&
         right.has_shape() &&
         absl::c_equal(left.shape().dim(), right.shape().dim(),
                       [](const auto &x, const auto &y) {
                         return x.dim_value() == y.dim_value() &&
                                x.dim_param() == y.dim_param();
                       });
}

/// Returns whether `name` has the numbers of the input, as labels have: in
/// another shape, cut, or with others where they do not count.
bool hasNumbersOf(const Graph &graph, const std::string &name,
                  const std::string &input) {
  static const auto *const kKeep = new std::set<std::string>{
      "Cast",    "Clip",  "Flatten", "Identity",  "Max",       "Pad",
      "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze", "Where"};
  std::set<std::string> seen = {name};
  std::vector<std::string> open = {name};
  while (!open.empty()) {
    auto found = graph.producer.find(open.back());
    open.pop_back();
    if (found == graph.producer.end()) {
      continue;
    }
    const onnx::NodeProto &node = graph.proto.node(found->second);
    if (kKeep->count(node.op_type()) > 0) {
      for (const std::string &operand : node.input()) {
        if (seen.insert(operand).second) {
          open.push_back(operand);
        }
      }
    }
  }
  return seen.count(input) > 0;
}

/// Returns the node that compares what is computed from an input with that
/// input. A product compares only with floats: integers are a mask.
const onnx::NodeProto *comparedWithItself(const Graph &graph,
                                          const onnx::ValueInfoProto &input) {
  int type = input.type().tensor_type().elem_type();
  bool isMask =
      type != onnx::TensorProto::FLOAT && type != onnx::TensorProto::DOUBLE &&
      type != onnx::TensorProto::FLOAT16 && type != onnx::TensorProto::BFLOAT16;
  for (int n : graph.order) {
    const onnx::NodeProto &node = graph.proto.node(n);
    if (isMask && node.op_type() == "Mul") {
      continue;
    }
    for (int labels : labelsOf(graph, n)) {
      if (hasNumbersOf(graph, node.input(labels), input.name()) &&
          isLearnt(graph, node.input(1 - labels), input.name())) {
        return &node;
      }
    }
  }
  return nullptr;
}

/// Finds a difference of a value and itself that the loss is made of.
void findSameValue(const Graph &graph, std::vector<Finding> &findings) {
  for (int n : graph.order) {
    const onnx::NodeProto &node = graph.proto.node(n);
    if (node.op_type() == "Sub" && node.input_size() == 2 &&
        node.input(0) == node.input(1) && isInLoss(graph, n) &&
        isLearnt(graph, node.input(0))) {
      findings.push_back(
          {absl::StrCat("node '", nodeName(node), "' (Sub) compares '",
                        node.input(0),
                        "' with itself, which is 0 whatever is trained"),
           ". Compare it with labels of their own; or, where that is meant, "
           "give --allow-exporter-damage"});
    }
  }
}

/// Finds where a loss of classes compares scores with the input that they are
/// computed from, while nothing reads the values of another input of the same
/// type and shape: one tensor was passed for both when the model was exported,
/// and the exporter connects both to one input.
std::vector<Finding> findShared(const TrainedModel &model) {
  std::vector<Finding> findings;
  if (!model.options.added_loss.empty()) {
    return findings;
  }
  const Graph &graph = model.graph;
  findSameValue(graph, findings);
  for (const auto &unread : graph.proto.input()) {
    if (graph.initializers.count(unread.name()) > 0 ||
        isRead(graph, unread.name())) {
      continue;
    }
    for (const auto &input : graph.proto.input()) {
      const onnx::NodeProto *node =
          input.name() != unread.name() && sameType(input, unread)
              ? comparedWithItself(graph, input)
              : nullptr;
      if (node != nullptr) {
        findings.push_back(
            {absl::StrCat(
                 "inputs '", unread.name(), "' and '", input.name(),
                 "' were one tensor when the model was exported: node '",
                 nodeName(*node), "' (", node->op_type(),
                 ") compares what is computed from '", input.name(), "' with '",
                 input.name(), "' itself, and nothing reads '", unread.name(),
                 "'"),
             ". Export again with a tensor of its own for each, as ids and "
             "ids.clone(); or, where that is meant, give "
             "--allow-exporter-damage"});
      }
    }
  }
  return findings;
}

} // namespace

const Quirk kSharedInput = {.find = findShared};

} // namespace zerograph::frontend
