//===- TensorFlowOperators.cpp - what tf2onnx does not convert ------------===//
//
// ONNX has no such operators, but tf2onnx leaves TensorFlow's in the file by
// their names. Keras's default GELU is one: 0.5 x erfc(-x / sqrt(2)).
//
//===----------------------------------------------------------------------===//

#include "frontend/file/Nodes.h"
#include "frontend/quirks/Quirks.h"

namespace zerograph::frontend {

namespace {

/// A function of one operand as one operator and a one.
struct Rewriting {
  const char *from;
  const char *function;
  enum { OneMinusResult, ResultMinusOne, OfOnePlusOperand } kind;
};

constexpr Rewriting kRewritings[] = {
    {"Erfc", "Erf", Rewriting::OneMinusResult},
    {"Expm1", "Exp", Rewriting::ResultMinusOne},
    {"Log1p", "Log", Rewriting::OfOnePlusOperand},
};

const Rewriting *rewritingOf(const onnx::NodeProto &node) {
  for (const Rewriting &rewriting : kRewritings) {
    if (node.op_type() == rewriting.from && node.domain().empty() &&
        node.input_size() == 1 && node.output_size() == 1) {
      return &rewriting;
    }
  }
  return nullptr;
}

void add(Nodes &nodes, const onnx::NodeProto &from, const char *op,
         std::initializer_list<std::string> inputs, const std::string &output) {
  onnx::NodeProto &node = *nodes.Add();
  node.set_op_type(op);
  node.set_name(from.name());
  for (const std::string &input : inputs) {
    node.add_input(input);
  }
  node.add_output(output);
}

class Converter {
public:
  explicit Converter(ModelFile &file)
      : graph(*file.model.mutable_graph()), opset(file.opset) {}

  void run() {
    eachNodes(*graph.mutable_node(), [&](Nodes &nodes) { convert(nodes); });
  }

private:
  void convert(Nodes &nodes) {
    Nodes converted;
    for (onnx::NodeProto &node : nodes) {
      if (const Rewriting *rewriting = rewritingOf(node)) {
        rewrite(converted, node, *rewriting);
      } else {
        *converted.Add() = std::move(node);
      }
    }
    nodes.Swap(&converted);
  }

  /// Adds what computes the node's output.
  void rewrite(Nodes &nodes, const onnx::NodeProto &node,
               const Rewriting &rewriting) {
    const std::string &x = node.input(0), &y = node.output(0);
    std::string one = oneLike(nodes, node), between = y + ".between";
    switch (rewriting.kind) {
    case Rewriting::OneMinusResult:
      add(nodes, node, rewriting.function, {x}, between);
      add(nodes, node, "Sub", {one, between}, y);
      break;
    case Rewriting::ResultMinusOne:
      add(nodes, node, rewriting.function, {x}, between);
      add(nodes, node, "Sub", {between, one}, y);
      break;
    case Rewriting::OfOnePlusOperand:
      add(nodes, node, "Add", {one, x}, between);
      add(nodes, node, rewriting.function, {between}, y);
      break;
    }
  }

  /// Returns a 1 of the operand's type; of float32 where the operator set
  /// cannot say that.
  std::string oneLike(Nodes &nodes, const onnx::NodeProto &node) {
    constexpr int64_t kCastLike = 15;
    if (number.empty()) {
      number = node.output(0) + ".number";
      onnx::TensorProto &tensor = *graph.add_initializer();
      tensor.set_name(number);
      tensor.set_data_type(onnx::TensorProto::FLOAT);
      tensor.add_float_data(1);
    }
    if (opset < kCastLike) {
      return number;
    }
    std::string one = node.output(0) + ".one";
    add(nodes, node, "CastLike", {number, node.input(0)}, one);
    return one;
  }

  onnx::GraphProto &graph;
  int64_t opset;
  std::string number; ///< the name of a 1
};

void convertOperators(ModelFile &file) { Converter(file).run(); }

} // namespace

const Quirk kTensorFlowOperators = {.repair = convertOperators};

} // namespace zerograph::frontend
