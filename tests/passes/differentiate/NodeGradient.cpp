//===- NodeGradient.cpp - gradients of ONNX's node tests ------------------===//

#include "tests/passes/differentiate/NodeGradient.h"

#include "frontend/base/HostTensor.h"
#include "passes/differentiate/Passes.h"
#include "passes/differentiate/Rules.h"
#include "tests/frontend/Evaluate.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <filesystem>
#include <numbers>

using namespace mlir;
using namespace mlir::zg::testing;
using namespace zerograph::frontend;
using zerograph::frontend::testing::NodeCase;
using zerograph::frontend::testing::toTensor;
namespace nn = mlir::zg::nn;

namespace {

constexpr int32_t kDouble = onnx::TensorProto::DOUBLE;

/// The constants of Gelu's function, which has them in float32.
constexpr double kConstants[] = {2 / std::numbers::pi, 0.044715};

double withAllDigits(double value) {
  for (double constant : kConstants) {
    if (value == static_cast<float>(constant)) {
      return constant;
    }
  }
  return value;
}

void widen(onnx::TensorProto &tensor, bool constant) {
  if (!isFloatType(tensor.data_type())) {
    return;
  }
  HostTensor host = readTensor(tensor, nullptr);
  onnx::TensorProto wide;
  wide.set_name(tensor.name());
  wide.set_data_type(kDouble);
  *wide.mutable_dims() = tensor.dims();
  for (int64_t i = 0; i < host.size(); ++i) {
    double value = host.floatAt(i);
    wide.add_double_data(constant ? withAllDigits(value) : value);
  }
  tensor = wide;
}

void setInt(onnx::NodeProto &node, const std::string &name, int64_t value) {
  onnx::AttributeProto *found = nullptr;
  for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
    found = attribute.name() == name ? &attribute : found;
  }
  found = found == nullptr ? node.add_attribute() : found;
  found->set_name(name);
  found->set_type(onnx::AttributeProto::INT);
  found->set_i(value);
}

void widen(onnx::GraphProto &graph) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (onnx::AttributeProto &attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) {
        widen(*attribute.mutable_t(), /*constant=*/true);
      } else if (attribute.has_g()) {
        widen(*attribute.mutable_g());
      } else if (attribute.name() == "to" && isFloatType(attribute.i())) {
        attribute.set_i(kDouble);
      }
    }
    // Else they would compute in float32.
    if (node.op_type() == "LayerNormalization" ||
        node.op_type() == "RMSNormalization") {
      setInt(node, "stash_type", kDouble);
    }
  }
}

onnx::TensorProto weightsFor(const onnx::TensorProto &output, int64_t seed) {
  onnx::TensorProto weights;
  weights.set_data_type(kDouble);
  *weights.mutable_dims() = output.dims();
  std::vector<int64_t> shape(output.dims().begin(), output.dims().end());
  for (int64_t i = 0, size = elementCount(shape); i < size; ++i) {
    // In [1, 2) and in no regular order; a half holds them too.
    int64_t number = (i * 389 + seed * 97) % 1021;
    weights.add_double_data(1 + static_cast<double>(number) / 1024);
  }
  return weights;
}

} // namespace

void mlir::zg::testing::widen(NodeCase &test) {
  ::widen(*test.model.mutable_graph());
  for (auto *list : {&test.inputs, &test.outputs}) {
    for (onnx::TensorProto &tensor : *list) {
      ::widen(tensor, /*constant=*/false);
    }
  }
}

onnx::ModelProto mlir::zg::testing::withLoss(const onnx::ModelProto &model,
                                             const NodeCase &data) {
  onnx::ModelProto result = model;
  onnx::GraphProto &graph = *result.mutable_graph();
  graph.clear_input();
  graph.clear_output();
  graph.mutable_initializer()->Add(data.inputs.begin(), data.inputs.end());
  auto add = [&](const char *type, const std::vector<std::string> &inputs) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_op_type(type);
    node.mutable_input()->Add(inputs.begin(), inputs.end());
    node.add_output("test." + std::to_string(graph.node_size()));
    return &node;
  };
  std::string total;
  int64_t outputs = 0;
  for (const onnx::TensorProto &output : data.outputs) {
    if (!isFloatType(output.data_type())) {
      continue;
    }
    onnx::TensorProto &weights = *graph.add_initializer();
    weights = weightsFor(output, outputs);
    weights.set_name("test.weights." + std::to_string(outputs++));
    onnx::NodeProto *wide = add("Cast", {output.name()});
    setInt(*wide, "to", kDouble);
    onnx::NodeProto *last = add("Mul", {wide->output(0), weights.name()});
    last = add("ReduceSum", {last->output(0)});
    setInt(*last, "keepdims", 0);
    if (!total.empty()) {
      last = add("Add", {total, last->output(0)});
    }
    total = last->output(0);
  }
  onnx::ValueInfoProto &loss = *graph.add_output();
  loss.set_name(total);
  auto *type = loss.mutable_type()->mutable_tensor_type();
  type->set_elem_type(kDouble);
  type->mutable_shape();
  return result;
}

absl::StatusOr<std::map<std::string, std::vector<double>>>
mlir::zg::testing::gradientsOf(const onnx::ModelProto &model,
                               const std::vector<std::string> &trained) {
  DialectRegistry registry;
  nn::registerGradientRules(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  ImportOptions options;
  options.train = trained;
  std::string path = zerograph::frontend::testing::write(model);
  auto module = importModel(context, path, options, /*report=*/nullptr);
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
  if (!module.ok()) {
    return module.status();
  }
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return success();
  });
  PassManager manager(&context);
  manager.addPass(nn::createDifferentiate());
  if (failed(manager.run(**module))) {
    return absl::UnimplementedError(messages);
  }
  auto micro = (*module)->lookupSymbol<nn::ProgramOp>(nn::kMicroFunction);
  std::vector<Tensor> arguments;
  for (unsigned i = 0; i < micro.getNumArguments(); ++i) {
    auto parameter =
        micro.getArgAttrOfType<nn::ParameterAttr>(i, nn::kParameterAttr);
    for (const onnx::TensorProto &tensor : model.graph().initializer()) {
      if (tensor.name() == parameter.getName().str()) {
        arguments.push_back(toTensor(tensor, &context));
      }
    }
  }
  std::vector<Tensor> results = evaluate(micro, arguments);
  std::map<std::string, std::vector<double>> gradients;
  for (unsigned i = 0; i < results.size(); ++i) {
    auto name = micro.getResultAttrOfType<StringAttr>(i, nn::kGradientAttr);
    gradients[name ? name.getValue().str() : ""] = results[i].values;
  }
  return gradients;
}
