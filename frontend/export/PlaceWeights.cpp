//===- PlaceWeights.cpp - which weight goes where -------------------------===//

#include "frontend/export/PlaceWeights.h"

#include "frontend/base/Error.h"
#include "frontend/base/Suggest.h"
#include "frontend/export/Tensors.h"
#include "frontend/file/ExternalData.h"
#include "frontend/file/TensorBytes.h"
#include "frontend/quirks/ConstantWeights.h"

#include "runtime/base/Text.h"

using onnx::TensorProto;

namespace zerograph::frontend {

namespace {

bool isFloatName(const std::string &dtype) {
  return dtype == "F32" || dtype == "F16" || dtype == "BF16";
}

/// Returns what keeps a weight from being the values of a tensor; empty:
/// nothing.
std::string mismatch(const TrainedWeight &weight, const TensorProto &tensor) {
  const char *dtype = safetensorsName(tensor.data_type());
  Shape shape = shapeOf(tensor);
  if (Shape(weight.shape.begin(), weight.shape.end()) != shape) {
    return absl::StrCat(
        "has shape ", shapeText(shape), " in the model and ",
        shapeText(Shape(weight.shape.begin(), weight.shape.end())),
        " among the weights");
  }
  bool converts =
      dtype != nullptr && (weight.dtype == dtype ||
                           (isFloatName(weight.dtype) && isFloatName(dtype)));
  return converts
             ? ""
             : absl::StrCat("is ",
                            dtype != nullptr ? std::string(dtype)
                                             : typeName(tensor.data_type()),
                            " in the model and ", weight.dtype,
                            " among the weights");
}

/// Returns what the importer makes tensors of though the file has none of that
/// name: constants in the bodies of functions.
std::map<std::string, TensorProto *> tensorsOfCalls(onnx::ModelProto &model) {
  inlineFunctions(model);
  takeConstantWeights(*model.mutable_graph());
  return namedTensors(*model.mutable_graph());
}

/// Says what is wrong with weights that no tensor has the name of.
void explainUnknown(const ModelFile &file,
                    const std::vector<std::string> &unknown,
                    std::vector<std::string> &problems) {
  onnx::ModelProto inlined;
  std::map<std::string, TensorProto *> ofCalls;
  if (!unknown.empty() && file.model.functions_size() > 0) {
    inlined = file.model;
    ofCalls = tensorsOfCalls(inlined);
  }
  for (const std::string &name : unknown) {
    problems.push_back(absl::StrCat(
        "'", name, "' ",
        ofCalls.count(name) != 0
            ? "is a constant in the body of a function, which has no values "
              "of its own for each call"
            : "is no initializer of the model"));
  }
}

std::string readWeight(const std::string &name, const TrainedWeight &weight,
                       const TensorProto &tensor) {
  absl::StatusOr<std::string> bytes =
      weight.read(safetensorsName(tensor.data_type()));
  if (!bytes.ok()) {
    fail(bytes.status().message());
  }
  if (static_cast<int64_t>(bytes->size()) != byteCount(tensor)) {
    fail("weight '", name, "' has ", bytes->size(), " bytes, not ",
         byteCount(tensor));
  }
  return *std::move(bytes);
}

/// The places where weights go.
struct Places {
  std::map<std::string, TensorProto *> tensors; // by the weight's name
  /// Why some go nowhere; optional weights that do not; those whose type is
  /// wider than the tensor's.
  std::vector<std::string> problems, left_out, rounded;
};

Places findPlaces(ModelFile &file, const TrainedWeights &weights) {
  std::map<std::string, TensorProto *> tensors =
      namedTensors(*file.model.mutable_graph());
  Places places;
  std::vector<std::string> unknown;
  for (const auto &[name, weight] : weights) {
    auto found = tensors.find(name);
    if (found == tensors.end()) {
      (weight.optional ? places.left_out : unknown).push_back(name);
      continue;
    }
    places.tensors[name] = found->second;
    std::string wrong = mismatch(weight, *found->second);
    if (!wrong.empty()) {
      places.problems.push_back(absl::StrCat("'", name, "' ", wrong));
    } else if (weight.dtype == "F32" &&
               isHalfType(found->second->data_type())) {
      places.rounded.push_back(name);
    }
  }
  explainUnknown(file, unknown, places.problems);
  return places;
}

void addNotes(const Places &places, const onnx::GraphProto &graph,
              std::vector<std::string> &notes) {
  std::vector<std::string> kept;
  for (const TensorProto &tensor : graph.initializer()) {
    if (isFloatType(tensor.data_type()) && elementCount(shapeOf(tensor)) != 0 &&
        places.tensors.count(tensor.name()) == 0) {
      kept.push_back(tensor.name());
    }
  }
  for (const auto &[what, names] :
       {std::pair("rounded to the 16 bits that the model has them in: ",
                  places.rounded),
        std::pair(
            "kept as they are in the model, since the weights have no such "
            "names: ",
            kept),
        std::pair("not read, as the model has no such initializer: ",
                  places.left_out)}) {
    if (!names.empty()) {
      notes.push_back(absl::StrCat(what, listNames(names)));
    }
  }
}

} // namespace

size_t placeWeights(ModelFile &file, const std::string &output,
                    const TrainedWeights &weights, std::vector<DataFile> &data,
                    std::vector<std::string> &notes) {
  onnx::GraphProto &graph = *file.model.mutable_graph();
  checkShapes(graph);
  Places places = findPlaces(file, weights);
  if (!places.problems.empty()) {
    fail(places.problems.size(),
         places.problems.size() == 1 ? " weight does" : " weights do",
         " not fit the model; are they of another one?\n  ",
         linesOf(places.problems));
  }
  std::map<const TensorProto *, std::string> external;
  for (const auto &[name, tensor] : places.tensors) {
    if (isExternal(*tensor)) {
      external[tensor] = name;
    } else {
      setValues(*tensor, readWeight(name, weights.at(name), *tensor));
    }
  }
  addNotes(places, graph, notes);
  moveExternalData(file, output, external, data, notes);
  return places.tensors.size();
}

} // namespace zerograph::frontend
