//===- Arguments.cpp - inputs and parameters of the program ---------------===//

#include "frontend/exporter/SharedInput.h"
#include "frontend/graph/GradientPath.h"
#include "frontend/graph/InputValues.h"
#include "frontend/graph/Inputs.h"
#include "frontend/walk/Importer.h"

using namespace mlir;

namespace zerograph::frontend {

void Importer::addInputs() {
  for (auto &[name, value] : readInputValues(graph, options.inputs)) {
    slots[name].host = share(std::move(value));
    if (graph.users.count(name) == 0) {
      report.warnings.push_back(absl::StrCat(
          "--input ", name, " has no effect: no node reads that input"));
    }
  }
  std::vector<const onnx::ValueInfoProto *> fed = fedInputs(graph);
  llvm::erase_if(fed, [&](const auto *input) {
    return options.inputs.count(input->name()) != 0;
  });
  inputs = signaturesOf(fed);
  inputShapes = bindDims(inputs, options.dims, report);
  indexUses.resize(inputs.size());
  size_t i = 0;
  for (const onnx::ValueInfoProto *input : fed) {
    auto type = RankedTensorType::get(
        inputShapes[i++],
        elementTypeOf(&context, input->type().tensor_type().elem_type()));
    slots[input->name()].value = body->addArgument(
        type, NameLoc::get(builder.getStringAttr(input->name())));
  }
}

void Importer::addParameters() {
  if (!loss.empty() && options.added_loss.empty()) {
    checkSharedInput(graph, options, report);
  }
  parameters = decideParameters(file, graph, loss, options, report);
  decideHalves();
  std::set<std::string> trained;
  for (const Parameter &parameter : parameters) {
    addParameter(parameter);
    if (parameter.isTrained()) {
      trained.insert(parameter.tensor->name());
    }
  }
  findGradientPath(trained);
  if (!loss.empty() && trained.empty()) {
    fail(options.train.empty() && options.freeze.empty()
             ? absl::StrCat("nothing to train: no initializer that the loss '",
                            loss,
                            "' depends on is a trainable parameter; was "
                            "the model exported without its parameters "
                            "(export_params=False)?")
             : absl::StrCat("nothing to train: --train and --freeze leave "
                            "none of the ",
                            parameters.size(), " parameters"));
  }
}

void Importer::addParameter(const Parameter &parameter) {
  const onnx::TensorProto &tensor = *parameter.tensor;
  Shape shape(tensor.dims().begin(), tensor.dims().end());
  auto type = RankedTensorType::get(
      shape, elementTypeOf(&context, computedType(tensor.data_type())));
  slots[tensor.name()].value = body->addArgument(
      type, NameLoc::get(builder.getStringAttr(tensor.name())));
}

void Importer::findGradientPath(const std::set<std::string> &trained) {
  GradientPath gradient(graph, file.opset);
  onGradientPath = gradient.nodesReachedFrom(trained);
  if (!loss.empty()) {
    std::vector<bool> reaching = gradient.nodesReaching(loss);
    for (size_t n = 0; n < reaching.size(); ++n) {
      onGradientPath[n] = onGradientPath[n] && reaching[n];
    }
  }
}

bool Importer::isTrained(const std::string &name) const {
  return llvm::any_of(parameters, [&](const Parameter &parameter) {
    return parameter.trainable && parameter.tensor->name() == name;
  });
}

Value Importer::newest(Value parameter) const {
  Value next = nextValues.lookup(parameter);
  return next ? next : parameter;
}

bool Importer::keep(Value old, Value next) {
  // A node may read what another has made of the parameter.
  Value parameter = keptOf.lookup(old);
  auto argument = dyn_cast<BlockArgument>(parameter ? parameter : old);
  if (!argument || argument.getArgNumber() < inputs.size()) {
    return false;
  }
  nextValues[argument] = next;
  keptOf[next] = argument;
  return true;
}

} // namespace zerograph::frontend
