//===- SharedInput.cpp - two inputs that an exporter made one -------------===//

#include "frontend/exporter/SharedInput.h"

#include "frontend/base/Error.h"

#include "absl/algorithm/container.h"

#include <set>
#include <vector>

namespace zerograph::frontend {

namespace {

/// Returns the operand that has the classes with which scores, another operand,
/// are compared; 0 if the node compares nothing.
int labelsOf(const onnx::NodeProto &node) {
  bool loss = node.op_type() == "SoftmaxCrossEntropyLoss" ||
              node.op_type() == "NegativeLogLikelihoodLoss" ||
              node.op_type() == "GatherElements";
  return loss && node.input_size() > 1 ? 1 : 0;
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

/// The node that compares what is computed from an input with that input.
const onnx::NodeProto *comparedWithItself(const Graph &graph,
                                          const std::string &input) {
  for (int n : graph.order) {
    const onnx::NodeProto &node = graph.proto.node(n);
    int labels = labelsOf(node);
    if (labels > 0 && hasNumbersOf(graph, node.input(labels), input) &&
        graph.originsOf(node.input(0)).count(input) > 0) {
      return &node;
    }
  }
  return nullptr;
}

} // namespace

void checkSharedInput(const Graph &graph, const ImportOptions &options,
                      ImportReport &report) {
  for (const auto &unread : graph.proto.input()) {
    if (graph.initializers.count(unread.name()) > 0 ||
        isRead(graph, unread.name())) {
      continue;
    }
    for (const auto &input : graph.proto.input()) {
      const onnx::NodeProto *node =
          input.name() != unread.name() && sameType(input, unread)
              ? comparedWithItself(graph, input.name())
              : nullptr;
      if (node == nullptr) {
        continue;
      }
      std::string what = absl::StrCat(
          "inputs '", unread.name(), "' and '", input.name(),
          "' were one tensor when the model was exported: node '",
          nodeName(*node), "' (", node->op_type(),
          ") compares what is computed from '", input.name(), "' with '",
          input.name(), "' itself, and nothing reads '", unread.name(), "'");
      if (!options.allow_exporter_damage) {
        fail(what, ". Export again with a tensor of its own for each, as "
                   "ids and ids.clone(); or, where that is meant, give "
                   "--allow-exporter-damage");
      }
      report.warnings.push_back(what);
    }
  }
}

} // namespace zerograph::frontend
