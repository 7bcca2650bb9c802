//===- NNInterfaces.td - what an op tells the passes ----------------------===//

#ifndef ZEROGRAPH_NN_INTERFACES
#define ZEROGRAPH_NN_INTERFACES

include "mlir/IR/OpBase.td"

def NN_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::mlir::zg::nn";
  let description = [{
    An op that can build its own gradient, as ordinary nn ops. Rules are
    attached as external models by `registerGradientRules`
    (passes/differentiate/Rules.h), so the dialect does not depend on them.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the gradients of the operands from those of the results.
        `resultGradients` has one entry a result; null: no gradient reaches
        it. `operandGradients` comes with one null entry an operand; the rule
        fills in those for which `wanted(i)` holds, each of its operand's type,
        and may leave one null where the gradient is zero everywhere (an
        integer operand, a step function). Inserts at the builder's point.
        Fails, with a diagnostic on the op, where no rule is known.
      }],
      "::llvm::LogicalResult", "buildGradient",
      (ins "::mlir::OpBuilder &":$builder,
           "::mlir::ValueRange":$resultGradients,
           "::llvm::function_ref<bool(unsigned)>":$wanted,
           "::llvm::MutableArrayRef<::mlir::Value>":$operandGradients)>
  ];
}

def NN_CompositeOpInterface : OpInterface<"CompositeOpInterface"> {
  let cppNamespace = "::mlir::zg::nn";
  let description = [{
    An op that core ops could say, and that a device may rather compute whole.
    `nn-decompose` asks `TargetInfo::keeps` for its `composite` and the type of
    its first operand. A composite and its gradient op have both in common: a
    device keeps the pair or neither, since the gradient reads what the forward
    op leaves for it as results.
  }];
  let methods = [
    InterfaceMethod<"Of which composite this is the op or the gradient op.",
      "::mlir::zg::nn::Composite", "getComposite">
  ];
}

#endif // ZEROGRAPH_NN_INTERFACES
