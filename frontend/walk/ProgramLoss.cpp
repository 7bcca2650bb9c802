//===- ProgramLoss.cpp - the loss of the program --------------------------===//

#include "frontend/base/Error.h"
#include "frontend/emit/AddedLoss.h"
#include "frontend/graph/Inputs.h"
#include "frontend/parameters/FindLoss.h"
#include "frontend/walk/ImportContext.h"
#include "frontend/walk/Probabilities.h"
#include "frontend/walk/ScoreDims.h"
#include "passes/ir/nn/Samples.h"

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "runtime/base/Text.h"

using namespace mlir;

namespace zerograph::frontend {

void ProgramLoss::choose() {
  chosen = context.options.added_loss.empty() ? chooseOutput() : chooseScores();
  context.report.loss_output = chosen;
}

std::string ProgramLoss::chooseOutput() const {
  const ImportOptions &options = context.options;
  if (!options.require_loss && options.loss_output.empty()) {
    return "";
  }
  std::string found =
      findLoss(context.graph, options.loss_output, options.metrics);
  if (found.empty()) {
    fail("no output is a float scalar, so there is no loss to minimize; the "
         "outputs are ",
         outputNames(context.graph),
         ": export the model with its loss, or add one: --loss cross_entropy");
  }
  return found;
}

/// Returns the output, or the value on the way to one, that an added loss is
/// of.
std::string ProgramLoss::chooseScores() const {
  const ImportOptions &options = context.options;
  const Graph &graph = context.graph;
  std::vector<std::string> names, floats;
  for (const auto &output : graph.proto.output()) {
    names.push_back(output.name());
    if (isFloatType(output.type().tensor_type().elem_type())) {
      floats.push_back(output.name());
    }
  }
  std::string list = listOf(names, 10);
  if (!options.loss_on.empty()) {
    auto made = graph.producer.find(options.loss_on);
    bool value = made != graph.producer.end() &&
                 absl::c_linear_search(graph.order, made->second);
    if (!value && !absl::c_linear_search(names, options.loss_on)) {
      fail("--loss-on ", options.loss_on,
           ": no output, nor a value that one is made of, has that name; the "
           "outputs are ",
           list);
    }
    return options.loss_on;
  }
  if (absl::c_linear_search(floats, "logits")) {
    return "logits";
  }
  if (floats.size() != 1) {
    fail("--loss ", options.added_loss,
         ": of which output? Give --loss-on "
         "NAME; the outputs are ",
         list);
  }
  return floats.front();
}

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
ScoreDims ProgramLoss::scoreDimsOf(const AddedLoss &wanted,
                                   Value scores) const {
  Scores known{chosen, Emitter::shapeOf(scores),
               dimNames(context.graph, chosen),
               batchDim(context.arguments.inputs()), std::nullopt};
  if (known.names.size() != known.shape.size()) {
    known.names.clear();
  }
  nn::SampleAnalysis samples(*context.body, context.arguments.sampleInputs());
  nn::Samples place = samples.of(scores);
  if (place.kind == nn::Samples::At && samples.count() > 1 &&
      samples.count() == known.shape[place.dim]) {
    known.tracked = place.dim;
  }
  return decideScoreDims(known, wanted, context.options.loss_dims);
}

/// Adds an input of the program after the others, with samples in front.
Value ProgramLoss::addLabels(const Shape &shape, Type element,
                             Location location) {
  const std::vector<InputSignature> &inputs = context.arguments.inputs();
  InputSignature signature;
  signature.name = context.options.labels;
  for (int64_t dim : shape) {
    signature.dims.push_back({"", dim});
  }
  std::string batch = batchDim(inputs);
  auto leader = absl::c_find_if(inputs, [&](const InputSignature &input) {
    return !input.dims.empty() && input.dims[0].name == batch;
  });
  if (!batch.empty()) {
    int64_t samples = context.arguments.inputShape(leader - inputs.begin())[0];
    if (shape.empty() || shape[0] != samples) {
      fail("--loss ", context.options.added_loss, ": '", chosen,
           "' needs labels ", shapeText(shape),
           ", whose first dim is not that of the ", samples,
           " samples of a micro-batch: say by --loss-dims which dim is batch, "
           "as time,batch,classes, or export an output that has one");
    }
    signature.dims[0] = leader->dims[0];
  }
  return context.arguments.addInput(std::move(signature), shape, element,
                                    location);
}

/// Returns what the scores are compared with: an input of the model, or a new
/// one.
Value ProgramLoss::labelsOf(const AddedLoss &wanted, Value scores) {
  const ImportOptions &options = context.options;
  const std::vector<InputSignature> &inputs = context.arguments.inputs();
  OpBuilder &builder = context.builder;
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
    if (context.graph.initializers.count(options.labels) != 0 ||
        context.graph.producer.count(options.labels) != 0) {
      fail("--labels ", options.labels,
           ": the graph has a value of that name that is no input");
    }
    return addLabels(shape, element,
                     NameLoc::get(builder.getStringAttr(options.labels)));
  }
  std::string batch = batchDim(inputs);
  if (!batch.empty() && !isBatchDim(known->dims, batch, inputs)) {
    fail("--labels ", options.labels, ": the input's first dim is ",
         known->dims.empty() ? "none" : "'" + known->dims[0].name + "'",
         ", expected '", batch,
         "', the samples': export the model so that its labels lead with them");
  }
  Value labels = context.nodes.slotOf(options.labels).value;
  bool fits = wanted.ofClasses() != Emitter::isFloat(labels);
  if (Emitter::shapeOf(labels) != shape || !fits) {
    fail("--labels ", options.labels, ": the input has shape ",
         shapeText(Emitter::shapeOf(labels)), ", but --loss ", wanted.name(),
         " of '", chosen, "' ", shapeText(Emitter::shapeOf(scores)), " needs ",
         wanted.ofClasses() ? "integers" : "floats", " of shape ",
         shapeText(shape),
         options.loss_dims.empty()
             ? ""
             : ": does --loss-dims say rightly which dim is classes?");
  }
  return labels;
}

