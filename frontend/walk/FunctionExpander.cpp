//===- FunctionExpander.cpp - nodes that stand for other nodes ------------===//

#include "frontend/walk/FunctionExpander.h"

#include "frontend/walk/ImportNode.h"
#include "frontend/walk/Op.h"
#include "frontend/walk/Schema.h"

#include "onnx/defs/function.h"
#include "onnx/defs/schema.h"
#include "llvm/Support/SaveAndRestore.h"

#include <cmath>

namespace zerograph::frontend {

namespace {

/// Most functions within functions.
constexpr int kMaxExpandDepth = 8;

/// Most nodes that the loops of one node unroll into.
constexpr int64_t kMaxUnrolledNodes = 16384;

void renameNode(onnx::NodeProto &node,
                llvm::function_ref<void(std::string &)> rename);

void renameCaptured(onnx::GraphProto &body,
                    llvm::function_ref<void(std::string &)> rename) {
  std::set<std::string> own;
  for (const auto &input : body.input()) {
    own.insert(input.name());
  }
  for (const auto &tensor : body.initializer()) {
    own.insert(tensor.name());
  }
  for (const auto &node : body.node()) {
    own.insert(node.output().begin(), node.output().end());
  }
  auto renameOuter = [&](std::string &name) {
    if (own.count(name) == 0) {
      rename(name);
    }
  };
  for (auto &node : *body.mutable_node()) {
    renameNode(node, renameOuter);
  }
  for (auto &output : *body.mutable_output()) {
    renameOuter(*output.mutable_name());
  }
}

/// Calls `rename` on each name that the node reads or defines, and on those
/// that its own bodies read from around them.
void renameNode(onnx::NodeProto &node,
                llvm::function_ref<void(std::string &)> rename) {
  for (auto *names : {node.mutable_input(), node.mutable_output()}) {
    for (std::string &name : *names) {
      if (!name.empty()) {
        rename(name);
      }
    }
  }
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      renameCaptured(*attribute.mutable_g(), rename);
    }
  }
}

/// Calls `visit` on the node and on all nodes of its bodies.
void visitNodes(onnx::NodeProto &node,
                llvm::function_ref<void(onnx::NodeProto &)> visit) {
  visit(node);
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) {
      for (auto &inner : *attribute.mutable_g()->mutable_node()) {
        visitNodes(inner, visit);
      }
    }
  }
}

/// An attribute of a function's node may refer to one of the call: gives it
/// that value, or else the schema's default; without either, removes it.
void bindAttributes(onnx::NodeProto &inner, const onnx::NodeProto &call,
                    const onnx::OpSchema &schema) {
  auto *attributes = inner.mutable_attribute();
  for (int i = 0; i < attributes->size();) {
    onnx::AttributeProto &attribute = *attributes->Mutable(i);
    if (attribute.ref_attr_name().empty()) {
      ++i;
      continue;
    }
    const auto *value = findAttribute(call, attribute.ref_attr_name());
    auto declared = schema.attributes().find(attribute.ref_attr_name());
    if (value == nullptr && declared != schema.attributes().end() &&
        declared->second.default_value.has_name()) {
      value = &declared->second.default_value;
    }
    if (value == nullptr) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    std::string name = attribute.name();
    attribute = *value;
    attribute.set_name(name);
    ++i;
  }
}

/// The names of a function's inputs and outputs -> those of the call.
std::unordered_map<std::string, std::string>
outerNames(const onnx::FunctionProto &function, const onnx::NodeProto &call) {
  std::unordered_map<std::string, std::string> names;
  for (int i = 0; i < function.input_size(); ++i) {
    names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
  }
  for (int i = 0; i < function.output_size(); ++i) {
    if (i < call.output_size() && !call.output(i).empty()) {
      names[function.output(i)] = call.output(i);
    }
  }
  return names;
}

/// Returns whether a mask may hide everything from a query.
bool mayMaskRows(const Op &attention) {
  return attention.hasInput(3) ||
         attention.hasInput(6); // mask, nonpad_kv_seqlen
}

/// Makes a softmax over nothing but minus infinity zeros: such a query sees
/// nothing. ONNX does not say what it gives; PyTorch, whose exporter writes the
/// operator, gives zeros. A NaN that comes from elsewhere stays.
void clearMaskedRows(onnx::FunctionProto &function) {
  onnx::FunctionProto before = function;
  function.clear_node();
  onnx::FunctionBuilder builder(function);
  for (const onnx::NodeProto &node : before.node()) {
    if (node.op_type() != "Softmax") {
      *function.add_node() = node;
      continue;
    }
    const std::string x = node.input(0), y = node.output(0), p = y + "_";
    auto add = [&](const std::string &text) { builder.Add(text.c_str()); };
    builder.Const(p + "zero_f32", 0.0f).Const(p + "none_f32", -INFINITY);
    builder.Const1D(p + "axes", int64_t(-1));
    add(absl::StrCat(p, "zero = CastLike(", p, "zero_f32, ", x, ")"));
    add(absl::StrCat(p, "none = CastLike(", p, "none_f32, ", x, ")"));
    add(absl::StrCat(p, "best = ReduceMax(", x, ", ", p, "axes)"));
    add(absl::StrCat(p, "hidden = Equal(", p, "best, ", p, "none)"));
    // Zeros go in as well, so that no gradient is NaN.
    add(absl::StrCat(p, "seen = Where(", p, "hidden, ", p, "zero, ", x, ")"));
    onnx::NodeProto &softmax = *function.add_node();
    softmax = node;
    softmax.set_input(0, p + "seen");
    softmax.set_output(0, p + "raw");
    add(absl::StrCat(y, " = Where(", p, "hidden, ", p, "zero, ", p, "raw)"));
  }
}

} // namespace

