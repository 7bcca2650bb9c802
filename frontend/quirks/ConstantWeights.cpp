//===- ConstantWeights.cpp - weights that stand in Constant nodes ---------===//

#include "frontend/quirks/ConstantWeights.h"

#include "frontend/base/HostTensor.h"
#include "frontend/file/ModelFile.h"
#include "frontend/file/Nodes.h"
#include "frontend/file/TensorBytes.h"
#include "frontend/quirks/Quirks.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/Text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace zerograph::frontend {

namespace {

/// Operator -> the inputs that are weights.
const std::map<std::string, std::vector<int>> &weightInputs() {
  static const auto *inputs = new std::map<std::string, std::vector<int>>{
      {"Conv", {1, 2}},
      {"ConvTranspose", {1, 2}},
      {"Einsum", {0, 1}},
      {"Gemm", {1, 2}},
      {"MatMul", {0, 1}},
      {"BatchNormalization", {1, 2}},
      {"InstanceNormalization", {1, 2}},
      {"GroupNormalization", {1, 2}},
      {"LayerNormalization", {1, 2}},
      {"RMSNormalization", {1}},
      {"LSTM", {1, 2, 3}},
      {"GRU", {1, 2, 3}},
      {"RNN", {1, 2, 3}},
      {"PRelu", {1}},
  };
  return *inputs;
}

using Names = std::set<std::string>;

/// Adds to `names` what operators take as weights, and to `weighted` what they
/// give.
void addWeights(const onnx::GraphProto &graph, Names &names, Names &weighted) {
  for (const onnx::NodeProto &node : graph.node()) {
    auto found = weightInputs().find(node.op_type());
    if (found == weightInputs().end()) {
      continue;
    }
    for (int input : found->second) {
      if (input < node.input_size()) {
        names.insert(node.input(input));
      }
    }
    weighted.insert(node.output().begin(), node.output().end());
  }
}

/// Returns what rearranges or converts all elements of its first input.
const Names &wholeViews() {
  static const auto *views = new Names{"Cast",    "Identity",  "Reshape",
                                       "Squeeze", "Transpose", "Unsqueeze"};
  return *views;
}

/// Returns these, and what takes some of the elements.
const Names &partialViews() {
  static const auto *views = [] {
    auto *partial = new Names(wholeViews());
    partial->insert({"Slice", "Split"});
    return partial;
  }();
  return *views;
}

/// Adds what `names` are views of: an exporter that folds nothing transposes a
/// weight, casts it, or cuts it from others first.
void addSources(const onnx::GraphProto &graph, const Names &views,
                Names &names) {
  std::map<std::string, std::string> sources;
  for (const onnx::NodeProto &node : graph.node()) {
    if (views.count(node.op_type()) && node.input_size() > 0) {
      for (const std::string &output : node.output()) {
        sources[output] = node.input(0);
      }
    }
  }
  for (std::string name : Names(names)) {
    // A cycle, which the graph's own check refuses later, ends it too.
    for (size_t i = 0; i <= sources.size() && sources.count(name); ++i) {
      name = sources[name];
      names.insert(name);
    }
  }
}

/// Adds biases that are nodes of their own: what is added to one of `weighted`.
void addBiases(const onnx::GraphProto &graph, const Names &weighted,
               Names &names) {
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.op_type() != "Add" || node.input_size() != 2) {
      continue;
    }
    for (int i : {0, 1}) {
      if (weighted.count(node.input(i))) {
        names.insert(node.input(1 - i));
      }
    }
  }
}

/// Returns the tensor of a Constant node that may be a weight, or null.
const onnx::TensorProto *weightOf(const onnx::NodeProto &node) {
  const auto *value = findAttribute(node, "value");
  if (node.op_type() != "Constant" || node.output_size() != 1 ||
      value == nullptr || !value->has_t()) {
    return nullptr;
  }
  const onnx::TensorProto &tensor = value->t();
  bool weighs = longDims(tensor) > 0 && isFloatType(tensor.data_type());
  return weighs ? &tensor : nullptr;
}

