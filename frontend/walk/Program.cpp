//===- Program.cpp - the import of one program ----------------------------===//

#include "frontend/walk/Program.h"

#include "frontend/base/Error.h"
#include "frontend/emit/Emitter.h"
#include "frontend/graph/GradientPath.h"
#include "frontend/graph/Inputs.h"
#include "frontend/parameters/FindLoss.h"
#include "frontend/walk/ImportNode.h"
#include "frontend/walk/Quirk.h"

#include "absl/algorithm/container.h"
#include "mlir/IR/Verifier.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Samples.h"

using namespace mlir;

namespace zerograph::frontend {

namespace {

/// Returns whether the name of the output's first dim says that it is the
/// samples'.
bool leadsWithSamples(const onnx::ValueInfoProto &output,
                      const std::vector<InputSignature> &inputs) {
  const auto &shape = output.type().tensor_type().shape();
  std::string batch = batchDim(inputs);
  if (batch.empty() || shape.dim_size() == 0 ||
      (shape.dim(0).has_dim_value() && shape.dim(0).dim_value() != -1)) {
    return false;
  }
  const std::string &name = shape.dim(0).dim_param();
  return isBatchDim({{name, -1, !name.empty()}}, batch, inputs);
}

/// Returns the place of an output among the metrics, if it is one.
std::optional<int64_t> metricOf(const ImportOptions &options,
                                const std::string &output) {
  auto found = absl::c_find(options.metrics, output);
  return found == options.metrics.end()
             ? std::nullopt
             : std::optional(found - options.metrics.begin());
}

/// Checks that metrics are outputs, each once, and none of them the loss.
void checkMetrics(const ImportContext &context) {
  const std::vector<std::string> &metrics = context.options.metrics;
  for (const std::string &name : metrics) {
    bool isOutput =
        absl::c_any_of(context.graph.proto.output(), [&](const auto &output) {
          return output.name() == name;
        });
    if (!isOutput) {
      fail("--metric ", name, ": there is no output of that name; there are ",
           outputNames(context.graph));
    }
    if (name == context.loss.name() && !context.loss.added()) {
      fail("--metric ", name,
           ": it is the loss, which is told without being named");
    }
    if (absl::c_count(metrics, name) > 1) {
      fail("--metric ", name, " is given twice");
    }
  }
}

/// Returns a graph output as a value; the loss and metrics as scalars.
Value resultOf(ImportContext &context, const std::string &output) {
  Slot &slot = context.nodes.slotOf(output);
  const std::string &loss = context.loss.name();
  Location location = slot.node != nullptr
                          ? context.log.locationOf(*slot.node)
                          : NameLoc::get(context.builder.getStringAttr(output));
  if (slot.isSequence) {
    fail("graph output '", output, "' is a sequence");
  }
  if (slot.host && slot.host->size() == 0) {
    fail("graph output '", output, "' has shape ",
         shapeText(slot.host->shape()),
         ", which is empty: export the model without it");
  }
  Value value = context.constants.materialize(slot, location);
  bool isLoss = output == loss && !context.loss.added();
  bool isMetric = metricOf(context.options, output).has_value();
  if (!isLoss && !isMetric) {
    return value;
  }
  bool isOne = Emitter::typeOf(value).getNumElements() == 1;
  if (isLoss && (!isOne || !Emitter::isFloat(value))) {
    fail("the loss '", loss, "' has shape ", shapeText(Emitter::shapeOf(value)),
         "; it must be one float: reduce it, or choose another output "
         "with --loss-output");
  }
  if (!isOne) {
    fail("--metric ", output, ": it has shape ",
         shapeText(Emitter::shapeOf(value)),
         "; a metric is one number: reduce it in the model");
  }
  Emitter emit(context.builder, location);
  if (!Emitter::isFloat(value)) {
    value = emit.convert(value, context.builder.getF64Type());
  }
  return emit.reshape(value, {});
}

/// Returns whether an output holds samples in front. Warns where the file says
/// so and is wrong.
bool hasSamplesInFront(ImportContext &context,
                       const onnx::ValueInfoProto &output, Value value,
                       const nn::SampleAnalysis &samples) {
  if (!leadsWithSamples(output, context.arguments.inputs())) {
    return false;
  }
  Shape shape = Emitter::shapeOf(value);
  nn::Samples place = samples.of(value);
  bool elsewhere = place.kind == nn::Samples::At && samples.count() > 1 &&
                   (place.dim != 0 || place.outer != 1);
  if (!shape.empty() && shape[0] == samples.count() && !elsewhere) {
    return true;
  }
  context.report.warnings.push_back(absl::StrCat(
      "output '", output.name(), "' has shape ", shapeText(shape),
      ", whose first dim the file calls '",
      output.type().tensor_type().shape().dim(0).dim_param(),
      "', as that of samples, of which a micro-batch has ", samples.count(),
      ", but ",
      elsewhere ? absl::StrCat("they are in dim ", place.dim)
                : "it has another size",
      ": the output is taken as one of each micro-batch; export the model with "
      "the right names of dims (dynamic_axes, dynamic_shapes)"));
  return false;
}

/// Returns the graph's outputs and what parameters are in the next micro-batch;
/// gives the attributes of these results.
SmallVector<Attribute> addResults(ImportContext &context) {
  OpBuilder &builder = context.builder;
  SmallVector<Value> results;
  SmallVector<Attribute> attributes;
  auto add = [&](StringRef kind, const std::string &name, Value value) {
    results.push_back(value);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(kind, builder.getStringAttr(name))));
  };
  for (const auto &output : context.graph.proto.output()) {
    add(nn::kOutputAttr, output.name(), resultOf(context, output.name()));
  }
  nn::SampleAnalysis samples(*context.body, context.arguments.sampleInputs());
  for (auto [i, output] : llvm::enumerate(context.graph.proto.output())) {
    NamedAttrList all(cast<DictionaryAttr>(attributes[i]));
    if (hasSamplesInFront(context, output, results[i], samples)) {
      all.append(nn::kPerSampleAttr, builder.getUnitAttr());
    }
    if (auto place = metricOf(context.options, output.name())) {
      all.append(nn::kMetricAttr, builder.getI64IntegerAttr(*place));
    }
    attributes[i] = all.getDictionary(builder.getContext());
  }
  if (context.loss.added()) {
    add(nn::kOutputAttr, context.loss.addedName(), context.loss.added());
  }
  for (const auto &[name, value] : context.arguments.nextValues()) {
    add(nn::kNextValueAttr, name, value);
  }
  builder.create<nn::ReturnOp>(builder.getUnknownLoc(), results);
  return attributes;
}

