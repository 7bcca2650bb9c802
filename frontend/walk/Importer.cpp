//===- Importer.cpp - the forward walk over the nodes ---------------------===//

#include "frontend/walk/Importer.h"

#include "frontend/exporter/MaskedAssignment.h"
#include "frontend/graph/GradientPath.h"
#include "frontend/graph/InputValues.h"
#include "frontend/graph/Inputs.h"
#include "frontend/walk/CheckAssignment.h"

#include "absl/strings/str_join.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "onnx/defs/schema.h"

using namespace mlir;

namespace zerograph::frontend {

namespace {

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
  // From the names inside of bodies to those of the graph.
  std::set<std::string> seen = {name}, origins;
  std::vector<std::string> work = {name};
  auto reach = [&](const std::string &next) {
    if (!next.empty() && seen.insert(next).second) {
      work.push_back(next);
    }
  };
  while (!work.empty()) {
    std::string value = std::move(work.back());
    work.pop_back();
    auto alias = bodyAliases.find(value);
    auto inner = bodyProducer.find(value);
    if (alias != bodyAliases.end()) {
      reach(alias->second);
    } else if (inner != bodyProducer.end()) {
      const std::string &type = inner->second->op_type();
      if (type != "Shape" && type != "Size") {
        for (const std::string &input : inner->second->input()) {
          reach(input);
        }
      }
    } else if (value[0] != '\1') {
      origins.merge(graph.originsOf(value));
    }
  }
  std::vector<std::string> parts;
  for (const std::string &origin : origins) {
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
  for (const onnx::ValueInfoProto *input : fed) {
    inputs.push_back(signatureOf(*input));
  }
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
  parameters = decideParameters(file, graph, loss, options, report);
  std::set<std::string> trained;
  for (const Parameter &parameter : parameters) {
    const onnx::TensorProto &tensor = *parameter.tensor;
    Shape shape(tensor.dims().begin(), tensor.dims().end());
    if (elementCount(shape) == 0) {
      fail("initializer '", tensor.name(), "' of shape ", shapeText(shape),
           " is empty");
    }
    if (parameter.trainable && tensor.data_type() != onnx::TensorProto::FLOAT &&
        tensor.data_type() != onnx::TensorProto::DOUBLE) {
      fail("parameter '", tensor.name(), "' is of type ",
           typeName(tensor.data_type()),
           "; training is in float32 or float64: export the model in float32");
    }
    auto type = RankedTensorType::get(
        shape, elementTypeOf(&context, tensor.data_type()));
    slots[tensor.name()].value = body->addArgument(
        type, NameLoc::get(builder.getStringAttr(tensor.name())));
    if (parameter.trainable) {
      trained.insert(tensor.name());
    }
  }
  GradientPath gradient(graph, file.opset);
  onGradientPath = gradient.nodesReachedFrom(trained);
  if (!loss.empty()) {
    std::vector<bool> reaching = gradient.nodesReaching(loss);
    for (size_t n = 0; n < reaching.size(); ++n) {
      onGradientPath[n] = onGradientPath[n] && reaching[n];
    }
    if (trained.empty()) {
      fail(options.train.empty() && options.freeze.empty()
               ? absl::StrCat(
                     "nothing to train: no initializer that the loss '", loss,
                     "' depends on is a trainable parameter; was "
                     "the model exported without its parameters "
                     "(export_params=False)?")
               : absl::StrCat("nothing to train: --train and --freeze leave "
                              "none of the ",
                              parameters.size(), " parameters"));
    }
  }
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
  Op op(*this, node, locationOf(node));
  checkTypes(op);
  if (isOfMaskedAssignment(node)) {
    checkMaskedAssignment(op);
  }
  const OpDef *def = findOp(node.op_type(), file.opset);
  if (def == nullptr) {
    expandFunction(node);
    return;
  }
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
    if (!slot.value && !slot.host && !slot.isSequence && !slot.failed &&
        graph.users.count(output) != 0) {
      fail("output ", i, " ('", output, "') is not supported");
    }
  }
}

std::string Importer::onlyReader(const std::string &name) const {
  auto readers = graph.users.find(name);
  return readers != graph.users.end() && readers->second.size() == 1
             ? graph.proto.node(readers->second.front()).op_type()
             : "";
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

void Importer::note(const std::string &text) {
  if (!llvm::is_contained(report.notes, text)) {
    report.notes.push_back(text);
  }
}

double Importer::decideDropout(double ofFile) {
  double ratio = options.dropout.value_or(ofFile);
  ++dropouts[ratio];
  return ratio;
}

void Importer::reportDropouts() {
  for (auto [ratio, count] : dropouts) {
    if (ratio != 0) {
      note(absl::StrCat(count, count == 1 ? " dropout" : " dropouts",
                        " with ratio ", ratio));
    } else if (options.dropout) {
      note(absl::StrCat(count, count == 1 ? " dropout is" : " dropouts are",
                        " turned off by --dropout 0"));
    } else if (!loss.empty()) {
      note(absl::StrCat(count, count == 1 ? " dropout is" : " dropouts are",
                        " off in the file, as exporters leave those of an "
                        "attention; --dropout RATIO turns all on"));
    }
  }
  if (options.dropout && dropouts.empty()) {
    report.warnings.push_back(
        "--dropout has no effect: the model has no Dropout node");
  }
}

void Importer::addProblem(const onnx::NodeProto &node,
                          const std::string &problem) {
  problems.push_back(absl::StrCat(
      "node '", nodeName(node), "' (", node.op_type(), "): ", problem,
      onGradientPath[current] ? " [on the gradient path]"
                              : " [not on the gradient path]"));
}

void Importer::addWarning(const onnx::NodeProto &node,
                          const std::string &text) {
  report.warnings.push_back(absl::StrCat("node '", nodeName(node), "' (",
                                         node.op_type(), "): ", text));
}

void Importer::walk() {
  for (int n : graph.order) {
    const onnx::NodeProto &node = graph.proto.node(n);
    current = n;
    emitDepth = expandDepth = 0;
    unrolledNodes = 0;
    try {
      importNode(node);
      continue;
    } catch (const TooLarge &error) {
      addProblem(node, error.what());
    } catch (const ImportError &error) {
      addProblem(node, error.what());
    }
    addPlaceholders(node);
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
  reportDropouts();
  finish();
  return std::move(module);
}

} // namespace zerograph::frontend
