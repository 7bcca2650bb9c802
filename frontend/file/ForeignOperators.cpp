//===- ForeignOperators.cpp - what is not of ai.onnx ----------------------===//
//
// Classifiers of scikit-learn have outputs for reading, the label and a
// dictionary of probabilities, that operators of ai.onnx.ml make of what is
// trained. The first is left out, the second the probabilities themselves.
//
//===----------------------------------------------------------------------===//

#include "frontend/base/Error.h"
#include "frontend/file/ModelFile.h"
#include "frontend/file/Nodes.h"

#include "runtime/base/Text.h"

#include <set>

namespace zerograph::frontend {

namespace {

std::string describe(const onnx::NodeProto &node) {
  return absl::StrCat(node.domain(), ".", node.op_type(), " (node '",
                      node.name(), "')");
}

/// Finds the operators of a node and its bodies that are not of ai.onnx.
void collectForeign(const onnx::NodeProto &node,
                    std::set<std::string> &foreign) {
  if (!isOnnxDomain(node.domain())) {
    foreign.insert(describe(node));
  }
  for (const auto &attribute : node.attribute()) {
    for (const auto &inner : attribute.g().node()) {
      collectForeign(inner, foreign);
    }
  }
}

/// Knows which values are made by foreign operators, or of what they make.
class ForeignValues {
public:
  explicit ForeignValues(const onnx::GraphProto &graph) : graph(graph) {
    // Nodes need not stand in an order: until nothing is added.
    for (size_t before = 0; addNodes(), before != makers.size();) {
      before = makers.size();
    }
  }

  /// Returns the operator on the way to a value; null if there is none.
  const std::string *maker(const std::string &name) const {
    auto found = makers.find(name);
    return found == makers.end() ? nullptr : &found->second;
  }

private:
  void addNodes() {
    for (const onnx::NodeProto &node : graph.node()) {
      std::set<std::string> foreign;
      collectForeign(node, foreign);
      if (!foreign.empty()) {
        add(node, *foreign.begin());
      }
      for (const std::string &input : node.input()) {
        if (const std::string *made = maker(input)) {
          add(node, std::string(*made));
        }
      }
    }
  }
  void add(const onnx::NodeProto &node, const std::string &made) {
    for (const std::string &output : node.output()) {
      makers.emplace(output, made);
    }
  }

  const onnx::GraphProto &graph;
  std::map<std::string, std::string> makers;
};

/// Gives the tensors of probabilities in place of dictionaries of them.
void openDictionaries(ModelFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  for (auto &output : *graph.mutable_output()) {
    auto maker = std::find_if(
        graph.node().begin(), graph.node().end(), [&](const auto &node) {
          return node.domain() == "ai.onnx.ml" && node.op_type() == "ZipMap" &&
                 node.input_size() == 1 && node.output_size() == 1 &&
                 node.output(0) == output.name();
        });
    if (maker == graph.node().end()) {
      continue;
    }
    file.notes.push_back(absl::StrCat(
        "output '", output.name(), "' is the tensor '", maker->input(0),
        "', of which ", describe(*maker), " would make a dictionary"));
    output.set_name(maker->input(0));
    output.mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
}

} // namespace

void leaveForeignOut(ModelFile &file) {
  openDictionaries(file);
  onnx::GraphProto &graph = *file.model.mutable_graph();
  std::set<std::string> foreign;
  for (const onnx::NodeProto &node : graph.node()) {
    collectForeign(node, foreign);
  }
  if (foreign.empty()) {
    return;
  }
  const ForeignValues values(graph);
  auto &outputs = *graph.mutable_output();
  bool allForeign =
      std::all_of(outputs.begin(), outputs.end(), [&](const auto &output) {
        return values.maker(output.name()) != nullptr;
      });
  if (allForeign) {
    fail("operators outside ai.onnx are not supported: export without "
         "runtime-specific fusion:\n  ",
         linesOf({foreign.begin(), foreign.end()}));
  }
  for (const auto &output : outputs) {
    if (const std::string *made = values.maker(output.name())) {
      file.notes.push_back(absl::StrCat(
          "output '", output.name(), "' is left out: ", *made,
          " is on the way to it, which is no operator of ai.onnx"));
    }
  }
  auto isForeign = [&](const auto &named) {
    return values.maker(named.name()) != nullptr;
  };
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(), isForeign),
                outputs.end());
  auto &nodes = *graph.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const onnx::NodeProto &node) {
                               return std::any_of(
                                   node.output().begin(), node.output().end(),
                                   [&](const std::string &name) {
                                     return values.maker(name) != nullptr;
                                   });
                             }),
              nodes.end());
}

} // namespace zerograph::frontend