/// Erases values that were emitted for constants and that nothing uses.
void eraseUnused(Block &body) {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator()) {
    ops.push_back(&op);
  }
  for (Operation *op : llvm::reverse(ops)) { // users first
    if (op->use_empty()) {
      op->erase();
    }
  }
}

void verifyModule(ModuleOp module) {
  std::string diagnostics;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        absl::StrAppend(&diagnostics, "\n  ",
                        nn::describe(diagnostic.getLocation()), ": ",
                        diagnostic.str());
        return success();
      });
  if (failed(verify(module))) {
    throw InternalError(absl::StrCat(
        "internal error: the imported program is not valid:", diagnostics));
  }
}

/// Ends the program: returns its results, removes what nothing uses, and gives
/// arguments and results their attributes.
void finishProgram(ImportContext &context) {
  Block &body = *context.body;
  OpBuilder &builder = context.builder;
  SmallVector<Attribute> results = addResults(context);
  eraseUnused(body);
  SmallVector<Attribute> arguments = context.arguments.finish();
  auto function = cast<nn::ProgramOp>(body.getParentOp());
  function.setType(builder.getFunctionType(
      body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  function.setArgAttrsAttr(builder.getArrayAttr(arguments));
  function.setResAttrsAttr(builder.getArrayAttr(results));
  verifyModule(*context.module);
}

/// Throws ImportError with the first finding of any quirk. If the user allows
/// damage, adds all as warnings instead.
void checkQuirks(const TrainedModel &model) {
  for (const Quirk *quirk : quirks()) {
    if (quirk->find == nullptr) {
      continue;
    }
    for (const Finding &finding : quirk->find(model)) {
      if (!finding.remedy.empty() && !model.options.allow_exporter_damage) {
        fail(finding.what, finding.remedy);
      }
      model.report.warnings.push_back(finding.what);
    }
  }
}

/// Decides which initializers are parameters, and looks for what exporters are
/// known to do to them. Returns those that training changes.
std::set<std::string> addParameters(ImportContext &context) {
  const ImportOptions &options = context.options;
  const std::string &loss = context.loss.name();
  std::vector<Parameter> parameters = decideParameters(
      context.file, context.graph, loss, options, context.report);
  std::set<std::string> trained;
  for (const Parameter &parameter : parameters) {
    if (parameter.isTrained()) {
      trained.insert(parameter.tensor->name());
    }
  }
  size_t count = parameters.size();
  if (!loss.empty()) {
    checkQuirks(
        {context.file, context.graph, options, loss, trained, context.report});
  }
  context.arguments.addParameters(std::move(parameters));
  if (!loss.empty() && trained.empty()) {
    fail(options.train.empty() && options.freeze.empty()
             ? absl::StrCat("nothing to train: no initializer that the loss '",
                            loss,
                            "' depends on is a trainable parameter; was "
                            "the model exported without its parameters "
                            "(export_params=False)?")
             : absl::StrCat("nothing to train: --train and --freeze leave "
                            "none of the ",
                            count, " parameters"));
  }
  return trained;
}

/// Returns which nodes the loss's gradient flows through.
std::vector<bool> nodesOnGradientPath(const ImportContext &context,
                                      const std::set<std::string> &trained) {
  GradientPath gradient(context.graph, context.file.opset);
  std::vector<bool> nodes = gradient.nodesReachedFrom(trained);
  if (!context.loss.name().empty()) {
    std::vector<bool> reaching = gradient.nodesReaching(context.loss.name());
    for (size_t n = 0; n < nodes.size(); ++n) {
      nodes[n] = nodes[n] && reaching[n];
    }
  }
  return nodes;
}

} // namespace

ImportContext::ImportContext(MLIRContext &context, const ModelFile &file,
                             const ImportOptions &options, ImportReport &report)
    : file(file), options(options), report(report), graph(file.graph()),
      builder(&context), log(context, graph, report), constants(*this),
      nodes(graph, constants), arguments(*this), loss(*this), functions(*this) {
  Location location = NameLoc::get(builder.getStringAttr(graph.proto.name()));
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<nn::ProgramOp>(
      location, "forward", builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
}

OwningOpRef<ModuleOp> importProgram(MLIRContext &mlir, const ModelFile &file,
                                    const ImportOptions &options,
                                    ImportReport &report) {
  ImportContext context(mlir, file, options, report);
  context.arguments.addInputs();
  context.loss.choose();
  checkMetrics(context);
  std::set<std::string> trained = addParameters(context);
  importNodes(context, nodesOnGradientPath(context, trained));
  context.loss.add();
  context.log.noteSums(options, !context.loss.name().empty());
  finishProgram(context);
  return std::move(context.module);
}

} // namespace zerograph::frontend
