//===- GradientPath.cpp - where a gradient flows in a graph ---------------===//

#include "frontend/graph/GradientPath.h"

#include "frontend/graph/OpDef.h"

#include <algorithm>

namespace zerograph::frontend {

std::vector<std::string> GradientPath::reads(int n) const {
  const onnx::NodeProto &node = graph.proto.node(n);
  const OpDef *def = findOp(node.op_type(), opset);
  std::vector<std::string> names;
  for (int i = 0; i < node.input_size(); ++i) {
    if (!node.input(i).empty() &&
        (def == nullptr || def->carriesGradient(graph, node, i))) {
      names.push_back(node.input(i));
    }
  }
  if (auto found = graph.bodies.find(n); found != graph.bodies.end()) {
    for (const Graph &body : found->second) {
      std::vector<std::string> outputs;
      for (const auto &output : body.proto.output()) {
        outputs.push_back(output.name());
      }
      std::set<std::string> ends;
      GradientPath(body, opset).follow(outputs, &ends);
      for (const std::string &name : ends) {
        if (body.captured.count(name) != 0) {
          names.push_back(name);
        }
      }
    }
  }
  return names;
}

std::vector<bool> GradientPath::follow(std::vector<std::string> work,
                                       std::set<std::string> *ends) const {
  std::vector<bool> reached(graph.proto.node_size(), false);
  while (!work.empty()) {
    std::string name = std::move(work.back());
    work.pop_back();
    auto found = graph.producer.find(name);
    if (found == graph.producer.end()) {
      if (ends != nullptr) {
        ends->insert(std::move(name));
      }
    } else if (!reached[found->second]) {
      reached[found->second] = true;
      for (std::string &read : reads(found->second)) {
        work.push_back(std::move(read));
      }
    }
  }
  return reached;
}

std::vector<bool> GradientPath::nodesReaching(const std::string &output) const {
  return follow({output}, nullptr);
}

std::vector<bool>
GradientPath::nodesReachedFrom(const std::set<std::string> &names) const {
  std::vector<bool> reached(graph.proto.node_size(), false);
  std::vector<std::string> work(names.begin(), names.end());
  while (!work.empty()) {
    auto found = graph.users.find(work.back());
    std::string name = std::move(work.back());
    work.pop_back();
    if (found == graph.users.end()) {
      continue;
    }
    for (int n : found->second) {
      if (reached[n]) {
        continue;
      }
      std::vector<std::string> sources = reads(n);
      if (std::find(sources.begin(), sources.end(), name) != sources.end()) {
        reached[n] = true;
        for (const std::string &output : graph.proto.node(n).output()) {
          if (!output.empty()) {
            work.push_back(output);
          }
        }
      }
    }
  }
  return reached;
}

} // namespace zerograph::frontend
