//===- ControlFlow.cpp - branches and loops, as far as they are static ----===//
//
// A plan holds no control flow. Of an If whose condition is known, the branch
// that it takes is imported; a Loop whose trip count is known is unrolled.
//
//===----------------------------------------------------------------------===//

#include "frontend/ops/Iterations.h"

#include <algorithm>

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

const OpDef kOps[] = {
    {"If", 1, emitIf, nullptr, gradientTo<>},
    {"Loop", 1, emitLoop, nullptr, gradientExceptTo<0, 1>},
};

} // namespace

llvm::ArrayRef<OpDef> controlFlowOps() { return kOps; }

} // namespace zerograph::frontend