/// Returns the index over a body, made once.
const Graph &FunctionExpander::graphOf(const onnx::GraphProto &body) {
  std::unique_ptr<Graph> &known = graphs[&body];
  if (!known) {
    known = std::make_unique<Graph>(body, /*isBody=*/true);
  }
  return *known;
}

/// Counts a run of a body; throws ImportError if there are too many nodes.
void FunctionExpander::countRun(const Graph &body) {
  // A run without nodes counts too: else a loop of them might never end.
  unrolledNodes += 1 + body.order.size();
  if (unrolledNodes > kMaxUnrolledNodes) {
    fail("unrolls into more than ", kMaxUnrolledNodes,
         " nodes: export the model with fewer iterations, or with an operator "
         "for the whole loop");
  }
}

/// Gives the inputs and initializers of a body their slots, under names that
/// begin with `prefix`. Returns the names that the body itself defines.
std::set<std::string>
FunctionExpander::bind(const Graph &body, const std::string &prefix,
                       const std::vector<NamedSlot> &inputs) {
  std::set<std::string> own;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string &name = body.proto.input(i).name();
    own.insert(name);
    context.nodes.define(prefix + name) = inputs[i].slot;
    if (!inputs[i].name.empty()) {
      context.nodes.addAlias(prefix + name, inputs[i].name);
    }
  }
  for (const auto &[name, tensor] : body.initializers) {
    if (own.insert(name).second && body.users.count(name) != 0) {
      context.nodes.define(prefix + name).host =
          context.constants.share(context.constants.read(*tensor));
    }
  }
  for (const auto &[name, node] : body.producer) {
    own.insert(name);
  }
  return own;
}

std::vector<NamedSlot>
FunctionExpander::run(const onnx::GraphProto &proto, const std::string &label,
                      const std::vector<NamedSlot> &inputs) {
  const Graph &body = graphOf(proto);
  if (proto.input_size() != static_cast<int>(inputs.size())) {
    fail("its body takes ", proto.input_size(), " inputs, but ", inputs.size(),
         " are given");
  }
  countRun(body);
  std::string prefix = context.nodes.newScope();
  std::set<std::string> own = bind(body, prefix, inputs);
  auto rename = [&](std::string &name) {
    if (own.count(name) != 0) {
      name = prefix + name;
    }
  };
  for (int n : body.order) {
    onnx::NodeProto inner = proto.node(n);
    inner.set_name(absl::StrCat(label, "/", nodeName(inner)));
    renameNode(inner, rename);
    tryNode(context, context.nodes.adopt(std::move(inner)));
  }
  std::vector<NamedSlot> outputs;
  for (const auto &output : proto.output()) {
    std::string name = output.name();
    rename(name);
    outputs.push_back({context.nodes.slotOf(name), name});
  }
  return outputs;
}

/// Returns the body that the schema builds for the call's types and shapes.
static onnx::FunctionProto builtFunctionOf(Op &call,
                                           const onnx::OpSchema &schema) {
  std::vector<onnx::TypeProto> types;
  for (int i = 0; i < call.inputCount(); ++i) {
    onnx::TypeProto &type = types.emplace_back();
    if (call.hasInput(i)) {
      type.mutable_tensor_type()->set_elem_type(call.type(i));
      auto *shape = type.mutable_tensor_type()->mutable_shape();
      for (int64_t dim : call.shape(i)) {
        shape->add_dim()->set_dim_value(dim);
      }
    }
  }
  onnx::FunctionProto function;
  onnx::FunctionBodyBuildContextImpl context(call.proto(), types);
  if (!schema.BuildContextDependentFunction(context, function,
                                            static_cast<int>(call.opset()))) {
    fail("the operator is not supported in this form");
  }
  return function;
}

/// Returns the body that defines the operator of `call`.
static onnx::FunctionProto functionOf(Op &call, const onnx::OpSchema &schema) {
  onnx::FunctionProto function;
  if (schema.HasFunction()) {
    const onnx::FunctionProto *body =
        schema.GetFunction(static_cast<int>(call.opset()), false);
    if (body == nullptr) {
      fail("the operator has no body in ai.onnx ", call.opset());
    }
    function = *body;
  } else {
    function = builtFunctionOf(call, schema);
  }
  if (call.proto().op_type() == "Attention" && mayMaskRows(call)) {
    clearMaskedRows(function);
  }
  return function;
}

void FunctionExpander::expand(Op &op) {
  const onnx::NodeProto &node = op.proto();
  const onnx::OpSchema &schema = *schemaOf(node, op.opset());
  onnx::FunctionProto function = functionOf(op, schema);
  llvm::SaveAndRestore deeper(expandDepth, expandDepth + 1);
  if (expandDepth > kMaxExpandDepth) {
    fail("its body expands without end");
  }
  std::unordered_map<std::string, std::string> names =
      outerNames(function, node);
  std::string prefix = context.nodes.newScope();
  auto rename = [&](std::string &name) {
    auto [entry, inserted] = names.try_emplace(name, prefix + name);
    name = entry->second;
  };
  for (onnx::NodeProto &inner : *function.mutable_node()) {
    visitNodes(inner, [&](onnx::NodeProto &nested) {
      bindAttributes(nested, node, schema);
    });
    renameNode(inner, rename);
    inner.set_name(nodeName(node));
    const onnx::NodeProto &kept = context.nodes.adopt(inner);
    try {
      importNode(context, kept);
    } catch (const ImportError &error) {
      fail("in its body, ", kept.op_type(), ": ", error.what());
    }
  }
}

} // namespace zerograph::frontend
