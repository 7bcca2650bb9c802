//===- PlanSteps.cpp - the steps of a plan's programs ---------------------===//

#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"
#include "passes/ir/nn/Locations.h"
#include "passes/zero/Passes.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

namespace {

plan::StreamKind streamKind(sched::Stream stream) {
  switch (stream) {
  case sched::Stream::compute:
  case sched::Stream::update:
    return plan::COMPUTE;
  case sched::Stream::gather:
  case sched::Stream::scatter:
    return plan::COLLECTIVE;
  case sched::Stream::offload:
    return plan::COPY_OUT;
  case sched::Stream::fetch:
    return plan::COPY_IN;
  case sched::Stream::read:
    return plan::FILE_READ;
  case sched::Stream::write:
    return plan::FILE_WRITE;
  }
  llvm_unreachable("all streams are handled");
}

bool isHelpers(sched::Stream stream) {
  return stream == sched::Stream::update || stream == sched::Stream::read ||
         stream == sched::Stream::write;
}

/// The number of a stream, which is declared with its first step.
uint32_t streamNumber(sched::Stream stream, PlanIndex &index,
                      plan::Plan &plan) {
  auto [entry, added] = index.streams.try_emplace(stream, plan.streams_size());
  if (added) {
    plan::Stream &declared = *plan.add_streams();
    declared.set_name(stringifyStream(stream).str());
    declared.set_kind(streamKind(stream));
    declared.set_device(isHelpers(stream) ? kHelper : 0);
  }
  return entry->second;
}

LogicalResult writeCollective(sched::Collective op, const plan::Plan &plan,
                              plan::Step &step) {
  step.set_sequence(op.getSequence());
  return writeAxes(op, op.getGroup(), plan, *step.mutable_axes());
}

void writeAccesses(sched::Step step, const PlanIndex &index, plan::Step &out) {
  for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
    sched::AccessAttr access = step.access(i);
    plan::Access &range = *out.add_accesses();
    range.set_slice(index.slices.lookup(step.getSlices()[i]));
    range.set_offset(access.getOffset());
    range.set_bytes(access.getBytes());
    range.set_mode(planCase<plan::Mode>(stringifyMode(access.getMode())));
    if (access.getRankStride() != 0) {
      range.add_strides(access.getRankStride()); // of the one axis
    }
  }
}

} // namespace

LogicalResult mlir::zg::writeProgram(sched::ProgramOp program, PlanIndex &index,
                                     plan::Plan &plan) {
  plan::Program &entry = *plan.add_programs();
  entry.set_name(program.getName().str());
  entry.set_kind(planCase<plan::ProgramKind>(program.getName()));
  for (Value slot : program.getSlots()) {
    entry.add_slots(index.slices.lookup(slot));
  }
  DenseMap<Value, uint32_t> steps; // by timepoint
  for (auto step : program.getOps<sched::Step>()) {
    steps[step->getResult(0)] = uint32_t(entry.steps_size());
    plan::Step &out = *entry.add_steps();
    out.set_stream(streamNumber(step.getStream(), index, plan));
    for (Value await : step.getAwaits()) {
      out.add_waits(steps.at(await));
    }
    out.set_name(nn::describe(step.getLabel(), step.getLoc()));
    if (auto reason = step->getAttrOfType<StringAttr>("reason")) {
      out.set_reason(reason.str());
    }
    auto collective = dyn_cast<sched::Collective>(step.getOperation());
    if (collective && failed(writeCollective(collective, plan, out))) {
      return failure();
    }
    writeAccesses(step, index, out);
    if (failed(writeOperation(step, index, out))) {
      return failure();
    }
  }
  return success();
}
