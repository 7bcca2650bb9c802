//===- NodeSearch.cpp - what computes a value, before there is a Graph ----===//

#include "frontend/exporter/NodeSearch.h"

#include <algorithm>

using onnx::NodeProto;
using onnx::TensorProto;

namespace zerograph::frontend {

NodeSearch::NodeSearch(const onnx::GraphProto &graph) {
  for (const TensorProto &tensor : graph.initializer()) {
    tensors[tensor.name()] = &tensor;
  }
  for (const NodeProto &node : graph.node()) {
    for (const std::string &output : node.output()) {
      producers[output] = &node;
    }
  }
}

const NodeProto *NodeSearch::producer(const std::string &name, const char *type,
                                      int inputs) const {
  auto found = producers.find(name);
  return found != producers.end() && found->second->op_type() == type &&
                 found->second->input_size() >= inputs
             ? found->second
             : nullptr;
}

std::string NodeSearch::behind(std::string name,
                               const std::set<std::string> &types) const {
  for (int steps = 0; steps < kMaxChain; ++steps) {
    auto found = producers.find(name);
    if (found == producers.end() ||
        types.count(found->second->op_type()) == 0 ||
        found->second->input_size() == 0) {
      break;
    }
    name = found->second->input(0);
  }
  return name;
}

const TensorProto *NodeSearch::constant(const std::string &name) const {
  if (auto found = tensors.find(name); found != tensors.end()) {
    return found->second;
  }
  auto found = producers.find(name);
  if (found != producers.end() && found->second->op_type() == "Constant") {
    for (const auto &attribute : found->second->attribute()) {
      if (attribute.name() == "value") {
        return &attribute.t();
      }
    }
  }
  return nullptr;
}

bool NodeSearch::isOneElement(const std::string &name) const {
  if (const TensorProto *tensor = constant(name)) {
    return std::all_of(tensor->dims().begin(), tensor->dims().end(),
                       [](int64_t dim) { return dim == 1; });
  }
  auto found = producers.find(name);
  if (found == producers.end() || found->second->op_type() != "Constant" ||
      found->second->attribute_size() != 1) {
    return false;
  }
  const auto &attribute = found->second->attribute(0);
  return attribute.name() == "value_float" || attribute.name() == "value_int" ||
         ((attribute.name() == "value_floats" ||
           attribute.name() == "value_ints") &&
          attribute.floats_size() + attribute.ints_size() == 1);
}

} // namespace zerograph::frontend