/// Names that stand where a weight does.
Names weightNames(const onnx::GraphProto &graph) {
  Names names, weighted;
  addWeights(graph, names, weighted);
  addSources(graph, partialViews(), names);
  Names biases;
  addBiases(graph, weighted, biases);
  addSources(graph, wholeViews(), biases);
  names.insert(biases.begin(), biases.end());
  return names;
}

/// Adds the scale and the offset of a norm that is written out: vectors, of
/// which one is multiplied with and the other added to the product.
void addNorms(const onnx::GraphProto &graph, Names &names) {
  Names vectors;
  std::map<std::string, const onnx::NodeProto *> products;
  for (const onnx::NodeProto &node : graph.node()) {
    const onnx::TensorProto *tensor = weightOf(node);
    if (tensor != nullptr && longDims(*tensor) == 1) {
      vectors.insert(node.output(0));
    }
    if (node.op_type() == "Mul" && node.output_size() == 1) {
      products[node.output(0)] = &node;
    }
  }
  for (const onnx::NodeProto &node : graph.node()) {
    for (int i = 0; node.op_type() == "Add" && i < node.input_size(); ++i) {
      auto product = products.find(node.input(i));
      if (product == products.end() || node.input_size() != 2 ||
          !vectors.count(node.input(1 - i))) {
        continue;
      }
      for (const std::string &scale : product->second->input()) {
        if (vectors.count(scale)) {
          names.insert({scale, node.input(1 - i)});
        }
      }
    }
  }
}

/// Returns whether an element is infinite, or no number: so masks are written
/// that are added to scores.
bool isMask(const onnx::TensorProto &tensor) {
  if (elementCount(shapeOf(tensor)) > HostTensor::kMaxElements) {
    return false;
  }
  HostTensor values = readTensor(tensor, nullptr);
  for (int64_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values.floatAt(i))) {
      return true;
    }
  }
  return false;
}

/// Returns the Constant nodes of these names that may be weights.
std::vector<std::string> constantsAmong(const onnx::GraphProto &graph,
                                        const Names &names) {
  std::vector<std::string> constants;
  for (const onnx::NodeProto &node : graph.node()) {
    const onnx::TensorProto *tensor = weightOf(node);
    if (tensor != nullptr && names.count(node.output(0)) != 0 &&
        !isMask(*tensor)) {
      constants.push_back(node.output(0));
    }
  }
  return constants;
}

/// Adds the constants of the bodies of its nodes that stand where weights do.
void addOfBodies(onnx::GraphProto &graph, std::vector<std::string> &constants) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    eachBody(node, [&](onnx::GraphProto &body) {
      std::vector<std::string> own = constantsAmong(body, weightNames(body));
      constants.insert(constants.end(), own.begin(), own.end());
      addOfBodies(body, constants);
    });
  }
}

} // namespace

std::vector<std::string> takeConstantWeights(onnx::GraphProto &graph) {
  std::set<std::string> names = weightNames(graph);
  std::vector<std::string> constants = constantsAmong(graph, names);
  bool others = std::any_of(
      graph.initializer().begin(), graph.initializer().end(),
      [&](const auto &tensor) { return names.count(tensor.name()) != 0; });
  if (others || constants.empty()) {
    return constants;
  }
  addNorms(graph, names);
  constants = constantsAmong(graph, names);
  const Names taken(constants.begin(), constants.end());
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    if (node.output_size() != 1 || taken.count(node.output(0)) == 0) {
      *kept.Add() = std::move(node);
      continue;
    }
    onnx::TensorProto &initializer = *graph.add_initializer();
    initializer = *weightOf(node);
    initializer.set_name(node.output(0));
  }
  graph.mutable_node()->Swap(&kept);
  return {};
}

const Quirk kConstantWeights = {.repair = [](ModelFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  std::vector<std::string> left = takeConstantWeights(graph);
  addOfBodies(graph, left);
  if (!left.empty()) {
    file.notes.push_back(absl::StrCat(
        "not trained, as they are Constant nodes beside other weights, or "
        "within a loop or branch: ",
        listOf(left, 10), ". To train them, make initializers of them"));
  }
}};

} // namespace zerograph::frontend
