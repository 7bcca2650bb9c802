//===- Evaluate.cpp - the loss of samples that are not trained on ---------===//

#include "passes/differentiate/Loss.h"
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
    auto isLoss = [&](unsigned i) { return !nn::isBesideLoss(function, i); };
    auto results = llvm::seq<unsigned>(0, function.getNumResults());
    if (llvm::count_if(results, isLoss) != 1) {
      function.emitError("has results of types ")
          << function.getResultTypes()
          << "; expected one loss, besides metrics and what the loss counts";
      return signalPassFailure();
    }
    {
      Program program(function);
      addTotals(program);
      if (failed(viewParameters(program, *states))) {
        return signalPassFailure();
      }
      insertGathers(program, *states);
    }
    // The program comes after those that train.
    function->moveBefore(layoutOf(module));
  }

  /// Adds the micro-batch's loss, its metrics and its count, times its weight,
  /// to those of all ranks, in f64: there may be many.
  void addTotals(Program &program) {
    unsigned known = program.function().getNumResults();
    for (unsigned i = 0; i < known; ++i) {
      Value number = numberOf(program, program.terminator()->getOperand(i));
      OpBuilder builder(program.terminator());
      nn::NNBuilder b(builder, number.getLoc());
      number = b.convert(number, builder.getF64Type());
      Value weight = program.scalar(kWeightScalar,
                                    cast<RankedTensorType>(number.getType()));
      Value weighed = b.mul(number, weight);
      if (!nn::isBesideLoss(program.function(), i)) {
        addTotal(program, weighed, kEvaluationRole,
                 "the loss of all that is evaluated");
      } else if (program.function().getResultAttr(i, nn::kMetricAttr)) {
        addMetric(program, i, weighed, kEvaluationMetricRole);
      } else {
        addTotal(program, weighed, kEvaluationCountRole,
                 "what the evaluated loss counts");
      }
    }
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

  /// Erases the parameters, which all are views by now.
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
