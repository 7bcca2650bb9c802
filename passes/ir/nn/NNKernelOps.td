//===- NNKernelOps.td - groups of ops that become kernels -----------------===//

#ifndef ZEROGRAPH_NN_KERNEL_OPS
#define ZEROGRAPH_NN_KERNEL_OPS

include "passes/ir/nn/NNBase.td"

def NN_KernelOp : NN_PureOp<"kernel", [
    IsolatedFromAbove, SingleBlock]> {
  let summary = "A group of ops that becomes one generated kernel.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>, %bias: tensor<8xf32>) {
      %0 = nn.kernel rows (%a = %x, %b = %bias)
          : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
        %1 = nn.reshape %b : tensor<8xf32> -> tensor<1x8xf32>
        %2 = nn.broadcast %1 : tensor<1x8xf32> -> tensor<4x8xf32>
        %3 = nn.binary add %a, %2 : tensor<4x8xf32>
        nn.yield %3 : tensor<4x8xf32>
      }
      nn.return
    }
    ```
    Forms, over the kernel's iteration shape:

    - `rows`: `[..., C]`. Members are elementwise over the whole shape or over
      `[..., 1]`; reductions reduce the last dimension. A result has the whole
      shape or one element a row. Rows are independent and are split over
      threads.
    - `columns`: `[R, C]` or `[O, R, C]`. A result is a reduction of R, or has
      the whole shape; nothing in the kernel computes with a reduction.
      Elementwise ops make what is reduced or stored. Columns are split over
      threads.
    - `scan`: one `nn.cumsum`, the only result. `scatter`: one
      `nn.scatter`, the only result. Elementwise ops may make what it reads:
      cheap ones are computed in the kernel where that saves a buffer
      (`Materializer::tryRecompute`). There are no reductions. The `into` of a
      `nn.scatter` is an argument, perhaps reshaped, and the result may
      have its bytes.

    - `attention`: one `nn.attention` or `nn.attention_grad`, whose results,
      perhaps converted, are the kernel's. Gradients of queries, keys and values
      may be one result, an `nn.concat` of rows. Its operands are views of
      arguments, perhaps converted.

    In every form constants and iota are members, and arguments are read through
    views: chains of reshape, broadcast, transpose, slice, pad and gather
    (`passes/kernels/View.h` composes them into one address formula). The
    indices of a gather are not computed in its own kernel. `nn-verify-kernels`
    checks the rules of the forms.

    **Lifespan**: `nn-form-kernels` to lowering into sched, where it moves into
    a `sched.kernel`; there to the plan, whose machine code is made from it.

    **Constraints:**
    - The form is `rows`, `columns`, `scan`, `scatter` or `attention`.
    - Block arguments match the operands, yielded values the results, all of
      them without `row_stride`.
  }];
  let arguments = (ins NN_KernelFormAttr:$form, Variadic<NN_Tensor>:$operands);
  let results = (outs Variadic<NN_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    void getAsmBlockArgumentNames(::mlir::Region &region,
                                  ::mlir::OpAsmSetValueNameFn setName);
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NN_YieldOp : NN_Op<"yield", [Pure, Terminator,
    ParentOneOf<["KernelOp", "AttentionOp", "AttentionGradOp"]>]> {
  let summary = "Ends a kernel's body, or what becomes of scores.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.kernel rows (%a = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
        %1 = nn.unary neg %a : tensor<4x8xf32> -> tensor<4x8xf32>
        nn.yield %1 : tensor<4x8xf32>
      }
      nn.return
    }
    ```

    **Lifespan**: that of `nn.kernel` and `nn.attention`.

    **Constraints:**
    - Ends the body of a `nn.kernel`, or the region of a `nn.attention` or
      `nn.attention_grad`.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif // ZEROGRAPH_NN_KERNEL_OPS
