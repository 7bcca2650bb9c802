//===- Scan.cpp - loops over the elements of tensors ----------------------===//

#include "frontend/ops/Iterations.h"

using mlir::Value;

namespace zerograph::frontend {

namespace {

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
    {"Scan", 9, emitScan},
};

} // namespace

llvm::ArrayRef<OpDef> scanOps() { return kOps; }

} // namespace zerograph::frontend
