//===- Function.cpp - operators that ONNX defines by other operators ------===//
//
// An operator without an entry in ops/ is imported as the body that ONNX's
// schema gives it. Some bodies depend on shapes; these are known by now.
//
//===----------------------------------------------------------------------===//

#include "frontend/walk/Body.h"
#include "frontend/walk/Importer.h"

#include "onnx/defs/function.h"
#include "onnx/defs/schema.h"

#include <cmath>

namespace zerograph::frontend {

namespace {

/// Most functions within functions.
constexpr int kMaxExpandDepth = 8;

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
    const onnx::AttributeProto *value = nullptr;
    for (const auto &given : call.attribute()) {
      if (given.name() == attribute.ref_attr_name()) {
        value = &given;
      }
    }
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
bool mayMaskRows(const onnx::NodeProto &attention) {
  auto has = [&](int i) {
    return i < attention.input_size() && !attention.input(i).empty();
  };
  return has(3) || has(6); // attn_mask, nonpad_kv_seqlen
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

onnx::FunctionProto Importer::builtFunctionOf(const onnx::NodeProto &node) {
  Op call(*this, node, locationOf(node));
  std::vector<onnx::TypeProto> types;
  for (int i = 0; i < node.input_size(); ++i) {
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
  onnx::FunctionBodyBuildContextImpl context(node, types);
  if (!schemaOf(node)->BuildContextDependentFunction(
          context, function, static_cast<int>(file.opset))) {
    fail("the operator is not supported in this form");
  }
  return function;
}

onnx::FunctionProto Importer::functionOf(const onnx::NodeProto &node) {
  const onnx::OpSchema *schema = schemaOf(node);
  onnx::FunctionProto function;
  if (schema->HasFunction()) {
    const onnx::FunctionProto *body =
        schema->GetFunction(static_cast<int>(file.opset), false);
    if (body == nullptr) {
      fail("the operator has no body in ai.onnx ", file.opset);
    }
    function = *body;
  } else {
    function = builtFunctionOf(node);
  }
  if (node.op_type() == "Attention" && mayMaskRows(node)) {
    clearMaskedRows(function);
  }
  return function;
}

void Importer::expandFunction(const onnx::NodeProto &node) {
  onnx::FunctionProto function = functionOf(node);
  if (++expandDepth > kMaxExpandDepth) {
    fail("its body expands without end");
  }
  std::unordered_map<std::string, std::string> names =
      outerNames(function, node);
  // '\1' keeps inner names apart from those of the graph.
  std::string prefix = absl::StrCat("\1", scopes++, ".");
  auto rename = [&](std::string &name) {
    auto [entry, inserted] = names.try_emplace(name, prefix + name);
    name = entry->second;
  };
  for (onnx::NodeProto &inner : *function.mutable_node()) {
    visitNodes(inner, [&](onnx::NodeProto &nested) {
      bindAttributes(nested, node, *schemaOf(node));
    });
    renameNode(inner, rename);
    inner.set_name(nodeName(node));
    const onnx::NodeProto &kept = adopt(inner);
    try {
      importNode(kept);
    } catch (const ImportError &error) {
      --expandDepth;
      fail("in its body, ", kept.op_type(), ": ", error.what());
    }
  }
  --expandDepth;
}

} // namespace zerograph::frontend