/// Gives the added loss a name that no output has.
void ProgramLoss::nameAdded() {
  outputName = "loss";
  while (absl::c_any_of(context.graph.proto.output(), [&](const auto &output) {
    return output.name() == outputName;
  })) {
    outputName = "added_" + outputName;
  }
  context.report.loss_output = outputName;
}

void ProgramLoss::add() {
  if (context.options.added_loss.empty()) {
    return;
  }
  AddedLoss wanted = wantedLoss(context.options);
  nameAdded();
  checkScores(context.graph, chosen, wanted);
  Location location = NameLoc::get(context.builder.getStringAttr(outputName));
  Value scores =
      context.constants.materialize(context.nodes.slotOf(chosen), location);
  if (!Emitter::isFloat(scores)) {
    fail("--loss-on ", chosen, ": it holds no floats");
  }
  ScoreDims dims = scoreDimsOf(wanted, scores);
  Shape shape = Emitter::shapeOf(scores);
  Emitter emit(context.builder, location);
  scores = emit.transpose(scores, dims.order(shape.size()));
  Value labels = labelsOf(wanted, scores);
  addedValue = emitLoss(emit, wanted, scores, labels);
  std::string places =
      dims.batch == 0 ? ""
                      : absl::StrCat(", whose dim ", dims.batch, " is samples");
  if (wanted.ofClasses()) {
    context.arguments.bound(labels,
                            {0, shape[*dims.classes] - 1, {wanted.ignored}});
    absl::StrAppend(&places, places.empty() ? ", whose dim " : " and dim ",
                    *dims.classes, " is classes");
  }
  std::string positions =
      !wanted.ofClasses() || shape.size() != 3 ? ""
      : wanted.shift ? ", each position with the label of the next"
                     : ", each position with its own label (--shift-labels: "
                       "with that of the next, as causal models need)";
  // No other note matters as much: it comes first.
  context.report.notes.insert(
      context.report.notes.begin(),
      absl::StrCat("the loss is ", wanted.name(), " of '", chosen, "' ",
                   shapeText(shape), places, ", with input '",
                   context.options.labels, "' ",
                   shapeText(Emitter::shapeOf(labels)), positions));
  noteOwnLoss();
}

/// Notes outputs of one number, as these look like a loss.
void ProgramLoss::noteOwnLoss() const {
  for (const onnx::ValueInfoProto &output : context.graph.proto.output()) {
    const onnx::TypeProto &type = output.type();
    if (output.name() != chosen && type.has_tensor_type() &&
        type.tensor_type().has_shape() &&
        type.tensor_type().shape().dim_size() == 0) {
      context.log.note(absl::StrCat("the model's own '", output.name(),
                                    "', one number, is not the loss: --loss ",
                                    context.options.added_loss, " is"));
    }
  }
}

} // namespace zerograph::frontend
