//===- EvaluationMode.cpp - no dropout, no batch statistics ---------------===//

#include "frontend/base/Error.h"
#include "frontend/export/Inference.h"
#include "frontend/export/Tensors.h"

#include "absl/algorithm/container.h"

#include <set>

using onnx::NodeProto;

namespace zerograph::frontend {

namespace {

bool isCalled(const NodeProto &node, const char *type) {
  return node.op_type() == type && isOnnxDomain(node.domain());
}

bool has(const google::protobuf::RepeatedPtrField<std::string> &names, int i) {
  return i < names.size() && !names.Get(i).empty();
}

NodeProto identity(const std::string &from, const std::string &to,
                   const std::string &name) {
  NodeProto node;
  node.add_input(from);
  node.add_output(to);
  node.set_name(name);
  node.set_op_type("Identity");
  return node;
}

/// The names that anything in the graph reads.
std::set<std::string> namesRead(onnx::GraphProto &graph) {
  std::set<std::string> read;
  auto addOutputs = [&](const onnx::GraphProto &from) {
    for (const auto &output : from.output()) {
      read.insert(output.name());
    }
  };
  addOutputs(graph);
  eachNodes(*graph.mutable_node(), [&](Nodes &nodes) {
    for (const NodeProto &node : nodes) {
      read.insert(node.input().begin(), node.input().end());
      for (const auto &attribute : node.attribute()) {
        addOutputs(attribute.g());
      }
    }
  });
  return read;
}

/// Rewrites the nodes of one graph.
class Evaluation {
public:
  Evaluation(onnx::GraphProto &graph, int64_t opset)
      : opset(opset), read(namesRead(graph)) {
    for (const auto &tensor : graph.initializer()) {
      stored.insert(tensor.name());
    }
    // Constants, and other names of what is stored.
    eachNodes(*graph.mutable_node(), [&](Nodes &nodes) {
      for (const NodeProto &node : nodes) {
        if (isCalled(node, "Constant") ||
            (isCalled(node, "Identity") && has(node.input(), 0) &&
             stored.count(node.input(0)) != 0)) {
          stored.insert(node.output().begin(), node.output().end());
        }
      }
    });
  }

  void rewrite(Nodes &nodes) {
    Nodes kept;
    for (NodeProto &node : nodes) {
      std::vector<NodeProto> following;
      if (isCalled(node, "Dropout")) {
        turnOff(node);
      } else if (isCalled(node, "BatchNormalization")) {
        following = useStored(node);
      }
      *kept.Add() = std::move(node);
      for (NodeProto &each : following) {
        *kept.Add() = std::move(each);
      }
    }
    nodes.Swap(&kept);
  }

  std::vector<std::string> byBatch; ///< still use the batch's statistics

private:
  /// Without training_mode, which is its third input, a dropout is off. Before
  /// ai.onnx 12 there is none, and it always is.
  void turnOff(NodeProto &node) {
    if (has(node.output(), 1) && read.count(node.output(1)) != 0) {
      while (node.input_size() > 2) {
        node.mutable_input()->RemoveLast();
      }
      return;
    }
    node.set_op_type("Identity");
    node.clear_attribute();
    while (node.input_size() > 1) {
      node.mutable_input()->RemoveLast();
    }
    while (node.output_size() > 1) {
      node.mutable_output()->RemoveLast();
    }
  }

  bool isTraining(const NodeProto &node) const {
    if (const auto *mode = findAttribute(node, "training_mode")) {
      return mode->i() != 0;
    }
    return opset < 14 && (has(node.output(), 1) || has(node.output(), 2));
  }

  /// Returns whether the node's module keeps running statistics: else it uses
  /// the batch's in evaluation too.
  bool keepsStatistics(const NodeProto &node) const {
    bool saved = false; // of older versions, the batch's own
    for (int i = 3; i < node.output_size(); ++i) {
      saved |= read.count(node.output(i)) != 0;
    }
    return !saved && has(node.output(), 1) && has(node.output(), 2) &&
           node.input_size() == 5 && stored.count(node.input(3)) != 0 &&
           stored.count(node.input(4)) != 0;
  }

  /// Gives nodes that stand for the statistics it gave, where they are read.
  std::vector<NodeProto> useStored(NodeProto &node) {
    std::vector<NodeProto> following;
    if (!isTraining(node)) {
      return following;
    }
    if (!keepsStatistics(node)) {
      byBatch.push_back(nodeName(node));
      return following;
    }
    for (int i : {1, 2}) {
      if (read.count(node.output(i)) != 0) {
        following.push_back(
            identity(node.input(i + 2), node.output(i),
                     nodeName(node) + (i == 1 ? "_mean" : "_var")));
      }
    }
    while (node.output_size() > 1) {
      node.mutable_output()->RemoveLast();
    }
    auto &attributes = *node.mutable_attribute();
    auto mode = absl::c_find_if(attributes, [](const auto &attribute) {
      return attribute.name() == "training_mode";
    });
    if (mode != attributes.end()) {
      attributes.erase(mode);
    }
    return following;
  }

  int64_t opset;
  std::set<std::string> read, stored;
};

} // namespace

void setEvaluationMode(onnx::GraphProto &graph, int64_t opset,
                       std::vector<std::string> &notes) {
  Evaluation evaluation(graph, opset);
  eachNodes(*graph.mutable_node(),
            [&](Nodes &nodes) { evaluation.rewrite(nodes); });
  if (!evaluation.byBatch.empty()) {
    notes.push_back(absl::StrCat(
        "normalized by the batch as in training, for the model stores no "
        "running statistics: ",
        listNames(evaluation.byBatch)));
  }
}

} // namespace zerograph::frontend
