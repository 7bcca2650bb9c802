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

#endif // ZEROGRAPH_NN_INTERFACES
