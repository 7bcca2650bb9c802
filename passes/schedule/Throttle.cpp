//===- Throttle.cpp - awaits that let bytes be reused ---------------------===//

#include "passes/schedule/Passes.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::zg::sched {

#define GEN_PASS_DEF_THROTTLE
#include "passes/schedule/Passes.h.inc"

namespace {

/// A buffer that one stream fills and others empty: the first step that writes
/// it, and the steps of other streams.
struct PassedBuffer {
  Step first;
  SmallVector<Step> readers;
};

/// Flat gradients, which are reduced or offloaded.
bool isGradients(SliceOp slice) {
  return slice.getSliceClass() == SliceClass::grad && !slice.getCarried();
}

/// What crosses between device and host, but for single numbers.
bool crosses(SliceOp slice) {
  return slice.getSpace() == Space::pinned && !slice.getCarried() &&
         slice.getSliceClass() != SliceClass::scalar;
}

/// Whether the step brings parameters to a buffer of the program.
bool bringsParameters(Step step) {
  return isa<AllGatherOp>(step.getOperation()) ||
         (step.getStream() == Stream::fetch && !step.slice(1).getCarried());
}

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
      bound(program, isGradients);
      for (Stream filling : {Stream::offload, Stream::update}) {
        bound(program, crosses, filling);
      }
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
      } else if (bringsParameters(step) && lastCompute) {
        await(step, lastCompute);
      }
    }
  }

  /// Lets a buffer be filled when those `window` before it are empty; of
  /// buffers that `filling` fills.
  void bound(ProgramOp program, function_ref<bool(SliceOp)> counts,
             std::optional<Stream> filling = {}) {
    llvm::MapVector<Value, PassedBuffer> buffers; // by first write
    for (auto step : program.getOps<Step>()) {
      for (unsigned i = 0; i < step.getAccesses().size(); ++i) {
        SliceOp slice = step.slice(i);
        if (!counts(slice)) {
          continue;
        }
        auto buffer = buffers.find(slice);
        if (buffer != buffers.end()) {
          if (step.getStream() != buffer->second.first.getStream()) {
            buffer->second.readers.push_back(step);
          }
        } else if (!filling || step.getStream() == *filling) {
          buffers[slice].first = step;
        }
      }
    }
    size_t index = 0;
    for (auto &[slice, buffer] : buffers) {
      if (index >= static_cast<size_t>(window)) {
        for (Step reader :
             (buffers.begin() + (index - window))->second.readers) {
          await(buffer.first, reader);
        }
      }
      ++index;
    }
  }
};

} // namespace
} // namespace mlir::zg::sched
