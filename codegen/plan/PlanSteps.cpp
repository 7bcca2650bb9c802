//===- PlanSteps.cpp - the steps of a plan's programs ---------------------===//

#include "codegen/plan/PlanParts.h"
#include "codegen/plan/PlanTypes.h"
#include "passes/zero/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

namespace {

plan::Mode planMode(sched::Mode mode) {
  switch (mode) {
  case sched::Mode::read:
    return plan::READ;
  case sched::Mode::write:
    return plan::WRITE;
  case sched::Mode::read_write:
    return plan::READ_WRITE;
  }
  llvm_unreachable("all modes are handled");
}

plan::Matmul writeMatmul(sched::MatmulOp op) {
  MatmulShape shape;
  shape.elementType = op.getElementType();
  shape.batch = op.getBatch();
  shape.m = op.getM();
  shape.n = op.getN();
  shape.k = op.getK();
  shape.transposeA = op.getTransposeA();
  shape.transposeB = op.getTransposeB();
  return planMatmul(shape);
}

plan::Convolution writeConvolution(sched::ConvolutionOp op) {
  return planConvolution(nn::Convolution(
      op.getKind(), op.getLhs(), op.getRhs(), op.getResult(), op.getStrides(),
      op.getLow(), op.getDilations(), op.getGroups()));
}

/// The operation of a step.
void writeOperation(sched::Step step, const PlanIndex &index,
                    plan::Step &entry) {
  TypeSwitch<Operation *>(step.getOperation())
      .Case([&](sched::LaunchOp op) {
        entry.mutable_launch()->set_kernel(
            index.kernels.lookup(op.getKernel()));
      })
      .Case([&](sched::MatmulOp op) {
        *entry.mutable_matmul() = writeMatmul(op);
      })
      .Case([&](sched::ConvolutionOp op) {
        *entry.mutable_convolution() = writeConvolution(op);
      })
      .Case([&](sched::AllGatherOp op) {
        plan::AllGather &gather = *entry.mutable_all_gather();
        gather.set_unit(op.getUnit());
        gather.set_element_type(planType(op.getElementType()));
      })
      .Case([&](sched::ReduceScatterOp op) {
        plan::ReduceScatter &reduce = *entry.mutable_reduce_scatter();
        reduce.set_unit(op.getUnit());
        reduce.set_segment(op.getSegment());
        reduce.set_wire(planType(op.getElementType()));
        reduce.set_accumulator(planType(op.getElementType()));
        reduce.set_accumulate(op.getAccumulate());
        reduce.set_chunk_bytes(op.getChunkBytes());
      })
      .Case([&](sched::AllReduceOp op) {
        plan::AllReduce &reduce = *entry.mutable_all_reduce();
        reduce.set_wire(planType(op.getElementType()));
        reduce.set_accumulator(planType(op.getElementType()));
      })
      .Case([&](sched::CopyOp) { entry.mutable_copy(); })
      .Case([&](sched::FillOp) { entry.mutable_fill(); })
      .Case([&](sched::CopyInOp op) {
        entry.mutable_copy_in()->mutable_offsets()->Assign(
            op.getOffsets().begin(), op.getOffsets().end());
      });
}

plan::ProgramKind programKind(StringRef name) {
  return name == zero::kMicroProgram    ? plan::MICRO
         : name == zero::kUpdateProgram ? plan::UPDATE
         : name == zero::kStepProgram   ? plan::STEP
                                        : plan::FORWARD;
}

/// The number of a stream, which is declared with its first step.
uint32_t streamNumber(sched::Stream stream, PlanIndex &index,
                      plan::Plan &plan) {
  auto [entry, added] = index.streams.try_emplace(stream, plan.streams_size());
  if (added) {
    plan::Stream &declared = *plan.add_streams();
    declared.set_name(stringifyStream(stream).str());
    declared.set_kind(stream == sched::Stream::compute ? plan::COMPUTE
                                                       : plan::COLLECTIVE);
  }
  return entry->second;
}

LogicalResult writeCollective(sched::Collective op, const plan::Plan &plan,
                              plan::Step &step) {
  step.set_reason(op.getReason().str());
  step.set_sequence(op.getSequence());
  return writeAxes(op, op.getGroup(), plan, *step.mutable_axes());
}

/// The slice lives in step `position` of the program that is written.
void extendLife(plan::Slice &slice, uint32_t program, uint32_t position) {
  int lives = slice.lifetimes_size();
  if (lives == 0 || slice.lifetimes(lives - 1).program() != program) {
    plan::Lifetime &life = *slice.add_lifetimes();
    life.set_program(program);
    life.set_first(position);
  }
  slice.mutable_lifetimes(slice.lifetimes_size() - 1)->set_last(position);
}

void writeAccesses(sched::Step step, const PlanIndex &index, uint32_t position,
                   plan::Plan &plan, plan::Step &out) {
  for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
    sched::AccessAttr access = step.access(i);
    plan::Access &range = *out.add_accesses();
    range.set_slice(index.slices.lookup(step.getSlices()[i]));
    range.set_offset(access.getOffset());
    range.set_bytes(access.getBytes());
    range.set_mode(planMode(access.getMode()));
    if (access.getRankStride() != 0) {
      range.add_strides(access.getRankStride()); // of the one axis
    }
    plan::Slice &slice = *plan.mutable_slices(range.slice());
    if (!slice.carried()) {
      extendLife(slice, plan.programs_size() - 1, position);
    }
    if (access.writes() && plan.has_loss() &&
        range.slice() == plan.loss().slice()) {
      plan.mutable_loss()->set_name(step.getLabel().str());
    }
  }
}

} // namespace

LogicalResult mlir::zg::writeProgram(sched::ProgramOp program, PlanIndex &index,
                                     plan::Plan &plan) {
  plan::Program &entry = *plan.add_programs();
  entry.set_name(program.getName().str());
  entry.set_kind(programKind(program.getName()));
  for (Value slot : program.getSlots()) {
    entry.add_slots(index.slices.lookup(slot));
  }
  DenseMap<Value, uint32_t> steps; // by timepoint
  for (auto step : program.getOps<sched::Step>()) {
    uint32_t position = entry.steps_size();
    steps[step->getResult(0)] = position;
    plan::Step &out = *entry.add_steps();
    out.set_stream(streamNumber(step.getStream(), index, plan));
    for (Value await : step.getAwaits()) {
      out.add_waits(steps.at(await));
    }
    out.set_name(step.getLabel().str());
    auto collective = dyn_cast<sched::Collective>(step.getOperation());
    if (collective && failed(writeCollective(collective, plan, out))) {
      return failure();
    }
    writeAccesses(step, index, position, plan, out);
    writeOperation(step, index, out);
  }
  return success();
}
