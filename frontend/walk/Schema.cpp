//===- Schema.cpp - what ONNX's schemas say of a node ---------------------===//

#include "frontend/walk/Schema.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"
#include "onnx/shape_inference/implementation.h"

#include <set>

namespace zerograph::frontend {

namespace {

/// Returns what the schema says of input `i`; null after the last.
const onnx::OpSchema::FormalParameter *formalOf(const onnx::OpSchema &schema,
                                                int i) {
  const auto &formals = schema.inputs();
  if (i < static_cast<int>(formals.size())) {
    return &formals[i];
  }
  bool variadic = !formals.empty() &&
                  formals.back().GetOption() == onnx::OpSchema::Variadic;
  return variadic ? &formals.back() : nullptr;
}

std::string listTypes(const onnx::DataTypeSet &types) {
  std::vector<std::string> names;
  for (onnx::DataType type : types) {
    names.push_back(*type);
  }
  std::sort(names.begin(), names.end());
  return absl::StrJoin(names, ", ");
}

bool lists(const onnx::OpSchema::FormalParameter &formal, int32_t type) {
  onnx::TypeProto proto;
  proto.mutable_tensor_type()->set_elem_type(type);
  return formal.GetTypes().count(onnx::Utils::DataTypeUtils::ToType(proto)) !=
         0;
}

bool takes(const onnx::OpSchema &schema, int input, int32_t type) {
  const auto *formal = formalOf(schema, input);
  // PyTorch writes convolutions of bfloat16 into operator sets that have those
  // of float16 only.
  return formal != nullptr &&
         (lists(*formal, type) || (type == onnx::TensorProto::BFLOAT16 &&
                                   lists(*formal, onnx::TensorProto::FLOAT16)));
}

/// Returns whether the importer knows an operator as it is in this operator
/// set.
bool isSupported(const onnx::OpSchema &schema, int64_t opset) {
  return findOp(schema.Name(), opset) != nullptr || schema.HasFunction() ||
         schema.HasContextDependentFunction();
}

/// "; operator set 18 WHAT: ...": names the first set above `opset` in which
/// the operator is supported and `is` holds for its schema; "" if there is
/// none.
template <typename Predicate>
std::string adviseNewer(const onnx::NodeProto &node, int64_t opset,
                        const char *what, Predicate is) {
  for (int64_t newer = opset + 1; newer <= kMaxOpset; ++newer) {
    const auto *schema =
        onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(newer));
    if (schema != nullptr && isSupported(*schema, newer) && is(*schema)) {
      return absl::StrCat("; operator set ", newer, " ", what,
                          ": export again with opset_version=", newer);
    }
  }
  return "";
}

/// Says what to do about an input of a type that the operator does not take.
std::string adviseOnType(const onnx::NodeProto &node, int i, int32_t type,
                         int64_t opset) {
  if (node.op_type() == "SoftmaxCrossEntropyLoss" && i == 1 &&
      isFloatType(type)) {
    return ": PyTorch's exporters write a cross entropy with probabilities "
           "p of classes as one with labels. Write that loss out, as "
           "-(p * x.log_softmax(1)).sum(1).mean(), and export again";
  }
  return adviseNewer(node, opset, "takes it", [&](const auto &schema) {
    return takes(schema, i, type);
  });
}

/// Constants of at most so many elements may decide a shape.
constexpr int64_t kMaxShapeElements = 64;

void describe(onnx::ValueInfoProto &info, const std::string &name, int32_t type,
              const Shape &shape) {
  info.set_name(name);
  auto *tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  tensor->mutable_shape();
  for (int64_t size : shape) {
    tensor->mutable_shape()->add_dim()->set_dim_value(size);
  }
}

onnx::TensorProto toProto(const HostTensor &host, const std::string &name) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  for (int64_t size : host.shape()) {
    tensor.add_dims(size);
  }
  for (int64_t i = 0; i < host.size(); ++i) {
    tensor.add_int64_data(host.intAt(i));
  }
  return tensor;
}

/// Returns whether ONNX's inference might crash: it divides by the number of
/// heads, and indexes dims by the axis and by the labels of an equation, as the
/// file has them.
bool breaksInference(const onnx::NodeProto &node, int64_t rank) {
  return node.op_type() == "Einsum" ||
         llvm::any_of(node.attribute(), [&](const auto &attribute) {
           return absl::EndsWith(attribute.name(), "num_heads")
                      ? attribute.i() == 0
                      : attribute.name() == "axis" &&
                            (attribute.i() < -rank || attribute.i() >= rank);
         });
}

/// Returns the shape that was inferred for an output, if it is known and
/// possible.
std::optional<Shape> inferredShape(const onnx::ValueInfoProto &info) {
  const auto &tensor = info.type().tensor_type();
  if (!info.type().has_tensor_type() || !tensor.has_shape()) {
    return std::nullopt;
  }
  Shape shape;
  for (const auto &dim : tensor.shape().dim()) {
    if (!dim.has_dim_value()) {
      return std::nullopt;
    }
    shape.push_back(dim.dim_value());
  }
  try {
    elementCount(shape);
  } catch (const ImportError &) {
    return std::nullopt;
  }
  return shape;
}

