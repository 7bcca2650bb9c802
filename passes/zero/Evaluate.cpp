//===- Evaluate.cpp - the loss of samples that are not trained on ---------===//

#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/zero/FlatBuffers.h"
#include "passes/zero/GatherPlacement.h"
#include "passes/zero/Passes.h"
#include "passes/zero/Totals.h"

namespace mlir::zg::zero {

#define GEN_PASS_DEF_EVALUATE
#include "passes/zero/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// --zero-evaluate
//===----------------------------------------------------------------------===//

struct Evaluate : impl::EvaluateBase<Evaluate> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto function = module.lookupSymbol<nn::ProgramOp>(nn::kEvaluateFunction);
    if (!function) {
      return;
    }
    FailureOr<UnitStates> states = UnitStates::of(module);
    if (failed(states)) {
      return signalPassFailure();
    }
    if (function.getNumResults() != 1) {
      function.emitError("has ")
          << function.getNumResults() << " results; expected the loss alone";
      return signalPassFailure();
    }
    {
      Program program(function);
      sumLoss(program);
      if (failed(viewParameters(program, *states))) {
        return signalPassFailure();
      }
      insertGathers(program, *states);
    }
    // Behind the programs that train.
    function->moveBefore(layoutOf(module));
  }

  /// Adds the micro-batch's loss, times its weight, to that of all ranks. Of
  /// f64: there may be many.
  void sumLoss(Program &program) {
    Value loss = numberOf(program, program.terminator()->getOperand(0));
    OpBuilder builder(program.terminator());
    nn::NNBuilder b(builder, loss.getLoc());
    loss = b.convert(loss, builder.getF64Type());
    Value weight =
        program.scalar(kWeightScalar, cast<RankedTensorType>(loss.getType()));
    addTotal(program, b.mul(loss, weight), kEvaluationRole,
             "the loss of all that is evaluated");
    program.eraseResults([&](unsigned i) {
      return !program.function().getResultAttr(i, kUpdatesAttr);
    });
  }

  /// Makes each parameter a view of its unit's whole buffer, as in training.
  LogicalResult viewParameters(Program &program, const UnitStates &states) {
    nn::ProgramOp function = program.function();
    llvm::StringMap<BlockArgument> arguments;
    for (BlockArgument argument : function.getArguments()) {
      if (auto parameter = function.getArgAttrOfType<nn::ParameterAttr>(
              argument.getArgNumber(), nn::kParameterAttr)) {
        arguments[parameter.getName()] = argument;
      }
    }
    for (int64_t unit = 0; unit < states.size(); ++unit) {
      for (PlacementAttr place : states[unit].getPlacements()) {
        nn::ParameterAttr parameter = place.getParameter();
        auto found = arguments.find(parameter.getName());
        bool read = found != arguments.end() && !found->second.use_empty();
        if (!read && parameter.getTrainable()) {
          return function.emitError("does not read parameter ")
                 << parameter.getName()
                 << ", which is trained; expected the model that is trained";
        }
        if (!read) {
          continue;
        }
        RankedTensorType flat = states.wholeType(unit, kParamRole);
        Type kept = flat.getElementType();
        if (kept != nn::elementOf(found->second) &&
            kept != computedElement(found->second)) {
          return function.emitError("reads parameter ")
                 << parameter.getName() << " as "
                 << nn::elementOf(found->second) << ", of which training keeps "
                 << kept;
        }
        viewParameter(program, found->second, place,
                      program.state(states.whole(unit, kParamRole), flat));
      }
    }
    return eraseParameters(program);
  }

  /// All are views by now.
  LogicalResult eraseParameters(Program &program) {
    nn::ProgramOp function = program.function();
    for (BlockArgument argument : function.getArguments()) {
      auto parameter = function.getArgAttrOfType<nn::ParameterAttr>(
          argument.getArgNumber(), nn::kParameterAttr);
      if (parameter && !argument.use_empty()) {
        return function.emitError("reads parameter ")
               << parameter.getName() << ", which is in no unit of training";
      }
    }
    program.eraseArguments([&](BlockArgument argument) {
      return function.getArgAttr(argument.getArgNumber(), nn::kParameterAttr) !=
             nullptr;
    });
    return success();
  }
};

} // namespace
} // namespace mlir::zg::zero
