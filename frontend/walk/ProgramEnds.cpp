//===- ProgramEnds.cpp - results of the program and its attributes --------===//

#include "frontend/walk/Importer.h"

#include "frontend/graph/Inputs.h"

#include "mlir/IR/Verifier.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/NNDialect.h"
#include "passes/ir/nn/Samples.h"
#include "runtime/base/Text.h"

#include <set>
#include <unistd.h>

using namespace mlir;

namespace zerograph::frontend {

/// Returns whether the name of the output's first dim says that it is the
/// samples'.
static bool leadsWithSamples(const onnx::ValueInfoProto &output,
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

NamedAttrList Importer::attributesOf(size_t i, bool perSample) {
  std::optional<int64_t> low, high;
  SmallVector<int64_t> ignored;
  const IndexUses &uses = indexUses[i];
  if (uses.whole || uses.parts) {
    // The uses of parts, together, bound the whole too.
    IndexRange range = uses.whole.value_or(IndexRange());
    if (uses.parts) {
      range = range.meet(*uses.parts);
    }
    low = range.low;
    high = range.high;
    ignored.assign(range.ignored.begin(), range.ignored.end());
    if (*low > *high) {
      fail("input '", inputs[i].name,
           "' can have no legal value: it indexes "
           "tables of incompatible sizes");
    }
  }
  NamedAttrList attributes;
  attributes.append(nn::kInputAttr,
                    nn::InputAttr::get(&context,
                                       builder.getStringAttr(inputs[i].name),
                                       perSample, low, high, ignored));
  return attributes;
}

/// A graph output as a value; the loss as a scalar.
Value Importer::resultOf(const std::string &output) {
  Slot &slot = slotOf(output);
  Location location = slot.node != nullptr
                          ? locationOf(*slot.node)
                          : NameLoc::get(builder.getStringAttr(output));
  if (slot.isSequence) {
    fail("graph output '", output, "' is a sequence");
  }
  if (slot.host && slot.host->size() == 0) {
    fail("graph output '", output, "' has shape ",
         shapeText(slot.host->shape()),
         ", which is empty: export the model without it");
  }
  Value value = materialize(slot, location);
  if (output != loss || addedLoss) {
    return value;
  }
  if (Emitter::typeOf(value).getNumElements() != 1 ||
      !Emitter::isFloat(value)) {
    fail("the loss '", loss, "' has shape ", shapeText(Emitter::shapeOf(value)),
         "; it must be one float: reduce it, or choose another output "
         "with --loss-output");
  }
  return Emitter(builder, location).reshape(value, {});
}

size_t Importer::anchorInput() const {
  size_t anchor = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // A loss bounds the range of its labels, and the last bounded input is
    // taken for them.
    if (indexUses[i].whole || indexUses[i].parts) {
      anchor = i;
    }
  }
  return anchor;
}

SmallVector<Value> Importer::sampleInputs() const {
  std::vector<bool> samples =
      perSample(inputs, inputShapes, anchorInput(), report);
  SmallVector<Value> values;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (samples[i]) {
      values.push_back(body->getArgument(i));
    }
  }
  return values;
}

/// Warns where the file says so and is wrong.
bool Importer::hasSamplesInFront(const onnx::ValueInfoProto &output,
                                 Value value,
                                 const nn::SampleAnalysis &samples) {
  if (!leadsWithSamples(output, inputs)) {
    return false;
  }
  Shape shape = Emitter::shapeOf(value);
  nn::Samples place = samples.of(value);
  bool elsewhere = place.kind == nn::Samples::At && samples.count() > 1 &&
                   (place.dim != 0 || place.outer != 1);
  if (!shape.empty() && shape[0] == samples.count() && !elsewhere) {
    return true;
  }
  report.warnings.push_back(absl::StrCat(
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
SmallVector<Attribute> Importer::addResults() {
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
  for (const auto &output : graph.proto.output()) {
    results.push_back(resultOf(output.name()));
  }
  nn::SampleAnalysis samples(*body, sampleInputs());
  for (const auto &[output, value] :
       llvm::zip_equal(graph.proto.output(), results)) {
    NamedAttrList attributes;
    attributes.append(nn::kOutputAttr, builder.getStringAttr(output.name()));
    if (hasSamplesInFront(output, value, samples)) {
      attributes.append(nn::kPerSampleAttr, builder.getUnitAttr());
    }
    resultAttributes.push_back(attributes.getDictionary(&context));
  }
  if (addedLoss) {
    results.push_back(addedLoss);
    resultAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        nn::kOutputAttr, builder.getStringAttr(addedName))));
  }
  for (const Parameter &parameter : parameters) {
    const std::string &name = parameter.tensor->name();
    if (Value next = nextValues.lookup(slotOf(name).value)) {
      results.push_back(next);
      resultAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
          nn::kNextValueAttr, builder.getStringAttr(name))));
    }
  }
  builder.create<nn::ReturnOp>(UnknownLoc::get(&context), results);
  return resultAttributes;
}

/// Erases values that were emitted for constants and that nothing uses.
void Importer::eraseUnused() {
  SmallVector<Operation *> ops;
  for (Operation &op : body->without_terminator()) {
    ops.push_back(&op);
  }
  for (Operation *op : llvm::reverse(ops)) { // users first
    if (op->use_empty()) {
      op->erase();
    }
  }
}

