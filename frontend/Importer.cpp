//===- Importer.cpp - the forward walk over the nodes ---------------------===//

#include "frontend/Importer.h"

#include "frontend/Inputs.h"
#include "frontend/Synthesize.h"

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "onnx/defs/schema.h"

#include <cstring>

using namespace mlir;

namespace zerograph::frontend {

namespace {

/// Constants that depend on each other are re-emitted recursively; a longer
/// chain than this is not worth the stack.
constexpr int kMaxEmitDepth = 256;

/// Most lines of one error.
constexpr size_t kMaxProblems = 100;

} // namespace

Importer::Importer(MLIRContext &context, const ModelFile &file,
                   const ImportOptions &options, ImportReport &report)
    : context(context), file(file), options(options), report(report),
      graph(file.graph()), builder(&context) {}

Location Importer::locationOf(const onnx::NodeProto &node) {
  return NameLoc::get(builder.getStringAttr(nodeName(node)));
}

std::string Importer::describeOrigins(const std::string &name) const {
  std::vector<std::string> parts;
  for (const std::string &origin : graph.originsOf(name)) {
    bool initializer = graph.initializers.count(origin) != 0;
    auto slot = slots.find(origin);
    if (!initializer || slot == slots.end() || !slot->second.host) {
      parts.push_back(
          absl::StrCat(initializer ? "initializer '" : "input '", origin, "'"));
    }
  }
  return parts.empty() ? "a constant too large to fold"
                       : absl::StrJoin(parts, ", ");
}

Slot &Importer::slotOf(const std::string &name) {
  auto [entry, inserted] = slots.try_emplace(name);
  Slot &slot = entry->second;
  if (!inserted) {
    return slot;
  }
  auto initializer = graph.initializers.find(name);
  if (initializer != graph.initializers.end()) {
    // Not a parameter, since those have their slots already: a constant.
    try {
      slot.host = share(readTensor(*initializer->second, &file));
    } catch (...) {
      slots.erase(name);
      throw;
    }
  } else if (auto found = graph.producer.find(name);
             found != graph.producer.end()) {
    slot.node = &graph.proto.node(found->second);
  } else if (auto inner = bodyProducer.find(name);
             inner != bodyProducer.end()) {
    slot.node = inner->second;
  }
  return slot;
}

std::shared_ptr<const HostTensor> Importer::share(HostTensor tensor) {
  constexpr int64_t kSmall = 64;
  tensor.compress();
  int64_t stored = tensor.isSplat() ? 1 : tensor.size();
  auto created = std::make_shared<const HostTensor>(std::move(tensor));
  if (stored > kSmall) {
    return created;
  }
  std::string key =
      absl::StrCat(created->type(), ":", shapeText(created->shape()), ":",
                   created->isSplat(), ":");
  for (int64_t i = 0; i < stored; ++i) {
    int64_t bits = created->intAt(i);
    if (created->isFloat()) {
      double value = created->floatAt(i);
      std::memcpy(&bits, &value, sizeof(bits));
    }
    absl::StrAppend(&key, absl::Hex(bits), ",");
  }
  return shared.emplace(key, created).first->second;
}

Value Importer::materialize(Slot &slot, Location location) {
  if (slot.value) {
    return slot.value;
  }
  if (!slot.host) {
    fail("reads a value that is not there");
  }
  if (slot.host->size() == 0) {
    fail("reads a constant of shape ", shapeText(slot.host->shape()),
         ", which is empty");
  }
  if (slot.node != nullptr) {
    location = locationOf(*slot.node);
  }
  Value &known = emitted[slot.host.get()];
  if (known) {
    return slot.value = known;
  }
  Emitter emit(builder, location);
  slot.value = synthesize(emit, *slot.host);
  const OpDef *def =
      slot.node == nullptr ? nullptr : findOp(slot.node->op_type(), file.opset);
  if (!slot.value && def != nullptr) {
    // Too large for literal data: emit the node that computes it.
    if (++emitDepth > kMaxEmitDepth) {
      fail("a chain of more than ", kMaxEmitDepth,
           " nodes computes a large constant");
    }
    Op op(*this, *slot.node, location);
    def->emit(op);
    --emitDepth;
  }
  if (!slot.value) {
    fail("a constant of shape ", shapeText(slot.host->shape()), " holds ",
         slot.host->size() * typeBytes(slot.host->type()),
         " bytes, above the limit of ", nn::kMaxConstantBytes,
         ", and has no pattern: make it an initializer");
  }
  emitted[slot.host.get()] = slot.value;
  return slot.value;
}

void Importer::boundInput(Value indices, int64_t low, int64_t high) {
  while (Operation *op = indices.getDefiningOp()) {
    if (!isa<nn::ReshapeOp, nn::ConvertOp, nn::SliceOp, nn::TransposeOp,
             nn::BroadcastOp, nn::PadOp>(op)) {
      return;
    }
    indices = op->getOperand(0);
  }
  size_t index = cast<BlockArgument>(indices).getArgNumber();
  if (index < ranges.size() && !Emitter::isFloat(indices)) {
    ranges[index].low = std::max(ranges[index].low, low);
    ranges[index].high = std::min(ranges[index].high, high);
  }
}

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

void Importer::addInputs() {
  for (const onnx::ValueInfoProto *input : fedInputs(graph)) {
    inputs.push_back(signatureOf(*input));
  }
  inputShapes = bindDims(inputs, options.dims, report);
  ranges.resize(inputs.size());
  size_t i = 0;
  for (const onnx::ValueInfoProto *input : fedInputs(graph)) {
    auto type = RankedTensorType::get(
        inputShapes[i++],
        elementTypeOf(&context, input->type().tensor_type().elem_type()));
    slots[input->name()].value = body->addArgument(
        type, NameLoc::get(builder.getStringAttr(input->name())));
  }
}

void Importer::addParameters() {
  parameters = decideParameters(file, graph, loss, options, report);
  std::set<std::string> trained;
  for (const Parameter &parameter : parameters) {
    const onnx::TensorProto &tensor = *parameter.tensor;
    Shape shape(tensor.dims().begin(), tensor.dims().end());
    if (elementCount(shape) == 0) {
      fail("initializer '", tensor.name(), "' of shape ", shapeText(shape),
           " is empty");
    }
    auto type = RankedTensorType::get(
        shape, elementTypeOf(&context, tensor.data_type()));
    slots[tensor.name()].value = body->addArgument(
        type, NameLoc::get(builder.getStringAttr(tensor.name())));
    if (parameter.trainable) {
      trained.insert(tensor.name());
    }
  }
  onGradientPath = graph.nodesReachedFrom(trained);
  if (!loss.empty()) {
    std::vector<bool> reaching = graph.nodesReaching(loss);
    for (size_t n = 0; n < reaching.size(); ++n) {
      onGradientPath[n] = onGradientPath[n] && reaching[n];
    }
    if (trained.empty()) {
      fail("nothing to train: no initializer that the loss '", loss,
           "' depends on is a trainable parameter");
    }
  }
}

void Importer::checkNode(const onnx::NodeProto &node) const {
  const onnx::OpSchema *schema = onnx::OpSchemaRegistry::Schema(
      node.op_type(), static_cast<int>(file.opset));
  if (schema == nullptr) {
    fail("there is no such operator in ai.onnx ", file.opset);
  }
  if (schema->Deprecated()) {
    fail("the operator is deprecated in ai.onnx ", file.opset);
  }
  try {
    schema->Verify(node);
  } catch (const std::exception &error) {
    fail("the node is malformed: ", error.what());
  }
  if (findOp(node.op_type(), file.opset) == nullptr && !schema->HasFunction() &&
      !schema->HasContextDependentFunction()) {
    fail("the operator is not supported");
  }
}

bool Importer::foldNode(const OpDef &def, Op &op) {
  const onnx::NodeProto &node = op.proto();
  std::string key = absl::StrCat(node.op_type(), "/", node.output_size());
  for (int i = 0; i < node.input_size(); ++i) {
    absl::StrAppend(&key, "/",
                    absl::Hex(reinterpret_cast<uintptr_t>(
                        op.hasInput(i) ? op.host(i) : nullptr)));
  }
  for (const auto &attribute : node.attribute()) {
    absl::StrAppend(&key, "/", attribute.SerializeAsString());
  }
  auto known = folded.find(key);
  if (known != folded.end()) {
    for (int i = 0; i < node.output_size(); ++i) {
      if (op.wantsOutput(i)) {
        slotOf(node.output(i)).host = known->second[i];
      }
    }
    return true;
  }
  try {
    def.fold(op);
  } catch (const TooLarge &) {
    return false; // becomes part of the program
  }
  std::vector<std::shared_ptr<const HostTensor>> results;
  for (int i = 0; i < node.output_size(); ++i) {
    results.push_back(op.wantsOutput(i) ? slotOf(node.output(i)).host
                                        : nullptr);
  }
  // A null among the results would say that the output was not wanted then.
  if (!llvm::is_contained(results, nullptr)) {
    folded.emplace(key, results);
  }
  return true;
}

void Importer::importNode(const onnx::NodeProto &node) {
  checkNode(node);
  for (const std::string &input : node.input()) {
    if (!input.empty() && slotOf(input).failed) {
      for (const std::string &output : node.output()) {
        slotOf(output).failed = true;
      }
      return;
    }
  }
  const OpDef *def = findOp(node.op_type(), file.opset);
  if (def == nullptr) {
    expandFunction(node);
    return;
  }
  Op op(*this, node, locationOf(node));
  if (def->fold != nullptr && op.allConstant() && foldNode(*def, op)) {
    return;
  }
  def->emit(op);
  for (int i = 0; i < node.output_size(); ++i) {
    const std::string &output = node.output(i);
    if (output.empty()) {
      continue;
    }
    Slot &slot = slotOf(output);
    if (!slot.value && !slot.host && !slot.isSequence &&
        graph.users.count(output) != 0) {
      fail("output ", i, " ('", output, "') is not supported");
    }
  }
}

void Importer::addProblem(const onnx::NodeProto &node,
                          const std::string &problem) {
  problems.push_back(absl::StrCat(
      "node '", nodeName(node), "' (", node.op_type(), "): ", problem,
      onGradientPath[current] ? " [on the gradient path]"
                              : " [not on the gradient path]"));
}

void Importer::walk() {
  for (int n : graph.order) {
    const onnx::NodeProto &node = graph.proto.node(n);
    current = n;
    emitDepth = expandDepth = 0;
    try {
      importNode(node);
      continue;
    } catch (const TooLarge &error) {
      addProblem(node, error.what());
    } catch (const ImportError &error) {
      addProblem(node, error.what());
    }
    for (const std::string &output : node.output()) {
      if (!output.empty()) {
        slotOf(output) = Slot();
        slotOf(output).failed = true;
      }
    }
  }
  if (problems.empty()) {
    return;
  }
  size_t count = problems.size();
  if (count > kMaxProblems) {
    problems.resize(kMaxProblems);
    problems.push_back("...");
  }
  fail(count, count == 1 ? " node" : " nodes", " cannot be imported:\n  ",
       absl::StrJoin(problems, "\n  "));
}

NamedAttrList Importer::attributesOf(size_t i, bool perSample) {
  int64_t low = 0, high = 0;
  if (ranges[i].low != INT64_MIN) {
    low = ranges[i].low;
    high = ranges[i].high;
    if (low > high) {
      fail("input '", inputs[i].name,
           "' can have no legal value: it indexes "
           "tables of incompatible sizes");
    }
  }
  NamedAttrList attributes;
  attributes.append(nn::kInputAttr,
                    nn::InputAttr::get(&context,
                                       builder.getStringAttr(inputs[i].name),
                                       perSample, low, high));
  return attributes;
}

OwningOpRef<ModuleOp> Importer::run() {
  Location location = NameLoc::get(builder.getStringAttr(graph.proto.name()));
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<func::FuncOp>(location, "forward",
                                               builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);

  addInputs();
  loss = pickLoss();
  report.loss_output = loss;
  addParameters();
  walk();
  finish();
  return std::move(module);
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
    resultAttributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        nn::kOutputAttr, builder.getStringAttr(output.name()))));
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
    if (ranges[i].low != INT64_MIN) {
      anchor = i;
    }
  }
  std::vector<bool> samples = perSample(inputs, inputShapes, anchor, report);
  for (size_t i = 0; i < inputs.size(); ++i) {
    argumentAttributes.push_back(
        attributesOf(i, samples[i]).getDictionary(&context));
  }
  size_t argument = inputs.size();
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
    fail("internal error: the imported program is not valid:", diagnostics);
  }
}

} // namespace zerograph::frontend
