//===- AddLoss.cpp - --loss: a loss, and labels to compare with -----------===//

#include "frontend/emit/AddedLoss.h"
#include "frontend/graph/Inputs.h"
#include "frontend/walk/Importer.h"
#include "frontend/walk/ScoreDims.h"
#include "passes/ir/nn/Samples.h"

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

using namespace mlir;

namespace zerograph::frontend {

static AddedLoss wantedLoss(const ImportOptions &options) {
  const options::Loss *kind =
      options::findRow(options::kLosses, options.added_loss);
  if (kind == nullptr) {
    fail("--loss ", options.added_loss, ": there are ",
         options::namesOf(options::kLosses));
  }
  AddedLoss loss;
  loss.kind = kind;
  loss.ignored = options.ignore_index;
  loss.smoothing = options.label_smoothing;
  loss.shift = options.shift_labels;
  if (options.class_weights.empty()) {
    return loss;
  }
  for (absl::string_view text : absl::StrSplit(options.class_weights, ',')) {
    double weight;
    if (!absl::SimpleAtod(text, &weight) || !(weight >= 0)) {
      fail("--class-weights ", options.class_weights, ": '", text,
           "' is no weight; expected numbers with commas between, one a class");
    }
    loss.weights.push_back(weight);
  }
  return loss;
}

/// Refuses to take probabilities for scores: what PyTorch would compute of them
/// is no loss that anybody wants, and nothing would show it.
static void checkScores(const Graph &graph, const std::string &name,
                        const AddedLoss &wanted) {
  std::string made = name;
  const onnx::NodeProto *node = nullptr;
  do {
    auto found = graph.producer.find(made);
    if (found == graph.producer.end()) {
      return;
    }
    node = &graph.proto.node(found->second);
    made = node->input_size() > 0 ? node->input(0) : "";
  } while (node->op_type() == "Identity" || node->op_type() == "Cast");
  bool softmax = node->op_type() == "Softmax" && wanted.ofClasses();
  bool sigmoid =
      node->op_type() == "Sigmoid" && wanted.name() == "bce_with_logits";
  if (softmax || sigmoid) {
    fail("--loss ", wanted.name(), ": '", name,
         "' holds probabilities, made by ", node->op_type(), " '",
         nodeName(*node), "'; expected ",
         wanted.name() == "nll" ? "their logarithms" : "scores",
         "; give --loss ", softmax ? "cross_entropy" : wanted.name(),
         " --loss-on ", made, ", what they are made of");
  }
}

/// The file's names of the dims of a value, "" for a dim without one.
static std::vector<std::string> dimNames(const Graph &graph,
                                         const std::string &name) {
  std::vector<std::string> names;
  for (const auto *values :
       {&graph.proto.output(), &graph.proto.value_info()}) {
    auto found = absl::c_find_if(
        *values, [&](const auto &value) { return value.name() == name; });
    if (found != values->end()) {
      for (const auto &dim : found->type().tensor_type().shape().dim()) {
        names.push_back(dim.dim_param());
      }
      return names;
    }
  }
  return names;
}

/// Finds the dimensions in which the scores hold samples and classes.
ScoreDims Importer::scoreDimsOf(const AddedLoss &wanted, Value scores) {
  Scores known{loss, Emitter::shapeOf(scores), dimNames(graph, loss),
               batchDim(inputs), std::nullopt};
  if (known.names.size() != known.shape.size()) {
    known.names.clear();
  }
  nn::SampleAnalysis samples(*body, sampleInputs());
  nn::Samples place = samples.of(scores);
  if (place.kind == nn::Samples::At && samples.count() > 1 &&
      samples.count() == known.shape[place.dim]) {
    known.tracked = place.dim;
  }
  return decideScoreDims(known, wanted, options.loss_dims);
}

/// An input of the program after the others, with samples in front.
Value Importer::addLabels(const Shape &shape, Type element, Location location) {
  InputSignature signature;
  signature.name = options.labels;
  for (int64_t dim : shape) {
    signature.dims.push_back({"", dim});
  }
  std::string batch = batchDim(inputs);
  auto leader = absl::c_find_if(inputs, [&](const InputSignature &input) {
    return !input.dims.empty() && input.dims[0].name == batch;
  });
  if (!batch.empty()) {
    int64_t samples = inputShapes[leader - inputs.begin()][0];
    if (shape.empty() || shape[0] != samples) {
      fail("--loss ", options.added_loss, ": '", loss, "' needs labels ",
           shapeText(shape), ", whose first dim is not that of the ", samples,
           " samples of a micro-batch: say by --loss-dims which dim is batch, "
           "as time,batch,classes, or export an output that has one");
    }
    signature.dims[0] = leader->dims[0];
  }
  inputs.push_back(signature);
  inputShapes.push_back(shape);
  indexUses.emplace_back();
  return body->insertArgument(inputs.size() - 1,
                              RankedTensorType::get(shape, element), location);
}

/// Returns what the scores are compared with: an input of the model, or a new
/// one.
Value Importer::labelsOf(const AddedLoss &wanted, Value scores,
                         Location location) {
  Shape shape = wanted.labelShape(Emitter::shapeOf(scores));
  Type element = Emitter::elementOf(scores);
  if (wanted.ofClasses()) {
    element = builder.getI64Type();
  } else if (element.getIntOrFloatBitWidth() < 32) {
    element = builder.getF32Type();
  }
  auto known = absl::c_find_if(inputs, [&](const InputSignature &input) {
    return input.name == options.labels;
  });
  if (known == inputs.end()) {
    if (graph.initializers.count(options.labels) != 0 ||
        graph.producer.count(options.labels) != 0) {
      fail("--labels ", options.labels,
           ": the graph has a value of that name that is no input");
    }
    return addLabels(shape, element, location);
  }
  if (!batchDim(inputs).empty() &&
      !isBatchDim(known->dims, batchDim(inputs), inputs)) {
    fail("--labels ", options.labels, ": the input's first dim is ",
         known->dims.empty() ? "none" : "'" + known->dims[0].name + "'",
         ", expected '", batchDim(inputs),
         "', the samples': export the model so that its labels lead with them");
  }
  Value labels = slotOf(options.labels).value;
  bool fits = wanted.ofClasses() != Emitter::isFloat(labels);
  if (Emitter::shapeOf(labels) != shape || !fits) {
    fail("--labels ", options.labels, ": the input has shape ",
         shapeText(Emitter::shapeOf(labels)), ", but --loss ", wanted.name(),
         " of '", loss, "' ", shapeText(Emitter::shapeOf(scores)), " needs ",
         wanted.ofClasses() ? "integers" : "floats", " of shape ",
         shapeText(shape),
         options.loss_dims.empty()
             ? ""
             : ": does --loss-dims say rightly which dim is classes?");
  }
  return labels;
}

void Importer::addLoss() {
  if (options.added_loss.empty()) {
    return;
  }
  AddedLoss wanted = wantedLoss(options);
  addedName = "loss";
  while (absl::c_any_of(graph.proto.output(), [&](const auto &output) {
    return output.name() == addedName;
  })) {
    addedName = "added_" + addedName;
  }
  report.loss_output = addedName;
  checkScores(graph, loss, wanted);
  Location location = NameLoc::get(builder.getStringAttr(addedName));
  Value scores = materialize(slotOf(loss), location);
  if (!Emitter::isFloat(scores)) {
    fail("--loss-on ", loss, ": it holds no floats");
  }
  ScoreDims dims = scoreDimsOf(wanted, scores);
  Shape shape = Emitter::shapeOf(scores);
  Emitter emit(builder, location);
  scores = emit.transpose(scores, dims.order(shape.size()));
  Value labels = labelsOf(wanted, scores,
                          NameLoc::get(builder.getStringAttr(options.labels)));
  addedLoss = emitLoss(emit, wanted, scores, labels);
  std::string places =
      dims.batch == 0 ? ""
                      : absl::StrCat(", whose dim ", dims.batch, " is samples");
  if (wanted.ofClasses()) {
    boundInput(labels, {0, shape[*dims.classes] - 1, {wanted.ignored}});
    absl::StrAppend(&places, places.empty() ? ", whose dim " : " and dim ",
                    *dims.classes, " is classes");
  }
  std::string positions =
      !wanted.ofClasses() || shape.size() != 3 ? ""
      : wanted.shift ? ", each position with the label of the next"
                     : ", each position with its own label (--shift-labels: "
                       "with that of the next, as causal models need)";
  // No other note matters as much: it comes first.
  report.notes.insert(
      report.notes.begin(),
      absl::StrCat("the loss is ", wanted.name(), " of '", loss, "' ",
                   shapeText(shape), places, ", with input '", options.labels,
                   "' ", shapeText(Emitter::shapeOf(labels)), positions));
  noteOwnLoss();
}

/// An output of one number is what a loss looks like.
void Importer::noteOwnLoss() {
  for (const onnx::ValueInfoProto &output : graph.proto.output()) {
    const onnx::TypeProto &type = output.type();
    if (output.name() != loss && type.has_tensor_type() &&
        type.tensor_type().has_shape() &&
        type.tensor_type().shape().dim_size() == 0) {
      note(absl::StrCat("the model's own '", output.name(),
                        "', one number, is not the loss: --loss ",
                        options.added_loss, " is"));
    }
  }
}

} // namespace zerograph::frontend