void Importer::addInputAttributes(SmallVector<Attribute> &attributes) {
  size_t anchor = anchorInput();
  std::vector<bool> samples = perSample(inputs, inputShapes, anchor, report);
  if (options.micro_batch > 0 && report.batch_dim.empty()) {
    checkFixedBatch(inputs, inputShapes, anchor, options.micro_batch);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    attributes.push_back(attributesOf(i, samples[i]).getDictionary(&context));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (body->getArgument(i).use_empty()) {
      report.notes.push_back(absl::StrCat(
          "no value of input '", inputs[i].name, "' is used, at most its shape",
          inputs.size() > 1 ? ": were two inputs exported from one tensor? The "
                              "exporter wires both to one of them"
                            : ""));
    }
  }
}

nn::AdapterAttr Importer::adapterOf(const Parameter &parameter) {
  if (parameter.adapter == nullptr) {
    return {};
  }
  return nn::AdapterAttr::get(
      &context, builder.getStringAttr(parameter.adapter->pattern),
      parameter.adapter->rank, builder.getF64FloatAttr(options.lora_alpha),
      /*transposed=*/false); // nn-add-adapters finds out
}

Attribute Importer::attributeOf(const Parameter &parameter) {
  const std::string &name = parameter.tensor->name();
  nn::SourceAttr source;
  if (auto range = locate(file, *parameter.tensor)) {
    source = nn::SourceAttr::get(&context, builder.getStringAttr(range->file),
                                 range->offset, range->length);
  } else if (isReadable(file, *parameter.tensor)) {
    report.inline_weights.push_back(
        {name, littleEndianBytes(*parameter.tensor)});
  }
  int32_t type = parameter.tensor->data_type();
  return builder.getDictionaryAttr(builder.getNamedAttr(
      nn::kParameterAttr,
      nn::ParameterAttr::get(
          &context, builder.getStringAttr(name),
          builder.getStringAttr(parameter.module), parameter.trainable,
          parameter.init, source,
          computedType(type) == type ? Type() : elementTypeOf(&context, type),
          adapterOf(parameter))));
}

/// Erases parameters that no value uses; they follow the inputs.
void Importer::addParameterAttributes(SmallVector<Attribute> &attributes) {
  size_t argument = inputs.size();
  for (const Parameter &parameter : parameters) {
    const std::string &name = parameter.tensor->name();
    if (!body->getArgument(argument).use_empty()) {
      ++argument;
      attributes.push_back(attributeOf(parameter));
      report.parameters.push_back(
          {name, parameter.trainable, parameter.reason});
      continue;
    }
    if (parameter.trainable) {
      report.warnings.push_back(absl::StrCat(
          "parameter '", name, "' is used by no value of the program"));
    }
    body->eraseArgument(argument);
  }
}

void Importer::noteFiles(ArrayRef<Attribute> arguments) {
  for (std::string &note : externalNotes(file)) {
    report.notes.push_back(std::move(note));
  }
  std::set<std::string> files;
  std::vector<std::string> absent;
  for (Attribute argument : arguments) {
    auto parameter = cast<DictionaryAttr>(argument).getAs<nn::ParameterAttr>(
        nn::kParameterAttr);
    if (parameter && parameter.getSource()) {
      files.insert(parameter.getSource().getFile().str());
    } else if (parameter && !isReadable(file, *graph.initializers.at(
                                                  parameter.getName().str()))) {
      absent.push_back("'" + parameter.getName().str() + "'");
    }
  }
  for (const std::string &name : files) {
    if (access((file.folder + name).c_str(), F_OK) != 0) {
      report.notes.push_back(absl::StrCat(
          "the weights file '", name,
          "' is not beside the model: to train, put it there, or give "
          "--load-weights or --init-missing"));
    }
  }
  if (!absent.empty()) {
    report.notes.push_back(
        absl::StrCat("the model has no values of ", listOf(absent),
                     ": to train, give --load-weights or --init-missing"));
  }
  noteMadeConstants();
}

/// Notes constants without values: --init-missing makes initial weights, which
/// they are not.
void Importer::noteMadeConstants() {
  std::vector<std::string> constants;
  for (const Parameter &parameter : parameters) {
    if (parameter.reason == kUnreadableConstant) {
      constants.push_back("'" + parameter.tensor->name() + "'");
    }
  }
  if (!constants.empty()) {
    report.warnings.push_back(absl::StrCat(
        "no file has the values of ", listOf(constants),
        ", constants that are not trained: to train, give them by "
        "--load-weights; --init-missing would make others, with which the "
        "model computes something else"));
  }
}

void Importer::verifyModule() {
  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    absl::StrAppend(&diagnostics, "\n  ",
                    nn::describe(diagnostic.getLocation()), ": ",
                    diagnostic.str());
    return success();
  });
  if (failed(verify(*module))) {
    throw InternalError(absl::StrCat(
        "internal error: the imported program is not valid:", diagnostics));
  }
}

void Importer::finish() {
  SmallVector<Attribute> results = addResults(), arguments;
  eraseUnused();
  addInputAttributes(arguments);
  addParameterAttributes(arguments);
  noteFiles(arguments);
  auto function = cast<nn::ProgramOp>(body->getParentOp());
  function.setType(builder.getFunctionType(
      body->getArgumentTypes(), body->getTerminator()->getOperandTypes()));
  function.setArgAttrsAttr(builder.getArrayAttr(arguments));
  function.setResAttrsAttr(builder.getArrayAttr(results));
  verifyModule();
}

} // namespace zerograph::frontend
