//===- Differentiate.cpp - @forward to @micro -----------------------------===//

#include "passes/differentiate/Backward.h"
#include "passes/differentiate/Loss.h"
#include "passes/differentiate/Passes.h"
#include "passes/ir/nn/NNBuilder.h"
#include "passes/ir/nn/Queries.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::zg::nn {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "passes/differentiate/Passes.h.inc"
} // namespace mlir::zg::nn

using namespace mlir;
using namespace mlir::zg::nn;

namespace {

SmallVector<BlockArgument> trainableArguments(ProgramOp func) {
  SmallVector<BlockArgument> arguments;
  for (BlockArgument argument : func.getArguments()) {
    auto parameter = func.getArgAttrOfType<ParameterAttr>(
        argument.getArgNumber(), kParameterAttr);
    if (parameter && parameter.getTrainable()) {
      arguments.push_back(argument);
    }
  }
  return arguments;
}

ParameterAttr parameterOf(ProgramOp func, BlockArgument argument) {
  return func.getArgAttrOfType<ParameterAttr>(argument.getArgNumber(),
                                              kParameterAttr);
}

void freeze(ProgramOp func, BlockArgument argument) {
  func.setArgAttr(argument.getArgNumber(), kParameterAttr,
                  frozen(parameterOf(func, argument)));
}

void eraseDeadOps(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body))) {
    if (isOpTriviallyDead(&op)) {
      op.erase();
    }
  }
}

struct DifferentiatePass
    : mlir::zg::nn::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<ProgramOp>(kForwardFunction);
    if (!func || func.isExternal()) {
      emitError(getOperation().getLoc(),
                "has no function @forward to differentiate");
      return signalPassFailure();
    }
    if (failed(differentiate(func))) {
      return signalPassFailure();
    }
    getOperation().walk([](StopGradientOp op) {
      op.replaceAllUsesWith(op.getOperand());
      op.erase();
    });
  }

  LogicalResult differentiate(ProgramOp func) {
    FailureOr<unsigned> lossResult = findLoss(func, loss);
    if (failed(lossResult)) {
      return failure();
    }
    SmallVector<BlockArgument> variables = trainableArguments(func);
    if (variables.empty()) {
      return emitError(func.getLoc(), "no parameter is trainable");
    }
    Block &body = func.getBody().front();
    Operation *terminator = body.getTerminator();
    Value lossValue = terminator->getOperand(*lossResult);
    OpBuilder builder(terminator);
    auto gradients = buildBackward(builder, body, lossValue, variables, scaled);
    if (failed(gradients)) {
      return failure();
    }
    return finish(func, *lossResult, variables, *gradients);
  }

  /// Gives the function its new name, results and attributes.
  LogicalResult finish(ProgramOp func, unsigned lossResult,
                       ArrayRef<BlockArgument> variables,
                       ArrayRef<Value> gradients) {
    Builder builder(&getContext());
    Operation *terminator = func.getBody().front().getTerminator();
    SmallVector<Value> results;
    SmallVector<DictionaryAttr> attributes;
    auto keep = [&](unsigned result) {
      results.push_back(terminator->getOperand(result));
      attributes.push_back(func.getResultAttrDict(result));
    };
    keep(lossResult);
    StringRef lossName = outputName(func, lossResult);
    for (auto [variable, gradient] : llvm::zip(variables, gradients)) {
      StringAttr name = parameterOf(func, variable).getName();
      if (!gradient) {
        emitWarning(func.getLoc(), "the loss '")
            << lossName << "' does not depend on parameter '" << name.getValue()
            << "'; it is left as it is, as if frozen";
        freeze(func, variable);
        continue;
      }
      if (hasNextValue(func, name)) {
        return emitError(func.getLoc(), "parameter '")
               << name.getValue()
               << "' is trained and also changed by every micro-batch, as "
                  "running statistics are; freeze it (--freeze "
               << name.getValue() << ")";
      }
      results.push_back(gradient);
      attributes.push_back(
          builder.getDictionaryAttr(builder.getNamedAttr(kGradientAttr, name)));
    }
    if (results.size() == 1) {
      return emitError(func.getLoc(), "the loss '")
             << lossName << "' depends on no trainable parameter";
    }
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      if (func.getResultAttr(i, kNextValueAttr) || isBesideLoss(func, i)) {
        keep(i);
      }
    }
    terminator->setOperands(results);
    func.setFunctionType(builder.getFunctionType(
        func.getArgumentTypes(), ValueRange(results).getTypes()));
    func.setAllResultAttrs(attributes);
    func.setName(kMicroFunction);
    eraseDeadOps(func.getBody().front());
    return success();
  }
};

} // namespace
