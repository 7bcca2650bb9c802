//===- NormalizeByTokenCount.cpp - gradients of a mean over tokens --------===//
//-------===//

#include "passes/differentiate/Optimizer.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Program.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_NORMALIZEBYTOKENCOUNT
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-normalize-by-token-count
//===----------------------------------------------------------------------===//

struct NormalizeByTokenCount
    : impl::NormalizeByTokenCountBase<NormalizeByTokenCount> {
  void runOnOperation() override {
    auto state = StateAttr::get(&getContext(), -1, -1,
                                StringAttr::get(&getContext(), kLossCountRole),
                                /*sharded=*/false);
    auto programs = getOperation().getOps<nn::ProgramOp>();
    scaled = llvm::any_of(programs, [](nn::ProgramOp program) {
      return llvm::any_of(program.getOps<nn::ScalarOp>(), isLossScale);
    });
    if (llvm::none_of(programs, [&](nn::ProgramOp program) {
          return bool(sumIn(program, state));
        })) {
      return;
    }
    for (nn::ProgramOp function : programs) {
      Program program(function);
      if (Value scale = program.findScalar(nn::kGradientScale)) {
        divide(program, state, scale);
      }
    }
  }

  static bool isLossScale(nn::ScalarOp scalar) {
    return scalar.getName() == nn::kLossScaleScalar;
  }

  /// Returns what the program leaves in the state; null where it does not write
  /// it.
  static Value sumIn(nn::ProgramOp program, StateAttr state) {
    for (unsigned i = 0; i < program.getNumResults(); ++i) {
      if (program.getResultAttr(i, kUpdatesAttr) == state) {
        return program.front().getTerminator()->getOperand(i);
      }
    }
    return {};
  }

  void divide(Program &program, StateAttr state, Value scale) {
    OpBuilder builder(&getContext());
    Value count = sumIn(program.function(), state);
    if (count) {
      builder.setInsertionPointAfterValue(count);
    } else {
      builder.setInsertionPointToStart(&program.body());
      count = program.state(state,
                            RankedTensorType::get({1}, builder.getF64Type()));
    }
    nn::NNBuilder b(
        builder, NameLoc::get(builder.getStringAttr("1 / the count of losses"),
                              program.location()));
    Value one = b.splat(count, 1);
    Value none = b.compare(nn::CompareKind::eq, count, b.splat(count, 0));
    Value divisor = b.select(none, one, count);
    if (scaled) { // what losses were multiplied by before backward
      Value before = builder.create<nn::ScalarOp>(
          b.location, RankedTensorType::get({1}, builder.getF32Type()),
          nn::kLossScaleScalar);
      divisor = b.mul(divisor, b.convert(before, nn::elementOf(divisor)));
    }
    scale.replaceAllUsesWith(
        b.convert(b.div(one, divisor), nn::elementOf(scale)));
    program.eraseArguments(
        [&](BlockArgument argument) { return argument == scale; });
  }

  bool scaled = false; // losses are multiplied before backward
};

} // namespace
} // namespace mlir::zg::zero
