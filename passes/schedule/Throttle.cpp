//===- Throttle.cpp - awaits that let bytes be reused ---------------------===//

#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_THROTTLE
#include "passes/schedule/Passes.h.inc"

namespace {

/// A flat gradient buffer: the first step that writes it, and the steps of
/// other streams that reduce it.
struct GradientBuffer {
  Step first;
  SmallVector<Step> reductions;
};

//===----------------------------------------------------------------------===//
// --sched-throttle
//===----------------------------------------------------------------------===//

struct Throttle : impl::ThrottleBase<Throttle> {
  using ThrottleBase::ThrottleBase;

  void runOnOperation() override {
    if (window < 1) {
      getOperation().emitError("needs a window of at least 1, not ")
          << window.getValue();
      return signalPassFailure();
    }
    for (auto program : getOperation().getOps<ProgramOp>()) {
      delayGathers(program);
      boundGradients(program);
    }
  }

  void await(Step step, Step earlier) {
    Value timepoint = earlier->getResult(0);
    if (earlier.getStream() != step.getStream() &&
        earlier->isBeforeInBlock(step) &&
        !llvm::is_contained(step.getAwaits(), timepoint)) {
      step.getAwaitsMutable().append(timepoint);
      ++placed;
    }
  }

  void delayGathers(ProgramOp program) {
    Step lastCompute;
    for (auto step : program.getOps<Step>()) {
      if (step.getStream() == Stream::compute) {
        lastCompute = step;
      } else if (isa<AllGatherOp>(step) && lastCompute) {
        await(step, lastCompute);
      }
    }
  }

  void boundGradients(ProgramOp program) {
    llvm::MapVector<Value, GradientBuffer> buffers; // by first write
    for (auto step : program.getOps<Step>()) {
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        if (slice.getSliceClass() != SliceClass::grad || slice.getCarried()) {
          continue;
        }
        GradientBuffer &buffer = buffers[slice];
        if (!buffer.first) {
          buffer.first = step;
        } else if (step.getStream() != buffer.first.getStream()) {
          buffer.reductions.push_back(step);
        }
      }
    }
    size_t index = 0;
    for (auto &[slice, buffer] : buffers) {
      if (index >= static_cast<size_t>(window)) {
        for (Step reduction :
             (buffers.begin() + (index - window))->second.reductions) {
          await(buffer.first, reduction);
        }
      }
      ++index;
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
