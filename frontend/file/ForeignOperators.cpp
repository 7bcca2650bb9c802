//===- ForeignOperators.cpp - what is not of ai.onnx ----------------------===//
//
// Classifiers of scikit-learn have outputs for reading, the label and a
// dictionary of probabilities, that operators of ai.onnx.ml make of what is
// trained. The first is left out, the second the probabilities themselves.
//
//===----------------------------------------------------------------------===//

#include "frontend/base/Error.h"
#include "frontend/file/ModelFile.h"

#include "runtime/base/Text.h"

#include <algorithm>
#include <set>

namespace zerograph::frontend {

namespace {

using Names = std::set<std::string>;

std::string describe(const onnx::NodeProto &node) {
  return absl::StrCat(node.domain(), ".", node.op_type(), " (node '",
                      node.name(), "')");
}

/// Finds the operators of a node and its bodies that are not of ai.onnx.
void collectForeign(const onnx::NodeProto &node, Names &foreign) {
  if (!isOnnxDomain(node.domain())) {
    foreign.insert(describe(node));
  }
  for (const auto &attribute : node.attribute()) {
    for (const auto &inner : attribute.g().node()) {
      collectForeign(inner, foreign);
    }
  }
}

/// Adds what a node and its bodies read; an input that is left out has no name.
void collectReads(const onnx::NodeProto &node, Names &reads) {
  reads.insert(node.input().begin(), node.input().end());
  for (const auto &attribute : node.attribute()) {
    for (const auto &inner : attribute.g().node()) {
      collectReads(inner, reads);
    }
    for (const auto &output : attribute.g().output()) {
      reads.insert(output.name());
    }
  }
  reads.erase("");
}

/// Knows which values are made by foreign operators, or of what they make.
class ForeignValues {
public:
  explicit ForeignValues(const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node()) {
      Names own;
      collectForeign(node, own);
      if (!own.empty()) {
        add(node, *own.begin());
        all.merge(own);
      }
    }
    // Nodes need not stand in an order: until nothing is added.
    for (size_t before = 0; before != makers.size();) {
      before = makers.size();
      addReaders(graph);
    }
  }

  /// Returns the operators; empty if the graph has none.
  const Names &operators() const { return all; }

  /// Returns the operator on the way to a value; null if there is none.
  const std::string *maker(const std::string &name) const {
    auto found = makers.find(name);
    return found == makers.end() ? nullptr : &found->second;
  }

private:
  void addReaders(const onnx::GraphProto &graph) {
    for (const onnx::NodeProto &node : graph.node()) {
      Names reads;
      collectReads(node, reads);
      for (const std::string &input : reads) {
        if (const std::string *made = maker(input)) {
          add(node, std::string(*made));
        }
      }
    }
  }
  void add(const onnx::NodeProto &node, const std::string &made) {
    for (const std::string &output : node.output()) {
      if (!output.empty()) {
        makers.emplace(output, made);
      }
    }
  }

  Names all;
  std::map<std::string, std::string> makers;
};

/// Returns the ZipMap that makes a value of a tensor, which must not need a
/// foreign operator; else null.
const onnx::NodeProto *dictionaryOf(const onnx::GraphProto &graph,
                                    const ForeignValues &values,
                                    const std::string &name) {
  auto maker = std::find_if(
      graph.node().begin(), graph.node().end(), [&](const auto &node) {
        return node.domain() == "ai.onnx.ml" && node.op_type() == "ZipMap" &&
               node.input_size() == 1 && node.output_size() == 1 &&
               node.output(0) == name && !values.maker(node.input(0));
      });
  return maker == graph.node().end() ? nullptr : &*maker;
}

/// Gives the tensors of probabilities in place of dictionaries of them, unless
/// they are outputs already.
void openDictionaries(ModelFile &file, const ForeignValues &values) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  Names names;
  for (const auto &output : graph.output()) {
    names.insert(output.name());
  }
  for (auto &output : *graph.mutable_output()) {
    const onnx::NodeProto *made = dictionaryOf(graph, values, output.name());
    if (!made || !names.insert(made->input(0)).second) {
      continue;
    }
    file.notes.push_back(absl::StrCat(
        "output '", output.name(), "' is the tensor '", made->input(0),
        "', of which ", describe(*made), " would make a dictionary"));
    output.set_name(made->input(0));
    output.mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
}

void checkOutputs(const onnx::GraphProto &graph, const ForeignValues &values) {
  bool some = std::any_of(
      graph.output().begin(), graph.output().end(),
      [&](const auto &output) { return !values.maker(output.name()); });
  if (!some) {
    fail("operators outside ai.onnx are not supported, and each output needs "
         "one: export without runtime-specific fusion, and a model of "
         "scikit-learn as one whose weights are tensors, as MLPClassifier's "
         "are:\n  ",
         linesOf({values.operators().begin(), values.operators().end()}));
  }
}

void erase(ModelFile &file, const ForeignValues &values) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  auto &outputs = *graph.mutable_output();
  for (const auto &output : outputs) {
    if (const std::string *made = values.maker(output.name())) {
      file.notes.push_back(absl::StrCat(
          "output '", output.name(), "' is left out: ", *made,
          " is on the way to it, which is no operator of ai.onnx"));
    }
  }
  outputs.erase(std::remove_if(outputs.begin(), outputs.end(),
                               [&](const auto &output) {
                                 return values.maker(output.name()) != nullptr;
                               }),
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

} // namespace

void leaveForeignOut(ModelFile &file) {
  const ForeignValues values(file.graph());
  if (values.operators().empty()) {
    return;
  }
  openDictionaries(file, values);
  checkOutputs(file.graph(), values);
  erase(file, values);
}

} // namespace zerograph::frontend
