//===- ControlFlow.cpp - branches and loops, as far as they are static ----===//
//
// A plan holds no control flow. Of an If whose condition is known, the branch
// that it takes is imported; a Loop whose trip count is known is unrolled.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Ops.h"

#include <algorithm>

using mlir::Value;

namespace zerograph::frontend {

namespace {

/// A loop that is unrolled: what it carries from one iteration to the next, and
/// the outputs that it collects from all of them.
struct Iterations {
  std::vector<NamedSlot> carried;
  std::vector<std::vector<Slot>> collected; ///< one list per output
};

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

/// Fails unless a body has so many outputs.
void checkOutputs(const std::vector<NamedSlot> &outputs, size_t least) {
  if (outputs.size() < least) {
    fail("its body has ", outputs.size(), " outputs, but needs ", least);
  }
}

/// Marks all outputs as failed; the problem is noted already.
void failOutputs(Op &op) {
  Slot failed;
  failed.failed = true;
  for (int i = 0; i < op.proto().output_size(); ++i) {
    op.setSlot(i, failed);
  }
}

/// Imports one iteration of the loop's body, run on `inputs`; gives the body's
/// outputs. If it finds a problem, which is noted then, marks all outputs of
/// the loop as failed and returns false.
bool runIteration(Op &op, int64_t trip, const std::vector<NamedSlot> &inputs,
                  size_t leastOutputs, std::vector<NamedSlot> &outputs) {
  size_t problems = op.context.log.problemCount();
  outputs = op.runBody("body", absl::StrCat("[", trip, "]"), inputs);
  if (op.context.log.problemCount() != problems) {
    failOutputs(op);
    return false;
  }
  checkOutputs(outputs, leastOutputs);
  return true;
}

/// Takes what the body gives, from its output `first` on, into `loop`.
void takeOutputs(Iterations &loop, const std::vector<NamedSlot> &outputs,
                 size_t first) {
  auto next = outputs.begin() + first;
  std::copy_n(next, loop.carried.size(), loop.carried.begin());
  next += loop.carried.size();
  for (std::vector<Slot> &parts : loop.collected) {
    parts.push_back((next++)->slot);
  }
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

const char *kRemedy =
    "; control flow on data is not supported: bind an input of one element "
    "with --input NAME=VALUE, or export the model with the decision fixed, or "
    "written as a Where";

/// A constant of one element; `what` names it in the error.
int64_t known(Op &op, const NamedSlot &named, const std::string &what) {
  const Slot &slot = named.slot;
  if (!slot.host) {
    fail(what, " must be known while compiling, but depends on ",
         op.context.nodes.describeOrigins(named.name), kRemedy);
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

void emitIf(Op &op) {
  bool taken = known(op, op.namedSlot(0), "the condition") != 0;
  std::vector<NamedSlot> outputs = op.runBody(
      taken ? "then_branch" : "else_branch", taken ? ".then" : ".else", {});
  checkOutputs(outputs, op.proto().output_size());
  for (int i = 0; i < op.proto().output_size(); ++i) {
    op.setSlot(i, outputs[i].slot);
  }
}

void emitLoop(Op &op) {
  int64_t trips =
      op.hasInput(0) ? known(op, op.namedSlot(0), "the trip count") : INT64_MAX;
  bool running =
      !op.hasInput(1) || known(op, op.namedSlot(1), "the condition") != 0;
  Iterations loop;
  for (int i = 2; i < op.inputCount(); ++i) {
    loop.carried.push_back(op.namedSlot(i));
  }
  int64_t count = loop.carried.size();
  int64_t scans = std::max<int64_t>(op.proto().output_size() - count, 0);
  loop.collected.resize(scans);
  for (int64_t trip = 0; trip < trips && running; ++trip) {
    std::vector<NamedSlot> outputs,
        inputs = {
            constantSlot(HostTensor::scalar(trip)),
            constantSlot(HostTensor::splat(onnx::TensorProto::BOOL, {}, 1))};
    inputs.insert(inputs.end(), loop.carried.begin(), loop.carried.end());
    if (!runIteration(op, trip, inputs, 1 + count + scans, outputs)) {
      return;
    }
    if (outputs[0].slot.failed) {
      failOutputs(op);
      return;
    }
    running = known(op, outputs[0],
                    absl::StrCat("the condition after iteration ", trip)) != 0;
    takeOutputs(loop, outputs, 1);
  }
  for (int64_t i = 0; i < count; ++i) {
    op.setSlot(i, loop.carried[i].slot);
  }
  for (int64_t i = 0; i < scans; ++i) {
    setStacked(op, count + i, loop.collected[i], 0, false);
  }
}

//===----------------------------------------------------------------------===//
// Scan: a loop over the elements of tensors
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

/// The axis along which each scan input is read; sets `trips` to their size.
std::vector<int64_t> scanAxes(Op &op, int64_t states, int64_t scanned,
                              int64_t &trips) {
  trips = -1;
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
  return axes;
}

void emitScan(Op &op) {
  int64_t scanned = op.intAttribute("num_scan_inputs", 0);
  int64_t given = op.inputCount(), made = op.proto().output_size();
  if (scanned < 1 || scanned > given || made < given - scanned) {
    fail("num_scan_inputs is ", scanned, " for ", given, " inputs and ", made,
         " outputs");
  }
  int64_t states = given - scanned, scans = made - states;
  Iterations loop;
  for (int64_t i = 0; i < states; ++i) {
    loop.carried.push_back(op.namedSlot(i));
  }
  loop.collected.resize(scans);
  int64_t trips;
  std::vector<int64_t> axes = scanAxes(op, states, scanned, trips);
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<NamedSlot> inputs = loop.carried, outputs;
    for (int64_t i = 0; i < scanned; ++i) {
      bool back = entryOf(op, "scan_input_directions", i, scanned) != 0;
      inputs.push_back(
          elementOf(op, states + i, axes[i], back ? trips - 1 - trip : trip));
    }
    if (!runIteration(op, trip, inputs, states + scans, outputs)) {
      return;
    }
    takeOutputs(loop, outputs, 0);
  }
  for (int64_t i = 0; i < states; ++i) {
    op.setSlot(i, loop.carried[i].slot);
  }
  for (int64_t i = 0; i < scans; ++i) {
    setStacked(op, states + i, loop.collected[i],
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
