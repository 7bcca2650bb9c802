//===- ClipNorm.cpp - gradients clipped by their global norm --------------===//

#include "passes/differentiate/Optimizer.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Numerics.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_CLIPNORM
#include "passes/zero/Passes.h.inc"

namespace {

/// The number that PyTorch adds to the norm before it divides by it.
constexpr double kEpsilon = 1e-6;

//===----------------------------------------------------------------------===//
// --zero-clip-norm
//===----------------------------------------------------------------------===//

struct ClipNorm : impl::ClipNormBase<ClipNorm> {
  using ClipNormBase::ClipNormBase;

  void runOnOperation() override {
    if (clip_norm == 0 && !skip_nonfinite) {
      return;
    }
    if (!(clip_norm >= 0)) {
      getOperation().emitError("clips gradients to a norm of ")
          << clip_norm << "; expected a number above 0, or 0: no clipping";
      return signalPassFailure();
    }
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states) || failed(checkSize(*states))) {
      return signalPassFailure();
    }
    FailureOr<Program> update = Program::find(getOperation(), kUpdateProgram);
    if (failed(update)) {
      return signalPassFailure();
    }
    SmallVector<Value> gradients = gradientsOf(*update, *states);
    Value scale = update->findScalar(nn::kGradientScale);
    if (!gradients.empty() && scale) { // else nothing is trained
      clip(*update, gradients, scale);
    }
  }

  LogicalResult checkSize(const UnitStates &states) {
    int64_t elements = 0;
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      elements += states[unit].getElements();
    }
    if (elements <= nn::kMostSquares) {
      return success();
    }
    return getOperation().emitError("clips the gradients of ")
           << elements << " elements by their norm, which is exact up to "
           << nn::kMostSquares;
  }

  /// Returns this rank's shards of the sums of gradients.
  SmallVector<Value> gradientsOf(Program &update, const UnitStates &states) {
    SmallVector<Value> gradients;
    for (auto reduce : update.body().getOps<ReduceScatterOp>()) {
      gradients.push_back(reduce);
    }
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      bool carried =
          states.declared(unit, kGradRole) && !states.reducesLast(unit);
      for (int64_t i = 0; carried && i < states.segments(unit); ++i) {
        gradients.push_back(update.state(states.shard(unit, i, kGradRole),
                                         states.shardType(unit, i, kGradRole)));
      }
    }
    return gradients;
  }

  void clip(Program &update, ValueRange gradients, Value scale) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(&update.body());
    for (Value gradient : gradients) {
      if (Operation *reduce = gradient.getDefiningOp()) {
        builder.setInsertionPointAfter(reduce); // the last one in the program
      }
    }
    auto role = builder.getStringAttr(kNormRole);
    nn::NNBuilder b(builder, NameLoc::get(role, update.location()));
    // Widens the scale before it is read here; an f64 stays as it is.
    auto readers = llvm::map_to_vector(scale.getUses(),
                                       [](OpOperand &use) { return &use; });
    Value wide = b.convert(scale, builder.getF64Type());
    Value norm =
        b.mul(b.unary(nn::UnaryKind::sqrt, sumSquares(b, gradients)), wide);
    Value clipped =
        b.convert(b.mul(wide, factorOf(b, norm)), nn::elementOf(scale));
    for (OpOperand *reader : readers) {
      reader->set(clipped);
    }
    update.update(norm, StateAttr::get(&getContext(), -1, -1, role,
                                       /*sharded=*/false));
  }

  /// Returns the factor of the mean gradient; 0: nothing is updated.
  Value factorOf(nn::NNBuilder &b, Value norm) {
    Value one = b.splat(norm, 1), factor = one;
    if (clip_norm > 0) {
      factor = b.div(b.splat(norm, clip_norm), b.shift(norm, kEpsilon));
      factor = b.binary(nn::BinaryKind::min, factor, one);
    }
    if (skip_nonfinite) {
      double infinity = std::numeric_limits<double>::infinity();
      Value finite =
          b.compare(nn::CompareKind::lt, norm, b.splat(norm, infinity));
      factor = b.keepIf(finite, factor);
    }
    return factor;
  }

  /// Returns the sum of squares of the gradients' sums, of all ranks.
  Value sumSquares(nn::NNBuilder &b, ValueRange gradients) {
    Type wide = b.builder.getF64Type();
    auto limbs = RankedTensorType::get({nn::kLimbs + 1}, wide);
    Value own =
        b.builder.create<nn::SumSquaresOp>(b.location, limbs, gradients);
    Value all = b.builder.create<AllReduceOp>(
        b.location, limbs, own, /*accumulator=*/Value(),
        b.builder.getStrArrayAttr({kDataAxis}),
        "the norm of all gradients, by which they are clipped");
    return b.builder.create<nn::LimbValueOp>(
        b.location, RankedTensorType::get({1}, wide), all);
  }
};

} // namespace
} // namespace mlir::zg::zero
