//===- NNProgramOps.td - programs -----------------------------------------===//

#ifndef ZEROGRAPH_NN_PROGRAM_OPS
#define ZEROGRAPH_NN_PROGRAM_OPS

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "passes/ir/nn/NNBase.td"

def NN_ProgramOp : NN_Op<"program", [FunctionOpInterface, IsolatedFromAbove]> {
  let summary = "What one rank computes from what it is given.";
  let description = [{
    ```mlir
    nn.program @forward(%x: tensor<4x8xf32>, %bias: tensor<4x8xf32>) {
      %sum = nn.binary add %x, %bias : tensor<4x8xf32>
      nn.return %sum : tensor<4x8xf32>
    } where (
      %x {nn.input = #nn.input<"x", per_sample = true>}
    ) -> (
      tensor<4x8xf32> {nn.output = "y", nn.per_sample}
    )
    ```
    A function whose signature is short to read: what its arguments and results
    mean stands after the body. It may stand in the signature too, as that of a
    `func.func` does. An argument's location is its name.

    **Lifespan**: import to lowering into sched, where it becomes a
    `sched.program`.

    **Constraints:**
    - Arguments of the body match those of the type.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>
  ];
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    void getAsmBlockArgumentNames(::mlir::Region &region,
                                  ::mlir::OpAsmSetValueNameFn setName);
  }];
  let hasCustomAssemblyFormat = 1;
}

def NN_ReturnOp : NN_Op<"return", [
    Pure, Terminator, ReturnLike, HasParent<"ProgramOp">]> {
  let summary = "Ends a program with its results.";
  let description = [{
    ```mlir
    nn.program @same(%x: tensor<4xf32>) -> tensor<4xf32> {
      nn.return %x : tensor<4xf32>
    }
    ```

    **Lifespan**: that of `nn.program`.

    **Constraints:**
    - Ends the body of a `nn.program`, whose results have the operands' types.
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let builders = [OpBuilder<(ins), "build($_builder, $_state, std::nullopt);">];
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

#endif // ZEROGRAPH_NN_PROGRAM_OPS