/// Adds the inputs of a node, as they are known, to the graph `single`. Returns
/// false if ONNX's inference should not see them.
bool describeInputs(Op &op, onnx::GraphProto &single) {
  for (int i = 0; i < op.inputCount(); ++i) {
    if (!op.hasInput(i)) {
      continue;
    }
    if (op.slot(i).failed || op.slot(i).isSequence) {
      return false;
    }
    if (!isFloatType(op.type(i)) && op.shape(i).size() == 1 &&
        op.shape(i)[0] > kMaxShapeElements) {
      return false; // inference might make that many dims
    }
    describe(*single.add_input(), op.proto().input(i), op.type(i), op.shape(i));
    const HostTensor *host = op.host(i);
    if (host != nullptr && op.type(i) == onnx::TensorProto::INT64 &&
        host->size() <= kMaxShapeElements) {
      *single.add_initializer() = toProto(*host, op.proto().input(i));
    }
  }
  return !op.hasInput(0) || !breaksInference(op.proto(), op.shape(0).size());
}

} // namespace

const onnx::OpSchema *schemaOf(const onnx::NodeProto &node, int64_t opset) {
  return onnx::OpSchemaRegistry::Schema(node.op_type(),
                                        static_cast<int>(opset));
}

/// Returns whether models have the operator whose weights or activations are
/// integers that stand for floats.
static bool isOfQuantized(const std::string &type) {
  static const std::set<std::string> kTypes = {
      "ConvInteger",   "DequantizeLinear", "DynamicQuantizeLinear",
      "MatMulInteger", "QLinearConv",      "QLinearMatMul",
      "QuantizeLinear"};
  return kTypes.count(type) != 0;
}

void checkNode(const onnx::NodeProto &node, int64_t opset) {
  const onnx::OpSchema *schema = schemaOf(node, opset);
  if (schema == nullptr) {
    fail("there is no such operator in ai.onnx ", opset,
         adviseNewer(node, opset, "has it", [](const auto &) { return true; }));
  }
  if (schema->Deprecated()) {
    fail("the operator is deprecated in ai.onnx ", opset);
  }
  try {
    schema->Verify(node);
  } catch (const std::exception &error) {
    fail("the node is malformed: ", error.what());
  }
  if (!isSupported(*schema, opset)) {
    const OpDef *newer = findOp(node.op_type(), INT64_MAX);
    if (newer != nullptr) {
      fail("the operator is not supported as it was in ai.onnx ", opset,
           ": export again with operator set ", newer->since, " or newer");
    }
    fail("the operator is not supported",
         isOfQuantized(node.op_type())
             ? ": it is of a quantized model. Train the model in floats, and "
               "quantize it afterwards"
             : "");
  }
}

void checkTypes(Op &op) {
  const onnx::NodeProto &node = op.proto();
  const onnx::OpSchema *schema = schemaOf(node, op.opset());
  // Type variable -> the first input that bound it.
  std::map<std::string, int> bound;
  for (int i = 0; i < op.inputCount(); ++i) {
    const auto *formal = formalOf(*schema, i);
    if (formal == nullptr || !op.hasInput(i) || op.slot(i).isSequence) {
      continue;
    }
    int32_t type = op.type(i);
    if (!takes(*schema, i, type)) {
      fail("input ", i, " ('", node.input(i), "') is ", typeName(type),
           ", but '", formal->GetName(), "' must be one of ",
           listTypes(formal->GetTypes()),
           adviseOnType(node, i, type, op.opset()));
    }
    if (!formal->GetIsHomogeneous()) {
      continue; // a variadic input whose members may differ
    }
    int first = bound.try_emplace(formal->GetTypeStr(), i).first->second;
    if (op.type(first) != type) {
      fail("input ", i, " ('", node.input(i), "') is ", typeName(type),
           ", but input ", first, " ('", node.input(first), "') is ",
           typeName(op.type(first)), "; ", node.op_type(),
           " takes both of one type");
    }
  }
}

std::vector<InferredOutput> inferOutputs(Op &op) {
  try {
    const onnx::OpSchema *schema = schemaOf(op.proto(), op.opset());
    if (schema == nullptr) {
      return {};
    }
    schema->Verify(op.proto()); // inference trusts the node
    onnx::ModelProto model;
    model.set_ir_version(onnx::IR_VERSION);
    model.add_opset_import()->set_version(op.opset());
    onnx::GraphProto &single = *model.mutable_graph();
    *single.add_node() = op.proto();
    if (!describeInputs(op, single)) {
      return {};
    }
    onnx::shape_inference::InferShapes(model);
    std::vector<InferredOutput> outputs;
    for (const onnx::ValueInfoProto &info : single.value_info()) {
      if (std::optional<Shape> shape = inferredShape(info)) {
        outputs.push_back(
            {info.name(), info.type().tensor_type().elem_type(), *shape});
      }
    }
    return outputs;
  } catch (const std::exception &) {
    return {};
  }
}

} // namespace zerograph::frontend
