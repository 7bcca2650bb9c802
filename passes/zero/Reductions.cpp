//===- Reductions.cpp - gradients, loss and stop flag summed over ranks ---===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Totals.h"
#include "passes/zero/UnitStates.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_REDUCTIONS
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-reductions
//===----------------------------------------------------------------------===//

struct Reductions : impl::ReductionsBase<Reductions> {
  void runOnOperation() override {
    FailureOr<UnitStates> states = UnitStates::of(getOperation());
    if (failed(states)) {
      return signalPassFailure();
    }
    FailureOr<Program> program = Program::find(getOperation(), kMicroProgram);
    if (failed(program)) {
      return signalPassFailure();
    }
    nn::ProgramOp micro = program->function();
    unsigned known = micro.getNumResults();
    for (unsigned i = 0; i < known; ++i) {
      if (auto unit =
              micro.getResultAttrOfType<IntegerAttr>(i, kGradientAttr)) {
        reduce(*program, *states, unit.getInt(),
               program->terminator()->getOperand(i));
      }
    }
    reduceCount(*program);
    reduceLoss(*program, known);
    program->eraseResults(
        [&](unsigned i) { return !micro.getResultAttr(i, kUpdatesAttr); });
  }

  /// Adds a unit's gradients, as soon as they are packed, to what this rank
  /// carries of their sum: its shards of that of all ranks, or all of its own.
  void reduce(Program &program, const UnitStates &states, int64_t unit,
              Value packed) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointAfterValue(packed);
    if (states.reducesLast(unit)) {
      StateAttr state = states.whole(unit, kGradRole);
      nn::NNBuilder b(builder, states.location(unit, program.location()));
      program.update(
          b.add(program.state(state, states.wholeType(unit, kGradRole)),
                packed),
          state);
      return;
    }
    std::string reason =
        "gradients of " + states.name(unit).str() + " are complete";
    for (int64_t segment = 0; segment < states.segments(unit); ++segment) {
      RankedTensorType type = states.shardType(unit, segment, kGradRole);
      StateAttr state = states.shard(unit, segment, kGradRole);
      auto sum = builder.create<ReduceScatterOp>(
          states.location(unit, program.location()), type, packed,
          program.state(state, type), unit, segment, states.axes(unit), reason,
          /*in_place=*/false);
      program.update(sum, state);
    }
  }

  /// Reduces the count as soon as it is known, so that updates need not wait
  /// for it.
  void reduceCount(Program &program) {
    nn::ProgramOp micro = program.function();
    for (unsigned i = 0; i < micro.getNumResults(); ++i) {
      if (micro.getResultAttr(i, nn::kLossCountAttr)) {
        Value count = program.terminator()->getOperand(i);
        addTotal(program, count, kLossCountRole, "what the mean loss counts",
                 /*early=*/true);
        return;
      }
    }
  }

  /// Reduces the loss, metrics and the stop flags of all ranks, in one small
  /// reduction each.
  void reduceLoss(Program &program, unsigned known) {
    Value loss = numberOf(program, program.terminator()->getOperand(0));
    addTotal(program, loss, kLossRole, "the mean loss");
    for (unsigned i = 0; i < known; ++i) {
      if (program.function().getResultAttr(i, nn::kMetricAttr)) {
        addMetric(program, i,
                  numberOf(program, program.terminator()->getOperand(i)),
                  kMetricRole);
      }
    }
    auto single = RankedTensorType::get({1}, Float32Type::get(&getContext()));
    addTotal(program, program.scalar(kStopRole, single), kStopRole,
             "ranks stop after the same step");
  }
};

} // namespace
} // namespace mlir::zg::zero
