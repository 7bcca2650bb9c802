//===- Op.cpp - one ONNX node while it is imported ------------------------===//

#include "frontend/walk/Op.h"

#include "frontend/walk/Importer.h"

using onnx::AttributeProto;

namespace zerograph::frontend {

Op::Op(Importer &importer, const onnx::NodeProto &node, mlir::Location location)
    : emit(importer.builderAtEnd(), location), importer(importer), node(node) {}

int64_t Op::opset() const { return importer.opset(); }

Slot &Op::slot(int i) {
  if (!hasInput(i)) {
    fail("input ", i, " is missing");
  }
  return importer.slotOf(node.input(i));
}

mlir::Value Op::value(int i) {
  Slot &input = slot(i);
  if (input.isSequence) {
    fail("input ", i, " ('", node.input(i), "') is a sequence, not a tensor");
  }
  return importer.materialize(input, emit.location);
}

mlir::Value Op::newest(int i) { return importer.newest(value(i)); }

bool Op::keep(int i, mlir::Value next) {
  return !hasLoss() || importer.keep(value(i), next);
}

mlir::Value Op::materialize(Slot &slot) {
  return importer.materialize(slot, emit.location);
}

const HostTensor *Op::host(int i) { return slot(i).host.get(); }

const HostTensor &Op::constant(int i, const char *what) {
  const HostTensor *tensor = host(i);
  if (tensor == nullptr) {
    fail(what, " (input ", i, ", '", node.input(i),
         "') must be known while compiling, but depends on ",
         importer.describeOrigins(node.input(i)));
  }
  return *tensor;
}

std::vector<int64_t> Op::constantInts(int i, const char *what) {
  return constant(i, what).toInts();
}

std::vector<int64_t> Op::intsInput(int i, const char *name) {
  return hasInput(i) ? constantInts(i, name) : intsAttribute(name);
}

Shape Op::shape(int i) {
  const Slot &input = slot(i);
  if (input.host) {
    return input.host->shape();
  }
  if (!input.value) {
    fail("input ", i, " ('", node.input(i), "') is not a tensor");
  }
  return Emitter::shapeOf(input.value);
}

int32_t Op::type(int i) {
  const Slot &input = slot(i);
  if (input.host) {
    return input.host->type();
  }
  if (!input.value) {
    fail("input ", i, " ('", node.input(i), "') is not a tensor");
  }
  return onnxTypeOf(Emitter::elementOf(input.value));
}

bool Op::allConstant() {
  for (int i = 0; i < inputCount(); ++i) {
    if (hasInput(i) && !slot(i).host) {
      return false;
    }
  }
  return true;
}

void Op::set(int i, mlir::Value value) {
  if (wantsOutput(i)) {
    importer.slotOf(node.output(i)).value = value;
  }
}

void Op::set(int i, HostTensor value) {
  if (wantsOutput(i)) {
    importer.slotOf(node.output(i)).host = importer.share(std::move(value));
  }
}

void Op::setSequence(int i, std::vector<Slot> sequence) {
  if (wantsOutput(i)) {
    Slot &output = importer.slotOf(node.output(i));
    output.sequence = std::move(sequence);
    output.isSequence = true;
  }
}

void Op::forward(int i, int k) { forwardSlot(i, slot(k)); }

void Op::forwardSlot(int i, Slot &from) {
  if (!wantsOutput(i)) {
    return;
  }
  Slot &output = importer.slotOf(node.output(i));
  if (output.host && !from.value) {
    // The constant is known already: its value is wanted now.
    output.value = materialize(from);
    return;
  }
  output.host = from.host;
  output.value = from.value;
  output.sequence = from.sequence;
  output.isSequence = from.isSequence;
}

void Op::setSlot(int i, const Slot &from) {
  if (wantsOutput(i)) {
    importer.slotOf(node.output(i)) = from;
  }
}

NamedSlot Op::namedSlot(int i) { return {slot(i), node.input(i)}; }

std::vector<NamedSlot> Op::runBody(const char *name, const std::string &label,
                                   const std::vector<NamedSlot> &inputs) {
  const auto *body = attribute(name, AttributeProto::GRAPH);
  if (body == nullptr) {
    fail("attribute '", name, "' is missing");
  }
  return importer.runBody(body->g(), nodeName(node) + label, inputs);
}

std::string Op::describeOrigins(const std::string &name) const {
  return importer.describeOrigins(name);
}

size_t Op::problemCount() const { return importer.problemCount(); }

double Op::decideDropout(double ofFile) {
  return importer.decideDropout(ofFile);
}

bool Op::setsDropout() const {
  return importer.importOptions().dropout.has_value();
}

Slot &Op::slotOf(const std::string &name) { return importer.slotOf(name); }

int64_t Op::nextRandomNumber() { return importer.nextRandomNumber(); }

void Op::warn(const std::string &text) { importer.addWarning(node, text); }

std::string Op::onlyReader(int i) const {
  return wantsOutput(i) ? importer.onlyReader(node.output(i)) : "";
}

bool Op::isTrained(int i) const {
  return hasInput(i) && importer.isTrained(node.input(i));
}

bool Op::hasLoss() const { return importer.importOptions().require_loss; }

bool Op::evaluates() const { return importer.importOptions().evaluation; }

bool Op::isOfTorchScript() const { return importer.isOfTorchScript(); }

bool Op::passesAtBounds() const { return importer.passesAtBounds(node); }

bool Op::choosesFirst(const std::vector<int64_t> &axes) {
  return importer.choosesFirst(node, axes, shape(0).size());
}

bool Op::allowsExporterDamage() const {
  return importer.importOptions().allow_exporter_damage;
}

void Op::noteStable(const std::string &form) {
  importer.noteStable(node, form);
}

void Op::forgetStable(const onnx::NodeProto &other) {
  importer.forgetStable(other);
}

void Op::note(const std::string &text) { importer.note(text); }

void Op::complain(const std::string &problem) {
  importer.addProblem(node, problem);
}

bool Op::boundInput(mlir::Value indices, int64_t low, int64_t high,
                    std::optional<int64_t> ignored) {
  IndexRange range{low, high, {}};
  if (ignored) {
    range.ignored.insert(*ignored);
  }
  return importer.boundInput(indices, range);
}

} // namespace zerograph::frontend
