//===- Constants.cpp - values that are known while importing --------------===//

#include "frontend/walk/Constants.h"

#include "frontend/emit/Synthesize.h"
#include "frontend/walk/Op.h"

#include "llvm/Support/SaveAndRestore.h"

#include <cstring>

using namespace mlir;

namespace zerograph::frontend {

namespace {

/// Large constants that depend on each other are emitted recursively; a longer
/// chain than this is not worth the stack.
constexpr int kMaxEmitDepth = 256;

} // namespace

int32_t Constants::computedType(int32_t type) const {
  return widensHalves && isHalfType(type) ? int32_t(onnx::TensorProto::FLOAT)
                                          : type;
}

HostTensor Constants::read(const onnx::TensorProto &tensor, bool inNode) const {
  HostTensor values = readTensor(tensor, inNode ? nullptr : &context.file);
  if (widensHalves) {
    values.widen();
  }
  return values;
}

std::shared_ptr<const HostTensor> Constants::share(HostTensor tensor) {
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

bool Constants::fold(const OpDef &def, Op &op) {
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
        context.nodes.slotOf(node.output(i)).host = known->second[i];
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
    results.push_back(op.wantsOutput(i)
                          ? context.nodes.slotOf(node.output(i)).host
                          : nullptr);
  }
  // A null is an output that nobody wants of this node, but of another maybe.
  if (!llvm::is_contained(results, nullptr)) {
    folded.emplace(key, results);
  }
  return true;
}

/// Emits the node that computed a constant; null if there is none.
Value Constants::emitNodeOf(const Slot &slot, Location location) {
  const OpDef *def = slot.node == nullptr
                         ? nullptr
                         : findOp(slot.node->op_type(), context.file.opset);
  if (def == nullptr) {
    return {};
  }
  llvm::SaveAndRestore deeper(emitDepth, emitDepth + 1);
  if (emitDepth > kMaxEmitDepth) {
    fail("a chain of more than ", kMaxEmitDepth,
         " nodes computes a large constant");
  }
  Op op(context, *slot.node, location);
  def->emit(op); // sets the value of the slot
  return slot.value;
}

Value Constants::materialize(Slot &slot, Location location) {
  if (slot.value) {
    return slot.value;
  }
  if (!slot.host) {
    fail("reads a value that is not there");
  }
  if (slot.host->size() == 0) {
    throw EmptyTensor(absl::StrCat("reads a constant of shape ",
                                   shapeText(slot.host->shape()),
                                   ", which is empty"));
  }
  if (slot.node != nullptr) {
    location = context.log.locationOf(*slot.node);
  }
  Value &known = emitted[slot.host.get()];
  if (known) {
    return slot.value = known;
  }
  Emitter emit(context.builder, location);
  slot.value = synthesize(emit, *slot.host);
  if (!slot.value) {
    // Too large for literal data.
    slot.value = emitNodeOf(slot, location);
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

} // namespace zerograph::frontend
