//===- Tensors.cpp - the tensors of a model, wherever they stand ----------===//

#include "frontend/export/Tensors.h"

#include "frontend/quirks/BodyWeights.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/Text.h"

#include <cstring>

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

/// Most names that a message lists.
constexpr size_t kMaxNames = 8;

void eachInitializer(onnx::GraphProto &graph,
                     llvm::function_ref<void(TensorProto &)> visit) {
  for (TensorProto &tensor : *graph.mutable_initializer()) {
    visit(tensor);
  }
}

/// Elements of `From` as those of a repeated field.
template <typename From, typename Field>
void unpack(const std::string &bytes, Field &field) {
  field.Clear();
  for (size_t at = 0; at + sizeof(From) <= bytes.size(); at += sizeof(From)) {
    From value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    field.Add(value);
  }
}

} // namespace

void eachNodes(onnx::ModelProto &model,
               llvm::function_ref<void(Nodes &)> visit) {
  eachNodes(*model.mutable_graph()->mutable_node(), visit);
  for (onnx::FunctionProto &function : *model.mutable_functions()) {
    eachNodes(*function.mutable_node(), visit);
  }
}

void eachTensor(onnx::ModelProto &model,
                llvm::function_ref<void(TensorProto &)> visit) {
  eachInitializer(*model.mutable_graph(), visit);
  eachNodes(model, [&](Nodes &nodes) {
    for (onnx::NodeProto &node : nodes) {
      eachBody(node,
               [&](onnx::GraphProto &body) { eachInitializer(body, visit); });
      for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
        if (attribute.has_t()) {
          visit(*attribute.mutable_t());
        }
        for (TensorProto &tensor : *attribute.mutable_tensors()) {
          visit(tensor);
        }
      }
    }
  });
}

std::map<std::string, TensorProto *> namedTensors(onnx::GraphProto &graph) {
  std::map<std::string, TensorProto *> named;
  for (TensorProto &tensor : *graph.mutable_initializer()) {
    named.emplace(tensor.name(), &tensor);
  }
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    if (node.op_type() != "Constant" || node.output_size() != 1) {
      continue;
    }
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.name() == "value" && attribute.has_t()) {
        named.emplace(node.output(0), attribute.mutable_t());
      }
    }
  }
  eachBodyWeight(graph, [&](TensorProto &tensor, const std::string &name) {
    named.emplace(name, &tensor);
  });
  return named;
}

void setValues(TensorProto &tensor, const std::string &bytes) {
  if (tensor.float_data_size() > 0) {
    unpack<float>(bytes, *tensor.mutable_float_data());
  } else if (tensor.double_data_size() > 0) {
    unpack<double>(bytes, *tensor.mutable_double_data());
  } else if (tensor.int64_data_size() > 0) {
    unpack<int64_t>(bytes, *tensor.mutable_int64_data());
  } else if (tensor.int32_data_size() > 0) {
    auto &field = *tensor.mutable_int32_data();
    switch (tensor.data_type()) {
    case TensorProto::INT32:
      return unpack<int32_t>(bytes, field);
    case TensorProto::INT16:
      return unpack<int16_t>(bytes, field);
    case TensorProto::INT8:
      return unpack<int8_t>(bytes, field);
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
      return unpack<uint16_t>(bytes, field);
    default:
      return unpack<uint8_t>(bytes, field);
    }
  } else {
    tensor.set_raw_data(bytes);
  }
}

std::string listNames(const std::vector<std::string> &names) {
  std::vector<std::string> quoted;
  for (const std::string &name : names) {
    quoted.push_back(absl::StrCat("'", name, "'"));
  }
  return listOf(quoted, kMaxNames);
}

} // namespace zerograph::frontend
