//===- ControlFlow.cpp - branches and loops, as far as they are static ----===//
//
// A plan holds no control flow. A branch whose condition is known is replaced
// by what it holds; a loop whose trip count is known is unrolled.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>

using mlir::Value;

namespace zerograph::frontend {

namespace {

const char *kRemedy =
    "; control flow on data is not supported: bind an input of one element "
    "with --input NAME=VALUE, or export the model with the decision fixed, or "
    "written as a Where";

/// A constant of one element; `what` names it in the error.
int64_t known(Op &op, const NamedSlot &named, const std::string &what) {
  const Slot &slot = named.slot;
  if (!slot.host) {
    fail(what, " must be known while compiling, but depends on ",
         op.describeOrigins(named.name), kRemedy);
  }
  if (slot.host->size() != 1) {
    fail(what, " has shape ", shapeText(slot.host->shape()),
         " and not one element");
  }
  return slot.host->intAt(0);
}

NamedSlot constantSlot(HostTensor tensor) {
  NamedSlot result;
  result.slot.host = std::make_shared<const HostTensor>(std::move(tensor));
  return result;
}

/// All outputs as what could not be imported; the problem is noted already.
void failOutputs(Op &op) {
  Slot failed;
  failed.failed = true;
  for (int i = 0; i < op.proto().output_size(); ++i) {
    op.setSlot(i, failed);
  }
}

void checkOutputs(const std::vector<NamedSlot> &outputs, size_t least) {
  if (outputs.size() < least) {
    fail("its body has ", outputs.size(), " outputs, but needs ", least);
  }
}

//===----------------------------------------------------------------------===//
// If
//===----------------------------------------------------------------------===//

void emitIf(Op &op) {
  bool taken = known(op, op.namedSlot(0), "the condition") != 0;
  std::vector<NamedSlot> outputs = op.runBody(
      taken ? "then_branch" : "else_branch", taken ? ".then" : ".else", {});
  checkOutputs(outputs, op.proto().output_size());
  for (int i = 0; i < op.proto().output_size(); ++i) {
    op.setSlot(i, outputs[i].slot);
  }
}

//===----------------------------------------------------------------------===//
// What a loop collects
//===----------------------------------------------------------------------===//

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

/// Sets output i to the values of all iterations along a new axis.
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
  bool constant = true;
  Shape shape;
  for (size_t k = 0; k < parts.size(); ++k) {
    const Slot &part = parts[k];
    if (part.isSequence || (!part.host && !part.value)) {
      fail("output ", i, " collects what is not a tensor");
    }
    constant = constant && part.host != nullptr;
    Shape own = part.host ? part.host->shape() : Emitter::shapeOf(part.value);
    if (k > 0 && own != shape) {
      fail("output ", i, " collects tensors of shapes ", shapeText(shape),
           " and ", shapeText(own), ", which must be the same");
    }
    shape = own;
  }
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

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

void emitLoop(Op &op) {
  int64_t trips =
      op.hasInput(0) ? known(op, op.namedSlot(0), "the trip count") : INT64_MAX;
  bool running =
      !op.hasInput(1) || known(op, op.namedSlot(1), "the condition") != 0;
  std::vector<NamedSlot> carried;
  for (int i = 2; i < op.inputCount(); ++i) {
    carried.push_back(op.namedSlot(i));
  }
  int64_t count = carried.size();
  int64_t scans = op.proto().output_size() - count;
  std::vector<std::vector<Slot>> collected(std::max<int64_t>(scans, 0));
  for (int64_t trip = 0; trip < trips && running; ++trip) {
    std::vector<NamedSlot> inputs = {
        constantSlot(HostTensor::scalar(trip)),
        constantSlot(HostTensor::splat(onnx::TensorProto::BOOL, {}, 1))};
    inputs.insert(inputs.end(), carried.begin(), carried.end());
    size_t problems = op.problemCount();
    std::vector<NamedSlot> outputs =
        op.runBody("body", absl::StrCat("[", trip, "]"), inputs);
    if (op.problemCount() != problems) {
      failOutputs(op);
      return;
    }
    checkOutputs(outputs, 1 + count + collected.size());
    if (outputs[0].slot.failed) {
      failOutputs(op);
      return;
    }
    running = known(op, outputs[0],
                    absl::StrCat("the condition after iteration ", trip)) != 0;
    std::copy_n(outputs.begin() + 1, count, carried.begin());
    for (size_t i = 0; i < collected.size(); ++i) {
      collected[i].push_back(outputs[1 + count + i].slot);
    }
  }
  for (int64_t i = 0; i < count; ++i) {
    op.setSlot(i, carried[i].slot);
  }
  for (size_t i = 0; i < collected.size(); ++i) {
    setStacked(op, count + i, collected[i], 0, false);
  }
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

/// One entry of an attribute with an entry for each input or output.
int64_t entryOf(Op &op, const char *name, int64_t i, int64_t count) {
  std::vector<int64_t> entries = op.intsAttribute(name);
  if (entries.empty()) {
    return 0;
  }
  if (static_cast<int64_t>(entries.size()) != count) {
    fail("attribute '", name, "' has ", entries.size(), " entries for ", count,
         " tensors");
  }
  return entries[i];
}

/// Element `at` of input i along an axis, without that axis.
NamedSlot elementOf(Op &op, int i, int64_t axis, int64_t at) {
  Shape shape = op.shape(i);
  Shape dropped = shape;
  dropped.erase(dropped.begin() + axis);
  NamedSlot result = op.namedSlot(i);
  Slot part;
  if (const HostTensor *host = op.host(i)) {
    std::vector<int64_t> strides = rowMajor(shape);
    int64_t base = at * strides[axis];
    strides.erase(strides.begin() + axis);
    part.host = std::make_shared<const HostTensor>(
        remap(*host, dropped, base, strides));
  } else {
    part.value =
        op.emit.reshape(op.emit.sliceAxis(op.value(i), axis, at, 1), dropped);
  }
  result.slot = part;
  return result;
}

void emitScan(Op &op) {
  int64_t scanned = op.intAttribute("num_scan_inputs", 0);
  int64_t states = op.inputCount() - scanned;
  int64_t scans = op.proto().output_size() - states;
  if (scanned < 1 || states < 0 || scans < 0) {
    fail("num_scan_inputs is ", scanned, " for ", op.inputCount(),
         " inputs and ", op.proto().output_size(), " outputs");
  }
  std::vector<NamedSlot> carried;
  for (int64_t i = 0; i < states; ++i) {
    carried.push_back(op.namedSlot(i));
  }
  int64_t trips = -1;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < scanned; ++i) {
    Shape shape = op.shape(states + i);
    int64_t axis =
        normalizeAxis(entryOf(op, "scan_input_axes", i, scanned), shape.size());
    if (trips >= 0 && shape[axis] != trips) {
      fail("its scan inputs have ", trips, " and ", shape[axis], " elements");
    }
    trips = shape[axis];
    axes.push_back(axis);
  }
  std::vector<std::vector<Slot>> collected(scans);
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<NamedSlot> inputs = carried;
    for (int64_t i = 0; i < scanned; ++i) {
      bool back = entryOf(op, "scan_input_directions", i, scanned) != 0;
      inputs.push_back(
          elementOf(op, states + i, axes[i], back ? trips - 1 - trip : trip));
    }
    size_t problems = op.problemCount();
    std::vector<NamedSlot> outputs =
        op.runBody("body", absl::StrCat("[", trip, "]"), inputs);
    if (op.problemCount() != problems) {
      failOutputs(op);
      return;
    }
    checkOutputs(outputs, states + scans);
    std::copy_n(outputs.begin(), states, carried.begin());
    for (int64_t i = 0; i < scans; ++i) {
      collected[i].push_back(outputs[states + i].slot);
    }
  }
  for (int64_t i = 0; i < states; ++i) {
    op.setSlot(i, carried[i].slot);
  }
  for (int64_t i = 0; i < scans; ++i) {
    setStacked(op, states + i, collected[i],
               entryOf(op, "scan_output_axes", i, scans),
               entryOf(op, "scan_output_directions", i, scans) != 0);
  }
}

const OpDef kOps[] = {
    {"If", 1, emitIf, nullptr, gradientTo<>},
    {"Loop", 1, emitLoop, nullptr, gradientExceptTo<0, 1>},
    {"Scan", 9, emitScan},
};

} // namespace

llvm::ArrayRef<OpDef> controlFlowOps() { return kOps; }

} // namespace zerograph::frontend
