//===- PlanSteps.cpp - the steps of a plan's programs ---------------------===//

#include "codegen/host/HostTargetInfo.h"
#include "codegen/host/PlanParts.h"
#include "passes/zero/Passes.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zg;
namespace plan = zerograph::plan;

namespace {

plan::Stay planStay(std::optional<zero::Stay> stay) {
  if (!stay) {
    return plan::STAY_NONE;
  }
  switch (*stay) {
  case zero::Stay::forward:
    return plan::STAY_FORWARD;
  case zero::Stay::backward:
    return plan::STAY_BACKWARD;
  case zero::Stay::kept:
    return plan::STAY_KEPT;
  }
  llvm_unreachable("unknown stay");
}

plan::Stream planStream(sched::Stream stream) {
  switch (stream) {
  case sched::Stream::compute:
    return plan::COMPUTE;
  case sched::Stream::gather:
    return plan::GATHER;
  case sched::Stream::scatter:
    return plan::SCATTER;
  }
  llvm_unreachable("all streams are handled");
}

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

/// What one run of the step brings in from other ranks: of a segment, or of
/// its gradients, the shards of the others; of scalars, everyone's.
void predict(sched::Step step, uint64_t runs, plan::Plan &plan) {
  plan::Prediction &prediction = *plan.mutable_prediction();
  uint64_t others = plan.world() - 1;
  uint64_t bytes = 0;
  if (isa<sched::AllGatherOp>(step)) {
    for (unsigned i = 0; i < step.getAccesses().size(); i += 2) {
      bytes += step.access(i).getBytes() * others;
    }
    prediction.set_gather_bytes(prediction.gather_bytes() + runs * bytes);
  } else if (isa<sched::ReduceScatterOp>(step)) {
    bytes = step.access(1).getBytes() * others;
    prediction.set_reduce_bytes(prediction.reduce_bytes() + runs * bytes);
  } else if (isa<sched::AllReduceOp>(step)) {
    for (unsigned i = 0; i < step.getAccesses().size(); i += 2) {
      bytes += step.access(i).getBytes() * others;
    }
    prediction.set_scalar_bytes(prediction.scalar_bytes() + runs * bytes);
  }
}

/// The operation of a step.
void writeOperation(sched::Step step, const host::PlanIndex &index,
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
        gather.set_type(planType(op.getElementType()));
        gather.set_stay(planStay(op.getStay()));
      })
      .Case([&](sched::ReduceScatterOp op) {
        plan::ReduceScatter &reduce = *entry.mutable_reduce_scatter();
        reduce.set_unit(op.getUnit());
        reduce.set_segment(op.getSegment());
        reduce.set_type(planType(op.getElementType()));
        reduce.set_accumulate(op.getAccumulate());
        reduce.set_chunk_bytes(op.getChunkBytes());
      })
      .Case([&](sched::AllReduceOp op) {
        entry.mutable_all_reduce()->set_type(planType(op.getElementType()));
      })
      .Case([&](sched::CopyOp) { entry.mutable_copy(); })
      .Case([&](sched::FillOp) { entry.mutable_fill(); });
}

} // namespace

LogicalResult host::writeProgram(sched::ProgramOp program,
                                 const PlanIndex &index, plan::Plan &plan) {
  uint32_t number = plan.programs_size();
  plan::Program &entry = *plan.add_programs();
  entry.set_name(program.getName().str());
  uint64_t runs =
      program.getName() == zero::kMicroProgram ? plan.accumulate() : 1;

  DenseMap<Value, uint32_t> steps; // by timepoint
  for (auto step : program.getOps<sched::Step>()) {
    uint32_t position = entry.steps_size();
    steps[step->getResult(0)] = position;
    plan::Step &out = *entry.add_steps();
    out.set_stream(planStream(step.getStream()));
    for (Value await : step.getAwaits()) {
      out.add_waits(steps.at(await));
    }
    out.set_name(step.getLabel().str());
    if (auto collective = dyn_cast<sched::Collective>(step.getOperation())) {
      out.set_reason(collective.getReason().str());
      out.set_sequence(collective.getSequence());
    }
    for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
      sched::AccessAttr access = step.access(i);
      plan::Access &range = *out.add_accesses();
      range.set_slice(index.slices.lookup(step.getSlices()[i]));
      range.set_offset(access.getOffset());
      range.set_bytes(access.getBytes());
      range.set_rank_stride(access.getRankStride());
      range.set_mode(planMode(access.getMode()));

      plan::Slice &slice = *plan.mutable_slices(range.slice());
      if (slice.carried()) {
        continue;
      }
      int lives = slice.lifetimes_size();
      plan::Lifetime *life =
          lives > 0 && slice.lifetimes(lives - 1).program() == number
              ? slice.mutable_lifetimes(lives - 1)
              : nullptr;
      if (!life) {
        life = slice.add_lifetimes();
        life->set_program(number);
        life->set_first(position);
      }
      life->set_last(position);
    }
    writeOperation(step, index, out);
    predict(step, runs, plan);

    auto reduce = dyn_cast<sched::AllReduceOp>(step.getOperation());
    if (reduce &&
        index.slices.lookup(step.getSlices()[1]) == plan.loss_slice()) {
      plan.set_loss_name(step.getLabel().str());
    }
  }
  return success();
}
