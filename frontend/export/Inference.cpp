//===- Inference.cpp - a model without what only training needs -----------===//

#include "frontend/export/Inference.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"
#include "frontend/export/Tensors.h"
#include "frontend/parameters/FindLoss.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "onnx/shape_inference/implementation.h"

namespace zerograph::frontend {

namespace {

/// The type of a value, its dims with their names: as the model describes it,
/// else as ONNX infers it.
onnx::ValueInfoProto describe(const onnx::ModelProto &model,
                              const std::string &name) {
  auto find = [&](const onnx::GraphProto &graph) {
    for (const auto *list : {&graph.value_info(), &graph.input()}) {
      for (const onnx::ValueInfoProto &value : *list) {
        const auto &type = value.type().tensor_type();
        if (value.name() == name && type.elem_type() != 0 && type.has_shape()) {
          return std::optional(value);
        }
      }
    }
    return std::optional<onnx::ValueInfoProto>();
  };
  std::optional<onnx::ValueInfoProto> found = find(model.graph());
  if (!found) {
    onnx::ModelProto inferred = model;
    onnx::shape_inference::InferShapes(
        inferred, onnx::OpSchemaRegistry::Instance(),
        onnx::ShapeInferenceOptions(false, 0, /*data_propagation=*/true));
    found = find(inferred.graph());
  }
  if (!found) {
    fail("value '", name,
         "' cannot become an output: the model does not say how many dims it "
         "has, and ONNX's shape inference does not find out");
  }
  return *std::move(found);
}

bool isOutput(const onnx::GraphProto &graph, const std::string &name) {
  return absl::c_any_of(graph.output(), [&](const auto &output) {
    return output.name() == name;
  });
}

/// A value that is to become an output, perhaps with a name of its own.
struct NewOutput {
  std::string value, name;
};

bool isTaken(const onnx::GraphProto &graph, const std::string &name) {
  auto named = [&](const auto &value) { return value.name() == name; };
  return absl::c_any_of(graph.input(), named) ||
         absl::c_any_of(graph.initializer(), named) ||
         absl::c_any_of(graph.node(), [&](const onnx::NodeProto &node) {
           return absl::c_linear_search(node.output(), name);
         });
}

void addOutput(onnx::ModelProto &model, const NewOutput &output) {
  if (isOutput(model.graph(), output.name)) {
    return;
  }
  onnx::ValueInfoProto info = describe(model, output.value);
  info.set_name(output.name);
  onnx::GraphProto &graph = *model.mutable_graph();
  *graph.add_output() = std::move(info);
  if (output.name != output.value) {
    onnx::NodeProto &node = *graph.add_node();
    node.set_name(output.name);
    node.set_op_type("Identity");
    node.add_input(output.value);
    node.add_output(output.name);
  }
}

/// Removes the output `loss`; the value may still be there.
void removeOutput(onnx::GraphProto &graph, const std::string &loss) {
  auto &outputs = *graph.mutable_output();
  for (int i = 0; i < outputs.size(); ++i) {
    if (outputs.Get(i).name() == loss) {
      outputs.DeleteSubrange(i, 1);
      return;
    }
  }
}

/// Chooses what is to become an output besides those that stay.
std::vector<NewOutput> chooseValues(const ModelFile &file,
                                    const std::string &loss,
                                    const ExportOptions &options) {
  Graph graph(file.graph());
  std::vector<std::string> names;
  for (const onnx::NodeProto &node : file.graph().node()) {
    absl::c_copy_if(node.output(), std::back_inserter(names),
                    [](const std::string &name) { return !name.empty(); });
  }
  std::vector<NewOutput> outputs;
  for (const std::string &wanted : options.output_value) {
    bool renamed =
        graph.producer.count(wanted) == 0 && absl::StrContains(wanted, '=');
    size_t end = renamed ? wanted.rfind('=') : wanted.size();
    std::string value = wanted.substr(0, end);
    std::string name = renamed ? wanted.substr(end + 1) : value;
    if (graph.producer.count(value) == 0) {
      fail("--output-value ", wanted, ": no node computes a value of that name",
           suggestFor(value, names));
    }
    if (renamed && (name.empty() || isTaken(file.graph(), name))) {
      fail("--output-value ", wanted,
           ": the output needs a name that no value "
           "of the model has");
    }
    if (absl::c_any_of(outputs, [&](const NewOutput &other) {
          return other.name == name && other.value != value;
        })) {
      fail("--output-value ", wanted, ": another output gets that name");
    }
    outputs.push_back({value, name});
  }
  bool othersStay = file.graph().output_size() > (loss.empty() ? 0 : 1);
  if (!options.output_value.empty() || othersStay) {
    return outputs;
  }
  std::vector<std::string> candidates;
  std::vector<std::string> found = lossInputs(file, loss, candidates);
  if (found.empty()) {
    fail("the loss '", loss,
         "' is the only output, and no input is recognized as its labels: say "
         "with --output-value NAME what inference is to give",
         candidates.empty()
             ? ""
             : absl::StrCat("; the last values made with parameters are ",
                            listNames(candidates)));
  }
  for (const std::string &value : found) {
    outputs.push_back({value, value});
  }
  return outputs;
}

void noteRandom(const onnx::GraphProto &graph,
                std::vector<std::string> &notes) {
  std::vector<std::string> random;
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.op_type().rfind("Random", 0) == 0 ||
        node.op_type() == "Bernoulli" || node.op_type() == "Multinomial") {
      random.push_back(nodeName(node));
    }
  }
  if (!random.empty()) {
    notes.push_back(absl::StrCat("inference still draws random numbers: ",
                                 listNames(random)));
  }
}

} // namespace

void makeInference(ModelFile &file, const ExportOptions &options,
                   std::vector<std::string> &notes) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  if (file.model.functions_size() > 0) {
    inlineFunctions(file.model);
    notes.push_back("the model's functions are written out where they were "
                    "called: what only training needs may lie in them");
  }
  std::string loss = findLoss(Graph(graph), options.loss_output);
  std::vector<NewOutput> added = chooseValues(file, loss, options);
  for (const NewOutput &output : added) {
    addOutput(file.model, output);
  }
  if (loss.empty()) {
    notes.push_back("no output is a loss: all of them stay");
  } else if (absl::c_none_of(added, [&](const NewOutput &output) {
               return output.name == loss;
             })) {
    removeOutput(graph, loss);
  }
  setEvaluationMode(graph, file.opset, notes);
  measureOthers(graph, file.opset);
  std::vector<std::string> inputs = prune(graph);
  noteRandom(graph, notes);
  notes.push_back(absl::StrCat("the outputs are ", outputNames(Graph(graph)),
                               inputs.empty() ? "" : "; no longer inputs: ",
                               inputs.empty() ? "" : listNames(inputs)));
}

} // namespace zerograph::frontend
