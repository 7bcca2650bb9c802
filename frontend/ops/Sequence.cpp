//===- Sequence.cpp - sequences, element by element -----------------------===//

#include "frontend/ops/Ops.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

std::vector<Slot> &sequenceOf(Op &op, int i) {
  Slot &slot = op.slot(i);
  if (!slot.isSequence) {
    fail("input ", i, " is not a sequence");
  }
  return slot.sequence;
}

/// The sizes of the parts that an axis of `size` elements is split into.
std::vector<int64_t> partSizes(Op &op, int64_t size) {
  if (!op.hasInput(1)) {
    return std::vector<int64_t>(size, 1);
  }
  if (!op.shape(1).empty()) {
    return op.constantInts(1, "split");
  }
  int64_t each = op.constant(1, "split").intAt(0);
  if (each < 1) {
    fail("a part has size ", each);
  }
  std::vector<int64_t> sizes;
  for (int64_t at = 0; at < size; at += each) {
    sizes.push_back(std::min(each, size - at));
  }
  return sizes;
}

/// Elements [start, start + count) along the axis. The last of PyTorch's chunks
/// may have none.
Slot partOf(Op &op, int64_t axis, int64_t start, int64_t count, bool keep) {
  Value x = op.value(0);
  Shape shape = Emitter::shapeOf(x);
  Slot slot;
  if (count == 0) {
    shape[axis] = 0;
    slot.host = std::make_shared<HostTensor>(op.type(0), shape);
    return slot;
  }
  slot.value = op.emit.sliceAxis(x, axis, start, count);
  if (!keep) {
    shape.erase(shape.begin() + axis);
    slot.value = op.emit.reshape(slot.value, shape);
  }
  return slot;
}

void emitSplitToSequence(Op &op) {
  Shape shape = op.shape(0);
  int64_t axis = normalizeAxis(op.intAttribute("axis", 0), shape.size());
  int64_t size = shape[axis];
  bool keep = op.hasInput(1) || op.intAttribute("keepdims", 1) != 0;
  std::vector<Slot> parts;
  int64_t start = 0;
  for (int64_t part : partSizes(op, size)) {
    if (part < 0 || part > size - start) {
      fail("the parts do not add up to the ", size, " elements along the axis");
    }
    parts.push_back(partOf(op, axis, start, part, keep));
    start += part;
  }
  if (start != size) {
    fail("the parts do not add up to the ", size, " elements along the axis");
  }
  op.setSequence(0, parts);
}

void emitSequenceConstruct(Op &op) {
  std::vector<Slot> parts;
  for (int i = 0; i < op.inputCount(); ++i) {
    parts.push_back(op.slot(i));
  }
  op.setSequence(0, parts);
}

/// A position among `count` elements, given by input i; `otherwise` if there is
/// no such input.
int64_t positionOf(Op &op, int i, int64_t count, int64_t otherwise) {
  if (!op.hasInput(i)) {
    return otherwise;
  }
  int64_t position = op.constant(i, "position").intAt(0);
  if (position < -count || position >= count) {
    fail("position ", position, " is outside of ", count, " elements");
  }
  return position < 0 ? position + count : position;
}

void emitSequenceEmpty(Op &op) { op.setSequence(0, {}); }

void emitSequenceAt(Op &op) {
  std::vector<Slot> &parts = sequenceOf(op, 0);
  op.forwardSlot(0, parts[positionOf(op, 1, parts.size(), 0)]);
}

void emitSequenceInsert(Op &op) {
  std::vector<Slot> parts = sequenceOf(op, 0);
  // In front of the element at the position, or after the last one.
  int64_t count = parts.size(), position = count;
  if (op.hasInput(2)) {
    position = op.constant(2, "position").intAt(0);
    if (position < -count || position > count) {
      fail("position ", position, " is outside of ", count, " elements");
    }
    position += position < 0 ? count : 0;
  }
  parts.insert(parts.begin() + position, op.slot(1));
  op.setSequence(0, parts);
}

void emitSequenceErase(Op &op) {
  std::vector<Slot> parts = sequenceOf(op, 0);
  if (parts.empty()) {
    fail("the sequence is empty");
  }
  parts.erase(parts.begin() +
              positionOf(op, 1, parts.size(), parts.size() - 1));
  op.setSequence(0, parts);
}

void emitSequenceLength(Op &op) {
  op.set(0, HostTensor::scalar(sequenceOf(op, 0).size()));
}

void emitConcatFromSequence(Op &op) {
  bool fresh = op.intAttribute("new_axis", 0) != 0;
  std::vector<Value> parts;
  int64_t axis = 0;
  for (Slot &slot : sequenceOf(op, 0)) {
    if (!fresh && slot.host && slot.host->size() == 0) {
      continue;
    }
    Value part = op.materialize(slot);
    Shape shape = Emitter::shapeOf(part);
    axis = normalizeAxis(op.intAttribute("axis", 0), shape.size() + fresh);
    if (fresh) {
      shape.insert(shape.begin() + axis, 1);
    }
    parts.push_back(op.emit.reshape(part, shape));
  }
  if (parts.empty()) {
    fail("the sequence is empty");
  }
  op.set(0, op.emit.concat(parts, axis));
}

/// An optional is what it holds.
void emitOptional(Op &op) {
  if (!op.hasInput(0)) {
    fail("an optional that holds nothing is not supported");
  }
  op.forward(0, 0);
}

void emitOptionalHasElement(Op &op) {
  op.set(0, HostTensor::splat(onnx::TensorProto::BOOL, {}, op.hasInput(0)));
}

const OpDef kOps[] = {
    {"ConcatFromSequence", 11, emitConcatFromSequence},
    {"Optional", 15, emitOptional},
    {"OptionalGetElement", 15, emitOptional},
    {"OptionalHasElement", 15, emitOptionalHasElement},
    {"SequenceAt", 11, emitSequenceAt, nullptr, gradientTo<0>},
    {"SequenceConstruct", 11, emitSequenceConstruct},
    {"SequenceEmpty", 11, emitSequenceEmpty},
    {"SequenceErase", 11, emitSequenceErase, nullptr, gradientTo<0>},
    {"SequenceInsert", 11, emitSequenceInsert, nullptr, gradientTo<0, 1>},
    {"SequenceLength", 11, emitSequenceLength, nullptr, gradientTo<>},
    {"SplitToSequence", 11, emitSplitToSequence, nullptr, gradientTo<0>},
};

} // namespace

llvm::ArrayRef<OpDef> sequenceOps() { return kOps; }

} // namespace zerograph::frontend
