//===- TensorFlowOperators.cpp - what tf2onnx does not convert ------------===//
//
// ONNX has no such operators, but tf2onnx leaves TensorFlow's in the file by
// their names. Keras's default GELU is one: 0.5 x erfc(-x / sqrt(2)).
//
//===----------------------------------------------------------------------===//

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

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

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

/// Adds what computes the node's output; `one` is a 1 of any type.
void rewrite(Nodes &nodes, const onnx::NodeProto &node,
             const Rewriting &rewriting, const std::string &one) {
  const std::string &x = node.input(0), &y = node.output(0);
  std::string own = y + ".one", between = y + ".between";
  add(nodes, node, "CastLike", {one, x}, own);
  switch (rewriting.kind) {
  case Rewriting::OneMinusResult:
    add(nodes, node, rewriting.function, {x}, between);
    add(nodes, node, "Sub", {own, between}, y);
    break;
  case Rewriting::ResultMinusOne:
    add(nodes, node, rewriting.function, {x}, between);
    add(nodes, node, "Sub", {between, own}, y);
    break;
  case Rewriting::OfOnePlusOperand:
    add(nodes, node, "Add", {own, x}, between);
    add(nodes, node, rewriting.function, {between}, y);
    break;
  }
}

void convertOperators(onnx::GraphProto &graph) {
  Nodes nodes;
  std::string one;
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    const Rewriting *rewriting = rewritingOf(node);
    if (rewriting == nullptr) {
      *nodes.Add() = std::move(node);
      continue;
    }
    if (one.empty()) {
      one = node.output(0) + ".number";
      onnx::TensorProto &number = *graph.add_initializer();
      number.set_name(one);
      number.set_data_type(onnx::TensorProto::INT64);
      number.add_int64_data(1);
    }
    rewrite(nodes, node, *rewriting, one);
  }
  graph.mutable_node()->Swap(&nodes);
}

} // namespace

const Quirk kTensorFlowOperators = {.repair = convertOperators};

} // namespace zerograph::frontend
