//===- Op.cpp - one ONNX node while it is imported ------------------------===//

#include "frontend/walk/Op.h"

using onnx::AttributeProto;

namespace zerograph::frontend {

Slot &Op::slot(int i) {
  if (!hasInput(i)) {
    fail("input ", i, " is missing");
  }
  return context.nodes.slotOf(node.input(i));
}

mlir::Value Op::value(int i) {
  Slot &input = slot(i);
  if (input.isSequence) {
    fail("input ", i, " ('", node.input(i), "') is a sequence, not a tensor");
  }
  return materialize(input);
}

mlir::Value Op::newest(int i) { return context.arguments.newest(value(i)); }

bool Op::keep(int i, mlir::Value next) {
  return !context.options.require_loss ||
         context.arguments.keep(value(i), next);
}

mlir::Value Op::materialize(Slot &slot) {
  return context.constants.materialize(slot, emit.location);
}

const HostTensor *Op::host(int i) { return slot(i).host.get(); }

const HostTensor &Op::constant(int i, const char *what) {
  const HostTensor *tensor = host(i);
  if (tensor == nullptr) {
    fail(what, " (input ", i, ", '", node.input(i),
         "') must be known while compiling, but depends on ",
         context.nodes.describeOrigins(node.input(i)));
  }
  return *tensor;
}

int64_t Op::constantInt(int i, const char *what) {
  const HostTensor &tensor = constant(i, what);
  if (tensor.size() != 1) {
    fail(what, " must be one number");
  }
  return tensor.intAt(0);
}

std::vector<int64_t> Op::constantInts(int i, const char *what) {
  return constant(i, what).toInts();
}

std::vector<int64_t> Op::intsInput(int i, const char *name) {
  return hasInput(i) ? constantInts(i, name) : intsAttribute(name);
}

const Slot &Op::tensor(int i) {
  const Slot &input = slot(i);
  if (!input.host && !input.value) {
    fail("input ", i, " ('", node.input(i), "') is not a tensor");
  }
  return input;
}

Shape Op::shape(int i) {
  const Slot &input = tensor(i);
  return input.host ? input.host->shape() : Emitter::shapeOf(input.value);
}

int32_t Op::type(int i) {
  const Slot &input = tensor(i);
  return input.host ? input.host->type()
                    : onnxTypeOf(Emitter::elementOf(input.value));
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
    context.nodes.slotOf(node.output(i)).value = value;
  }
}

void Op::set(int i, HostTensor value) {
  if (wantsOutput(i)) {
    context.nodes.slotOf(node.output(i)).host =
        context.constants.share(std::move(value));
  }
}

void Op::setSequence(int i, std::vector<Slot> sequence) {
  if (wantsOutput(i)) {
    Slot &output = context.nodes.slotOf(node.output(i));
    output.sequence = std::move(sequence);
    output.isSequence = true;
  }
}

void Op::forward(int i, int k) { forwardSlot(i, slot(k)); }

void Op::forwardSlot(int i, Slot &from) {
  if (!wantsOutput(i)) {
    return;
  }
  Slot &output = context.nodes.slotOf(node.output(i));
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
    context.nodes.slotOf(node.output(i)) = from;
  }
}

NamedSlot Op::namedSlot(int i) { return {slot(i), node.input(i)}; }

std::vector<NamedSlot> Op::runBody(const char *name, const std::string &label,
                                   const std::vector<NamedSlot> &inputs) {
  const auto *body = attribute(name, AttributeProto::GRAPH);
  if (body == nullptr) {
    fail("attribute '", name, "' is missing");
  }
  return context.functions.run(body->g(), nodeName(node) + label, inputs);
}

void Op::refuseOrWarn(const Finding &finding) {
  if (!context.options.allow_exporter_damage) {
    fail(finding.what, finding.remedy);
  }
  context.log.warn(node, finding.what);
}

bool Op::isTrained(int i) const {
  return hasInput(i) && context.arguments.isTrained(node.input(i));
}

bool Op::boundInput(mlir::Value indices, int64_t low, int64_t high,
                    std::optional<int64_t> ignored) {
  IndexRange range{low, high, {}};
  if (ignored) {
    range.ignored.insert(*ignored);
  }
  return context.arguments.bound(indices, range);
}

bool Op::hasAttribute(const char *name) const {
  return findAttribute(node, name) != nullptr;
}

const AttributeProto *Op::attribute(const char *name,
                                    AttributeProto::AttributeType type) const {
  const AttributeProto *found = findAttribute(node, name);
  if (found != nullptr && found->type() != type) {
    fail("attribute '", name, "' has the wrong type");
  }
  return found;
}

int64_t Op::intAttribute(const char *name, int64_t otherwise) const {
  const auto *found = attribute(name, AttributeProto::INT);
  return found != nullptr ? found->i() : otherwise;
}

int32_t Op::typeAttribute(const char *name, int32_t otherwise) const {
  return context.constants.computedType(
      static_cast<int32_t>(intAttribute(name, otherwise)));
}

float Op::floatAttribute(const char *name, float otherwise) const {
  const auto *found = attribute(name, AttributeProto::FLOAT);
  return found != nullptr ? found->f() : otherwise;
}

std::string Op::stringAttribute(const char *name,
                                const std::string &otherwise) const {
  const auto *found = attribute(name, AttributeProto::STRING);
  return found != nullptr ? found->s() : otherwise;
}

const AttributeProto &Op::list(const char *name,
                               AttributeProto::AttributeType type) const {
  const AttributeProto *found = attribute(name, type);
  return found != nullptr ? *found : AttributeProto::default_instance();
}

std::vector<int64_t> Op::intsAttribute(const char *name) const {
  const auto &values = list(name, AttributeProto::INTS).ints();
  return {values.begin(), values.end()};
}

std::vector<float> Op::floatsAttribute(const char *name) const {
  const auto &values = list(name, AttributeProto::FLOATS).floats();
  return {values.begin(), values.end()};
}

std::vector<std::string> Op::stringsAttribute(const char *name) const {
  const auto &values = list(name, AttributeProto::STRINGS).strings();
  return {values.begin(), values.end()};
}

std::optional<HostTensor> Op::tensorAttribute(const char *name) const {
  const auto *found = attribute(name, AttributeProto::TENSOR);
  return found != nullptr ? std::optional(context.constants.read(
                                found->t(), /*inNode=*/true))
                          : std::nullopt;
}

} // namespace zerograph::frontend
