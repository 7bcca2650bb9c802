//===- CheckNode.cpp - a node is what ONNX's schema says of its operator --===//
//
// A schema says which attributes a node has, which types each input may have,
// and which inputs have the same. This is checked here for all operators, so
// that no function in ops/ must check what ONNX promises.
//
//===----------------------------------------------------------------------===//

#include "frontend/walk/Importer.h"

#include "absl/strings/str_join.h"
#include "onnx/defs/data_type_utils.h"
#include "onnx/defs/schema.h"

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

} // namespace

const onnx::OpSchema *Importer::schemaOf(const onnx::NodeProto &node) const {
  return onnx::OpSchemaRegistry::Schema(node.op_type(),
                                        static_cast<int>(file.opset));
}

void Importer::checkNode(const onnx::NodeProto &node) const {
  const onnx::OpSchema *schema = schemaOf(node);
  if (schema == nullptr) {
    fail("there is no such operator in ai.onnx ", file.opset,
         adviseNewer(node, file.opset, "has it",
                     [](const auto &) { return true; }));
  }
  if (schema->Deprecated()) {
    fail("the operator is deprecated in ai.onnx ", file.opset);
  }
  try {
    schema->Verify(node);
  } catch (const std::exception &error) {
    fail("the node is malformed: ", error.what());
  }
  if (!isSupported(*schema, file.opset)) {
    const OpDef *newer = findOp(node.op_type(), INT64_MAX);
    if (newer != nullptr) {
      fail("the operator is not supported as it was in ai.onnx ", file.opset,
           ": export again with operator set ", newer->since, " or newer");
    }
    fail("the operator is not supported");
  }
}

void Importer::checkTypes(Op &op) {
  const onnx::NodeProto &node = op.proto();
  const onnx::OpSchema *schema = schemaOf(node);
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
           adviseOnType(node, i, type, file.opset));
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

} // namespace zerograph::frontend
