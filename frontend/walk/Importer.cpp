//===- Importer.cpp - the forward walk over the nodes ---------------------===//

#include "frontend/walk/Importer.h"

#include "frontend/exporter/MaskedAssignment.h"
#include "frontend/exporter/Place.h"
#include "frontend/walk/CheckAssignment.h"

#include "absl/strings/match.h"
#include "onnx/defs/schema.h"
#include "passes/ir/nn/NNDialect.h"
#include "runtime/base/Text.h"

using namespace mlir;

namespace zerograph::frontend {

namespace {

/// Most nodes that one line of an error names.
constexpr size_t kMaxProblemNodes = 5;
/// Most nodes that the note on stable forms names.
constexpr size_t kMaxStableNodes = 6;

} // namespace

Importer::Importer(MLIRContext &context, const ModelFile &file,
                   const ImportOptions &options, ImportReport &report)
    : context(context), file(file), options(options), report(report),
      graph(file.graph()), builder(&context) {}

Location Importer::locationOf(const onnx::NodeProto &node) {
  nn::CodePlace place = placeOf(node);
  // A node of a body or a function was made where the outermost one was.
  return nn::locationOf(&context, nodeName(node),
                        place.known() ? place
                                      : placeOf(graph.proto.node(current)));
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
      slot.host = share(read(*initializer->second));
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
  try {
    def->emit(op);
  } catch (const EmptyTensor &) {
    if (!setEmpty(node)) {
      throw;
    }
  }
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

void Importer::note(const std::string &text) {
  if (!llvm::is_contained(report.notes, text)) {
    report.notes.push_back(text);
  }
}

double Importer::decideDropout(double ofFile) {
  double ratio = options.evaluation ? 0 : options.dropout.value_or(ofFile);
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

void Importer::noteStable(const onnx::NodeProto &node,
                          const std::string &form) {
  stableNodes.push_back(absl::StrCat("'", nodeName(node), "' (", form, ")"));
}

void Importer::forgetStable(const onnx::NodeProto &node) {
  std::string name = absl::StrCat("'", nodeName(node), "' (");
  if (!onlyReader(node.output(0)).empty()) {
    llvm::erase_if(stableNodes, [&](const std::string &noted) {
      return absl::StartsWith(noted, name);
    });
  }
}

void Importer::reportStable() {
  if (stableNodes.empty()) {
    return;
  }
  size_t count = stableNodes.size();
  note(absl::StrCat(
      count, count == 1 ? " node is" : " nodes are",
      " computed so that nothing overflows or vanishes, as PyTorch does but "
      "its exporters do not write: ",
      listOf(stableNodes, kMaxStableNodes)));
}

std::string Importer::describeNode(const onnx::NodeProto &node) {
  std::string place = nn::placeOf(locationOf(node));
  return absl::StrCat("node '", nodeName(node), "' (", node.op_type(), ")",
                      place.empty() ? "" : " in ", place);
}

void Importer::addProblem(const onnx::NodeProto &node,
                          const std::string &problem) {
  std::string text = absl::StrCat(problem, onGradientPath[current]
                                               ? " [on the gradient path]"
                                               : " [not on the gradient path]");
  ++problem_count;
  auto same = llvm::find_if(problems, [&](const Problem &other) {
    return other.type == node.op_type() && other.text == text;
  });
  if (same == problems.end()) {
    same = problems.insert(
        same, {node.op_type(), text, nn::placeOf(locationOf(node)), {}});
  }
  same->nodes.push_back(absl::StrCat("'", nodeName(node), "'"));
}

void Importer::addWarning(const onnx::NodeProto &node,
                          const std::string &text) {
  report.warnings.push_back(absl::StrCat(describeNode(node), ": ", text));
}

void Importer::tryNode(const onnx::NodeProto &node) {
  try {
    importNode(node);
    return;
  } catch (const TooLarge &error) {
    addProblem(node, error.what());
  } catch (const ImportError &error) {
    addProblem(node, error.what());
  }
  addPlaceholders(node);
}

void Importer::walk() {
  for (int n : graph.order) {
    current = n;
    emitDepth = expandDepth = 0;
    unrolledNodes = 0;
    tryNode(graph.proto.node(n));
  }
  if (problems.empty()) {
    return;
  }
  std::vector<std::string> lines;
  for (const Problem &problem : problems) {
    bool one = problem.nodes.size() == 1;
    const std::string &place = problem.place;
    lines.push_back(absl::StrCat(
        one ? "node " : "nodes ", listOf(problem.nodes, kMaxProblemNodes), " (",
        problem.type, ")",
        place.empty() ? ""
                      : absl::StrCat(one ? " in " : ", the first in ", place),
        ": ", problem.text));
  }
  fail(problem_count, problem_count == 1 ? " node" : " nodes",
       " cannot be imported:\n  ", linesOf(lines));
}

OwningOpRef<ModuleOp> Importer::run() {
  Location location = NameLoc::get(builder.getStringAttr(graph.proto.name()));
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());
  auto function = builder.create<nn::ProgramOp>(
      location, "forward", builder.getFunctionType({}, {}));
  body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);

  addInputs();
  loss = options.added_loss.empty() ? pickLoss() : pickScores();
  report.loss_output = loss;
  addParameters();
  walk();
  addLoss();
  reportDropouts();
  reportStable();
  finish();
  return std::move(module);
}

} // namespace zerograph::frontend
