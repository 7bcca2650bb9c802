//===- LossInputs.cpp - what a loss is computed from ----------------------===//

#include "frontend/export/Inference.h"
#include "frontend/graph/Inputs.h"
#include "frontend/parameters/Parameters.h"
#include "frontend/quirks/ConstantWeights.h"

#include "absl/algorithm/container.h"

#include <set>

namespace zerograph::frontend {

namespace {

/// Operators whose result is their first input, as others see it.
bool isView(const onnx::NodeProto &node) {
  if (node.input_size() == 0) {
    return false;
  }
  static const auto *views =
      new std::set<std::string>{"Cast",  "Flatten", "Identity",  "Reshape",
                                "Slice", "Squeeze", "Transpose", "Unsqueeze"};
  return views->count(node.op_type()) != 0;
}

/// Knows what the values on the way to the loss depend on.
class Dependences {
public:
  Dependences(const Graph &graph, const std::set<std::string> &trained)
      : graph(graph) {
    for (const std::string &name : trained) {
      ofParameters.insert(name);
    }
    for (const onnx::ValueInfoProto *input : fedInputs(graph)) {
      ofInputs[input->name()] = {input->name()};
    }
    for (int n : graph.order) {
      add(n);
    }
    findLabels();
  }

  bool onParameters(const std::string &name) const {
    return ofParameters.count(name) != 0;
  }
  bool onLabels(const std::string &name) const {
    auto found = ofInputs.find(name);
    return found != ofInputs.end() &&
           absl::c_any_of(found->second, [&](const std::string &input) {
             return labels.count(input) != 0;
           });
  }
  /// Values that a parameter makes and after which none is used.
  std::vector<std::string> last() const {
    std::set<std::string> before; // a node after it uses a parameter
    std::vector<std::string> values;
    for (auto n = graph.order.rbegin(); n != graph.order.rend(); ++n) {
      bool followed =
          absl::c_any_of(graph.proto.node(*n).output(), [&](const auto &name) {
            return before.count(name) != 0;
          });
      if (users.count(*n) != 0 && !followed) {
        absl::c_copy_if(graph.proto.node(*n).output(),
                        std::back_inserter(values),
                        [](const std::string &name) { return !name.empty(); });
      }
      if (followed || users.count(*n) != 0) {
        std::vector<std::string> reads = graph.reads(*n);
        before.insert(reads.begin(), reads.end());
      }
    }
    return values;
  }

private:
  void add(int n) {
    if (isMeasure(graph.proto.node(n))) {
      return;
    }
    std::set<std::string> inputs;
    bool parameters = false, uses = false;
    for (const std::string &name : graph.reads(n)) {
      auto found = ofInputs.find(name);
      bool fed = found != ofInputs.end();
      if (fed) {
        inputs.insert(found->second.begin(), found->second.end());
      }
      parameters |= onParameters(name);
      uses |= onParameters(name) && !fed;
    }
    if (uses && !inputs.empty()) {
      users.insert(n);
    }
    for (const std::string &output : graph.proto.node(n).output()) {
      if (!inputs.empty()) {
        ofInputs[output] = inputs;
      }
      if (parameters) {
        ofParameters.insert(output);
      }
    }
  }

  void findLabels() {
    for (const onnx::ValueInfoProto *input : fedInputs(graph)) {
      labels.insert(input->name());
    }
    for (int n : users) {
      for (const std::string &name : graph.reads(n)) {
        for (const std::string &input : ofInputs[name]) {
          labels.erase(input);
        }
      }
    }
  }

  const Graph &graph;
  std::map<std::string, std::set<std::string>> ofInputs;
  std::set<std::string> ofParameters, labels;
  /// Nodes that use a parameter, or what is made of parameters alone, with what
  /// depends on inputs.
  std::set<int> users;
};

/// Returns whether `value` is computed from one of `others`.
bool isBehind(const Graph &graph, const std::string &value,
              const std::set<std::string> &others) {
  std::vector<std::string> work{value};
  std::set<std::string> seen{value};
  while (!work.empty()) {
    auto made = graph.producer.find(work.back());
    work.pop_back();
    if (made == graph.producer.end()) {
      continue;
    }
    for (const std::string &name : graph.reads(made->second)) {
      if (others.count(name) != 0) {
        return true;
      }
      if (seen.insert(name).second) {
        work.push_back(name);
      }
    }
  }
  return false;
}

/// Returns what `value` is a view of.
std::string throughViews(const Graph &graph, const Dependences &depends,
                         std::string value) {
  for (auto made = graph.producer.find(value); made != graph.producer.end();
       made = graph.producer.find(value)) {
    const onnx::NodeProto &node = graph.proto.node(made->second);
    if (!isView(node) || graph.producer.count(node.input(0)) == 0 ||
        !depends.onParameters(node.input(0))) {
      break;
    }
    value = node.input(0);
  }
  return value;
}

std::set<std::string> trainedNames(const ModelFile &file, const Graph &graph,
                                   const std::string &loss) {
  ImportOptions options;
  options.allow_exporter_damage = true; // was for training to refuse
  ImportReport report;
  std::set<std::string> names;
  for (const Parameter &parameter :
       decideParameters(file, graph, loss, options, report)) {
    if (parameter.trainable) {
      names.insert(parameter.tensor->name());
    }
  }
  return names;
}

} // namespace

std::vector<std::string> lossInputs(const ModelFile &file,
                                    const std::string &loss,
                                    std::vector<std::string> &candidates) {
  onnx::GraphProto seen = file.graph();
  takeConstantWeights(seen);
  Graph graph(seen);
  Dependences depends(graph, trainedNames(file, graph, loss));
  std::set<std::string> values;
  for (int n : graph.order) {
    if (absl::c_none_of(
            graph.proto.node(n).output(),
            [&](const std::string &name) { return depends.onLabels(name); })) {
      continue;
    }
    for (const std::string &name : graph.reads(n)) {
      if (depends.onParameters(name) && !depends.onLabels(name)) {
        values.insert(throughViews(graph, depends, name));
      }
    }
  }
  std::vector<std::string> nearest;
  for (int n : graph.order) { // in the order of the graph
    for (const std::string &name : graph.proto.node(n).output()) {
      if (values.count(name) != 0 && !isBehind(graph, name, values)) {
        nearest.push_back(name);
      }
    }
  }
  if (nearest.empty()) {
    candidates = depends.last();
  }
  return nearest;
}

} // namespace zerograph::frontend
