//===- TensorFlowBiases.cpp - the one bias of Keras's recurrences ---------===//
//
// ONNX's LSTM adds two biases, [Wb, Rb]; Keras's has one, and so has its GRU
// that resets before the product. tf2onnx writes it as Wb, and zeros as Rb:
// trained both, their sum would move twice as far.
//
//===----------------------------------------------------------------------===//

#include "frontend/file/TensorBytes.h"
#include "frontend/parameters/TensorFlowNames.h"
#include "frontend/quirks/Quirks.h"

#include <map>
#include <set>

namespace zerograph::frontend {

namespace {

constexpr int kBias = 3; // of the inputs

/// Returns whether the operator adds Rb where it adds Wb.
bool addsBoth(const onnx::NodeProto &node) {
  const auto *after = findAttribute(node, "linear_before_reset");
  return node.domain().empty() &&
         (node.op_type() == "LSTM" ||
          (node.op_type() == "GRU" && (after == nullptr || after->i() == 0)));
}

/// Returns whether the second half of each row, of a direction, is there and
/// zero.
bool hasOneBias(const onnx::TensorProto &tensor) {
  Shape shape = shapeOf(tensor);
  if (!isFloatType(tensor.data_type()) || shape.size() != 2 || shape[0] < 1 ||
      shape[1] < 2 || shape[1] % 2 != 0 || hasNoData(tensor) ||
      tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    return false;
  }
  HostTensor values = readTensor(tensor, nullptr);
  for (int64_t i = 0; i < values.size(); ++i) {
    bool second = i % shape[1] >= shape[1] / 2;
    if (second && values.floatAt(i) != 0) {
      return false;
    }
  }
  return true;
}

class Rewriter {
public:
  explicit Rewriter(onnx::GraphProto &graph) : graph(graph) {
    for (const onnx::TensorProto &tensor : graph.initializer()) {
      initializers[tensor.name()] = &tensor;
    }
  }

  void run() {
    // Nodes that are added stand at the end; the importer sorts them.
    for (int n = 0, count = graph.node_size(); n < count; ++n) {
      onnx::NodeProto &node = *graph.mutable_node(n);
      bool biased = addsBoth(node) && node.input_size() > kBias;
      auto bias =
          biased ? initializers.find(node.input(kBias)) : initializers.end();
      if (bias != initializers.end() && hasOneBias(*bias->second)) {
        node.set_input(kBias, one(bias->first, bias->second->dims(1) / 2));
      }
    }
  }

private:
  /// Returns the value [Wb, Rb - Rb], through which Rb gets no gradient.
  std::string one(const std::string &bias, int64_t half) {
    std::string name = bias + ".one";
    if (!made.insert(name).second) {
      return name;
    }
    std::string first = slice(bias, ".first", 0, half);
    std::string second = slice(bias, ".second", half, 2 * half);
    add("Sub", {second, second}, bias + ".zero");
    onnx::AttributeProto &axis =
        *add("Concat", {first, bias + ".zero"}, name).add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(1);
    return name;
  }

  std::string slice(const std::string &bias, const char *part, int64_t begin,
                    int64_t end) {
    std::string name = bias + part;
    add("Slice",
        {bias, number(name + ".begin", begin), number(name + ".end", end),
         number(name + ".axis", 1)},
        name);
    return name;
  }

  std::string number(const std::string &name, int64_t value) {
    onnx::TensorProto &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(1);
    tensor.add_int64_data(value);
    return name;
  }

  onnx::NodeProto &add(const char *op, std::initializer_list<std::string> from,
                       const std::string &to) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(op);
    node.set_name(to);
    for (const std::string &input : from) {
      node.add_input(input);
    }
    node.add_output(to);
    return node;
  }

  onnx::GraphProto &graph;
  std::map<std::string, const onnx::TensorProto *> initializers;
  std::set<std::string> made;
};

void keepOneBias(ModelFile &file) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  if (isOfTensorFlow(graph)) {
    Rewriter(graph).run();
  }
}

} // namespace

const Quirk kTensorFlowBiases = {.repair = keepOneBias};

} // namespace zerograph::frontend
