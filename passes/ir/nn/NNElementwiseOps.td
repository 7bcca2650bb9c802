//===- NNElementwiseOps.td - one element from one of each operand ---------===//

#ifndef ZEROGRAPH_NN_ELEMENTWISE_OPS
#define ZEROGRAPH_NN_ELEMENTWISE_OPS

include "passes/ir/nn/NNBase.td"

def NN_ConstantOp : NN_PureOp<"constant", [
    NN_Literal, ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor of at most 64 KiB, or a splat.";
  let description = [{
    ```mlir
    nn.program @example() {
      %0 = nn.constant dense<0.5> : tensor<4x8xf32>
      nn.return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into its users.

    **Constraints:**
    - `value` is a splat or holds at most 64 KiB.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_IotaOp : NN_PureOp<"iota", [NN_Literal, NN_Computes]> {
  let summary = "The index along one dimension.";
  let description = [{
    ```mlir
    nn.program @example() {
      // Every row is 0, 1, ... 7.
      %0 = nn.iota 1 : tensor<4x8xi64>
      nn.return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into its users.

    **Constraints:**
    - `dim` is a dimension of the result.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_UnaryOp : NN_PureOp<"unary", [
    NN_Elementwise, NN_Computes, NN_KeepsSamples, SameOperandsAndResultShape]> {
  let summary = "Applies a function to each element.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.unary tanh %x : tensor<4x8xf32> -> tensor<4x8xf32>
      nn.return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - `is_nan` and `is_inf` give i1; every other function gives its operand's
      type.
    - `logical_not` takes i1; `neg`, `abs` and `sign` floats and integers
      but not i1; the others floats. `NNEnums.td` says it of each function.
  }];
  let arguments = (ins NN_UnaryKindAttr:$kind, NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = kindFirst # [{
    $operand attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_BinaryOp : NN_PureOp<"binary", [
    NN_Elementwise, NN_Computes, NN_KeepsSamples, SameOperandsAndResultType]> {
  let summary = "Combines two tensors element by element.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
      %0 = nn.binary add %x, %y : tensor<4x8xf32>
      nn.return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - The logical functions take i1, the others anything but i1.
    - `pow` takes floats.
  }];
  let arguments = (ins NN_BinaryKindAttr:$kind, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = kindFirst # "$lhs `,` $rhs attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_CompareOp : NN_PureOp<"compare", [
    NN_Elementwise, NN_Computes, NN_KeepsSamples,
    SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Compares two tensors element by element.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
      %0 = nn.compare lt %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
      nn.return
    }
    ```
    With a NaN every comparison is false but `ne`.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - Operands have one type; the result has their shape and holds i1.
  }];
  let arguments = (ins NN_CompareKindAttr:$kind, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let results = (outs NN_BoolTensor:$result);
  let assemblyFormat = kindFirst # [{
    $lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)
  }];
}

def NN_SelectOp : NN_PureOp<"select", [
    NN_Elementwise, NN_Moves, NN_KeepsSamples,
    AllTypesMatch<["on_true", "on_false", "result"]>,
    AllShapesMatch<["condition", "result"]>]> {
  let summary = "Chooses between two tensors element by element.";
  let description = [{
    ```mlir
    nn.program @example(%c: tensor<4x8xi1>, %x: tensor<4x8xf32>,
                       %y: tensor<4x8xf32>) {
      %0 = nn.select %c, %x, %y : tensor<4x8xi1>, tensor<4x8xf32>
      nn.return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - Both values have the type of the result, the condition its shape.
  }];
  let arguments = (ins NN_BoolTensor:$condition, NN_Tensor:$on_true,
                       NN_Tensor:$on_false);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $condition `,` $on_true `,` $on_false attr-dict
    `:` type($condition) `,` type($result)
  }];
}

def NN_StopGradientOp : NN_PureOp<"stop_gradient", [
    NN_Moves, NN_KeepsSamples, SameOperandsAndResultType]> {
  let summary = "The operand, through which no gradient flows.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.stop_gradient %x : tensor<4x8xf32>
      nn.return
    }
    ```

    PyTorch's `detach()`, and what it computes under `no_grad()`.

    **Lifespan**: import to `nn-differentiate`, which replaces it by its
    operand.
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
}

def NN_ConvertOp : NN_PureOp<"convert", [
    NN_Elementwise, NN_KeepsSamples, SameOperandsAndResultShape]> {
  let summary = "Converts each element to another type.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xi64>) {
      %0 = nn.convert %x : tensor<4x8xi64> -> tensor<4x8xf32>
      nn.return
    }
    ```
    Float to integer truncates, and gives the least or the greatest integer
    where the number is beyond it, 0 for a NaN; to i1 means "is not zero"; i1 to
    anything gives 0 or 1; between floats rounds to nearest even.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - Operand and result have the same shape.
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def NN_ScalarOp : NN_PureOp<"scalar"> {
  let summary = "A number that the runtime knows when it runs a micro-batch.";
  let description = [{
    ```mlir
    nn.program @example() {
      %0 = nn.scalar "sample_base" : tensor<1xi64>
      nn.return
    }
    ```
    `seed` is the run's; `step` counts its steps from 1; `sample_base` is
    the place of the micro-batch's first sample in the global batch;
    `loss_scale` is what backward begins with.

    **Lifespan**: `nn-differentiate` (`loss_scale`) or `nn-decompose` to
    `zero-bind-scalars`, where it becomes an argument of the program with
    `nn.scalar`.

    **Constraints:**
    - `name` is `seed`, `step`, `sample_base` or `loss_scale`.
    - The result is a `tensor<1xi64>`, of `loss_scale` a `tensor<1xf32>`.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_RandomUniformOp : NN_PureOp<"random_uniform", [
    NN_Elementwise, NN_Costly, SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Numbers in [0, 1) that follow from seed, step and index.";
  let description = [{
    ```mlir
    nn.program @example(%seed: tensor<4x8xi64>, %step: tensor<4x8xi64>,
                       %index: tensor<4x8xi64>) {
      %0 = nn.random_uniform %seed, %step, %index number 3
          : tensor<4x8xi64> -> tensor<4x8xf32>
      nn.return
    }
    ```
    An elementwise function: 2^-24 times the upper 24 bits of the first word of
    Philox4x32-10 with the counter `(index, index >> 32, number, step)` and the
    key `(seed, seed >> 32)`, each word of 32 bits. `number` tells the op from
    the model's other ones. Who computes an element, where, and how often makes
    no difference, so that kernels make these numbers again rather than keep
    them.

    **Lifespan**: `nn-decompose` to kernel forming, where it moves into a
    `nn.kernel`.

    **Constraints:**
    - The operands are i64 and have one type; the result has their shape.
    - `number` is not negative and has at most 32 bits.
  }];
  let arguments = (ins NN_IntTensor:$seed, NN_IntTensor:$step,
                       NN_IntTensor:$index, I64Attr:$number);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $seed `,` $step `,` $index `number` $number attr-dict
    `:` type($index) `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // ZEROGRAPH_NN_ELEMENTWISE_OPS
