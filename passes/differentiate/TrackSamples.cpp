//===- TrackSamples.cpp - tells which dimension holds samples -------------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/Locations.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Samples.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_TRACKSAMPLES
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

/// If samples do not lead their dimension, makes the op work on a dimension
/// that they do lead: it reads its operand reshaped, and its results are shaped
/// back.
template <typename Op>
Samples lead(Op op, Samples samples) {
  if (samples.kind != Samples::At || samples.outer == 1) {
    return samples;
  }
  OpBuilder builder(op);
  NNBuilder b(builder, op.getLoc());
  SmallVector<int64_t> whole(shapeOf(op.getOperand())), split(whole);
  split[samples.dim] /= samples.outer;
  split.insert(split.begin() + samples.dim, samples.outer);
  op->setOperand(0, b.reshape(op.getOperand(), split));
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    result.setType(RankedTensorType::get(split, elementOf(result)));
    Value back = b.reshape(result, whole);
    result.replaceAllUsesExcept(back, back.getDefiningOp());
  }
  samples.outer = 1;
  ++samples.dim;
  return samples;
}

struct TrackSamplesPass
    : mlir::zg::nn::impl::TrackSamplesBase<TrackSamplesPass> {
  void runOnOperation() override {
    auto forward = getOperation().lookupSymbol<ProgramOp>(kForwardFunction);
    if (!forward || forward.isExternal()) {
      emitError(getOperation().getLoc(),
                "has no function @forward to follow samples through");
      return signalPassFailure();
    }
    track(forward);
    if (auto evaluate =
            getOperation().lookupSymbol<ProgramOp>(kEvaluateFunction)) {
      track(evaluate);
    }
  }

  void track(ProgramOp forward) {
    SampleAnalysis analysis(forward);
    forward.walk([&](RandomLikeOp op) {
      Samples samples = lead(op, analysis.of(op.getOperand()));
      int64_t count = analysis.count();
      SmallVector<int64_t> value;
      if (samples.kind == Samples::At) {
        value = {samples.dim, count};
      } else if (ArrayRef<int64_t> shape = shapeOf(op); !shape.empty()) {
        value = {0, shape.front() % count == 0 ? count : 1};
      }
      op.setSamples(value);
    });
    forward.walk([&](DropoutOp op) {
      Samples samples = lead(op, analysis.of(op.getOperand()));
      switch (samples.kind) {
      case Samples::None:
        op.setSamples(ArrayRef<int64_t>());
        break;
      case Samples::At:
        op.setSamples(ArrayRef<int64_t>{samples.dim, analysis.count()});
        break;
      case Samples::Mixed:
        op.emitError("node '")
            << nameOf(op.getLoc())
            << "': dropout needs the samples of its input in one dimension, "
               "so that its random numbers do not depend on how samples are "
               "divided, and they cannot be followed through "
            << describe(samples.mixer)
            << "; turn dropout off (--dropout 0) or move it before that "
               "node";
        signalPassFailure();
        break;
      }
    });
  }
};

} // namespace
