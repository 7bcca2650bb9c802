//===- ProgramEnds.cpp - loss, results and arguments of the program -------===//

#include "frontend/walk/Importer.h"

#include "frontend/graph/Inputs.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <set>
#include <unistd.h>

using namespace mlir;

namespace zerograph::frontend {

std::string Importer::pickLoss() const {
  if (!options.require_loss && options.loss_output.empty()) {
    return "";
  }
  std::vector<std::string> names, scalars;
  for (const auto &output : graph.proto.output()) {
    names.push_back(output.name());
    for (const auto &entry : output.metadata_props()) {
      if (entry.key() == "pkg.torch.export.graph_signature.OutputSpec.kind" &&
          entry.value() == "LOSS_OUTPUT" && options.loss_output.empty()) {
        return output.name();
      }
    }
    if (!output.type().has_tensor_type()) {
      continue;
    }
    const auto &type = output.type().tensor_type();
    if (!isFloatType(type.elem_type())) {
      continue;
    }
    auto made = graph.producer.find(output.name());
    bool lossOp =
        made != graph.producer.end() &&
        absl::StrContains(graph.proto.node(made->second).op_type(), "Loss");
    int64_t count = type.has_shape() ? 1 : 2;
    for (const auto &dim : type.shape().dim()) {
      count *=
          dim.has_dim_value() ? std::clamp<int64_t>(dim.dim_value(), 0, 2) : 2;
    }
    if (count == 1 || lossOp) {
      scalars.push_back(output.name());
    }
  }
  std::string list = absl::StrJoin(names, ", ");
  if (!options.loss_output.empty()) {
    for (const std::string &name : names) {
      if (name == options.loss_output) {
        return name;
      }
    }
    fail("--loss-output ", options.loss_output,
         ": there is no output of that name; there are ", list);
  }
  for (const std::string &name : scalars) {
    if (name == "loss" || scalars.size() == 1) {
      return name;
    }
  }
  if (scalars.empty()) {
    fail("no output is a float scalar, so there is no loss to minimize; the "
         "outputs are ",
         list, ": export the model with its loss");
  }
  fail("several outputs could be the loss: ", absl::StrJoin(scalars, ", "),
       "; choose one with --loss-output NAME");
}

/// Whether the file says so, by the name of the output's first dim.
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
    // A part that is within the whole's range says nothing new.
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

void Importer::finish() {
  // The results.
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttributes;
  for (const auto &output : graph.proto.output()) {
    Slot &slot = slotOf(output.name());
    Location location =
        slot.node != nullptr
            ? locationOf(*slot.node)
            : NameLoc::get(builder.getStringAttr(output.name()));
    if (slot.isSequence) {
      fail("graph output '", output.name(), "' is a sequence");
    }
    Value value = materialize(slot, location);
    if (output.name() == loss) {
      if (Emitter::typeOf(value).getNumElements() != 1 ||
          !Emitter::isFloat(value)) {
        fail("the loss '", loss, "' has shape ",
             shapeText(Emitter::shapeOf(value)),
             "; it must be one float: reduce it, or choose another output "
             "with --loss-output");
      }
      value = Emitter(builder, location).reshape(value, {});
    }
    results.push_back(value);
    NamedAttrList attributes;
    attributes.append(nn::kOutputAttr, builder.getStringAttr(output.name()));
    if (leadsWithSamples(output, inputs)) {
      attributes.append(nn::kPerSampleAttr, builder.getUnitAttr());
    }
    resultAttributes.push_back(attributes.getDictionary(&context));
  }
  for (const Parameter &parameter : parameters) {
    const std::string &name = parameter.tensor->name();
    if (Value next = nextValues.lookup(slotOf(name).value)) {
      results.push_back(next);
      resultAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
          nn::kNextValueAttr, builder.getStringAttr(name))));
    }
  }
  builder.create<func::ReturnOp>(UnknownLoc::get(&context), results);

  // Values that constants were emitted for but nothing uses, newest first.
  SmallVector<Operation *> ops;
  for (Operation &op : body->without_terminator()) {
    ops.push_back(&op);
  }
  for (Operation *op : llvm::reverse(ops)) {
    if (op->use_empty()) {
      op->erase();
    }
  }

  // The arguments.
  SmallVector<Attribute> argumentAttributes;
  size_t anchor = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    // Labels are what a loss bounds from below 0 or to its classes; the last
    // bounded input is nearest to the loss.
    if (indexUses[i].whole || indexUses[i].parts) {
      anchor = i;
    }
  }
  std::vector<bool> samples = perSample(inputs, inputShapes, anchor, report);
  if (options.micro_batch > 0 && report.batch_dim.empty()) {
    checkFixedBatch(inputs, inputShapes, anchor, options.micro_batch);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    argumentAttributes.push_back(
        attributesOf(i, samples[i]).getDictionary(&context));
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
  size_t argument = inputs.size();
  std::set<std::string> files;
  for (const Parameter &parameter : parameters) {
    const std::string &name = parameter.tensor->name();
    if (body->getArgument(argument).use_empty()) {
      if (parameter.trainable) {
        report.warnings.push_back(absl::StrCat(
            "parameter '", name, "' is used by no value of the program"));
      }
      body->eraseArgument(argument);
      continue;
    }
    ++argument;
    nn::SourceAttr source;
    if (auto range = locate(file, *parameter.tensor)) {
      source = nn::SourceAttr::get(&context, builder.getStringAttr(range->file),
                                   range->offset, range->length);
      files.insert(range->file);
    } else {
      report.inline_weights.push_back(
          {name, littleEndianBytes(*parameter.tensor)});
    }
    argumentAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        nn::kParameterAttr,
        nn::ParameterAttr::get(&context, builder.getStringAttr(name),
                               builder.getStringAttr(parameter.module),
                               parameter.trainable, parameter.init, source))));
    report.parameters.push_back({name, parameter.trainable, parameter.reason});
  }

  for (std::string &note : externalNotes(file)) {
    report.notes.push_back(std::move(note));
  }
  for (const std::string &name : files) {
    if (access((file.folder + name).c_str(), F_OK) != 0) {
      report.notes.push_back(absl::StrCat(
          "the weights file '", name,
          "' is not beside the model: to train, put it there, or give "
          "--load-weights or --init-missing"));
    }
  }

  auto function = cast<func::FuncOp>(body->getParentOp());
  function.setType(builder.getFunctionType(body->getArgumentTypes(),
                                           ValueRange(results).getTypes()));
  function.setArgAttrsAttr(builder.getArrayAttr(argumentAttributes));
  function.setResAttrsAttr(builder.getArrayAttr(resultAttributes));

  std::string diagnostics;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    absl::StrAppend(&diagnostics, "\n  ", nn::nameOf(diagnostic.getLocation()),
                    ": ", diagnostic.str());
    return success();
  });
  if (failed(verify(*module))) {
    throw InternalError(absl::StrCat(
        "internal error: the imported program is not valid:", diagnostics));
  }
}

} // namespace zerograph::frontend
