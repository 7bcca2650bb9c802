//===- Iterations.cpp - what loops of both kinds share --------------------===//

#include "frontend/ops/Iterations.h"

#include <algorithm>

using mlir::Value;

namespace zerograph::frontend {

namespace {

/// The constants of all iterations along a new axis.
HostTensor stackConstants(const std::vector<Slot> &parts, const Shape &shape,
                          int64_t axis) {
  Shape whole = shape, part = shape;
  part.insert(part.begin() + axis, 1);
  whole.insert(whole.begin() + axis, parts.size());
  HostTensor result(parts[0].host->type(), whole);
  std::vector<int64_t> strides = rowMajor(whole);
  for (size_t i = 0; i < parts.size(); ++i) {
    place(result, i * strides[axis], strides, parts[i].host->reshaped(part));
  }
  return result;
}

/// The shape that all parts have; fails if they have several or are no tensors.
Shape shapeOfAll(const std::vector<Slot> &parts, int output) {
  Shape shape;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Slot &part = parts[k];
    if (part.isSequence || (!part.host && !part.value)) {
      fail("output ", output, " collects what is not a tensor");
    }
    Shape own = part.host ? part.host->shape() : Emitter::shapeOf(part.value);
    if (k > 0 && own != shape) {
      fail("output ", output, " collects tensors of shapes ", shapeText(shape),
           " and ", shapeText(own), ", which must be the same");
    }
    shape = own;
  }
  return shape;
}

} // namespace

void checkOutputs(const std::vector<NamedSlot> &outputs, size_t least) {
  if (outputs.size() < least) {
    fail("its body has ", outputs.size(), " outputs, but needs ", least);
  }
}

void failOutputs(Op &op) {
  Slot failed;
  failed.failed = true;
  for (int i = 0; i < op.proto().output_size(); ++i) {
    op.setSlot(i, failed);
  }
}

bool runIteration(Op &op, int64_t trip, const std::vector<NamedSlot> &inputs,
                  size_t leastOutputs, std::vector<NamedSlot> &outputs) {
  size_t problems = op.problemCount();
  outputs = op.runBody("body", absl::StrCat("[", trip, "]"), inputs);
  if (op.problemCount() != problems) {
    failOutputs(op);
    return false;
  }
  checkOutputs(outputs, leastOutputs);
  return true;
}

void takeOutputs(Iterations &loop, const std::vector<NamedSlot> &outputs,
                 size_t first) {
  auto next = outputs.begin() + first;
  std::copy_n(next, loop.carried.size(), loop.carried.begin());
  next += loop.carried.size();
  for (std::vector<Slot> &parts : loop.collected) {
    parts.push_back((next++)->slot);
  }
}

void setStacked(Op &op, int i, std::vector<Slot> parts, int64_t axis,
                bool reversed) {
  if (!op.wantsOutput(i)) {
    return;
  }
  if (parts.empty()) {
    fail("no iteration runs, so that output ", i,
         " is empty; only constants may be");
  }
  if (reversed) {
    std::reverse(parts.begin(), parts.end());
  }
  Shape shape = shapeOfAll(parts, i);
  bool constant = llvm::all_of(
      parts, [](const Slot &part) { return part.host != nullptr; });
  axis = normalizeAxis(axis, shape.size() + 1);
  if (constant) {
    try {
      op.set(i, stackConstants(parts, shape, axis));
      return;
    } catch (const TooLarge &) {
      // becomes part of the program
    }
  }
  shape.insert(shape.begin() + axis, 1);
  std::vector<Value> values;
  for (Slot &part : parts) {
    values.push_back(op.emit.reshape(op.materialize(part), shape));
  }
  op.set(i, op.emit.concat(values, axis));
}

} // namespace zerograph::frontend
