//===- NNShapeOps.td - elements under other shapes ------------------------===//

#ifndef ZEROGRAPH_NN_SHAPE_OPS
#define ZEROGRAPH_NN_SHAPE_OPS

include "passes/ir/nn/NNBase.td"

def NN_BroadcastOp : NN_PureOp<"broadcast", [
    NN_PlainView, NN_Moves, NN_KeepsSamples]> {
  let summary = "Repeats dimensions of size 1.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<1x8xf32>) {
      %0 = nn.broadcast %x : tensor<1x8xf32> -> tensor<4x8xf32>
      nn.return
    }
    ```
    A new leading dimension is made by `nn.reshape` first.

    **Lifespan**: import to kernel forming, where it moves into its users.

    **Constraints:**
    - Operand and result have the same rank and element type.
    - Each operand dimension is 1 or that of the result.
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_ReshapeOp : NN_PureOp<"reshape", [
    NN_PlainView, NN_Moves, NN_MayOverwrite]> {
  let summary = "The same elements in row-major order under another shape.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
      nn.return
    }
    ```

    **Lifespan**: import to lowering into sched, where it becomes an alias or
    has moved into its users.

    **Constraints:**
    - Operand and result have the same element type and number of elements.
    - Where rows of either lie apart, both have the same rows.
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def NN_TransposeOp : NN_PureOp<"transpose", [NN_PlainView, NN_Moves]> {
  let summary = "Permutes the dimensions.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
      nn.return
    }
    ```
    Dimension `i` of the result is dimension `permutation[i]` of the operand.

    **Lifespan**: import to kernel forming, where it moves into its users.

    **Constraints:**
    - `permutation` is a permutation of the operand's dimensions.
    - The result has the permuted shape and the operand's element type.
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand $permutation attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizer = 1;
}

def NN_SliceOp : NN_PureOp<"slice", [NN_PlainView, NN_Moves]> {
  let summary = "A strided part of a tensor.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.slice %x [0, 2] step [1, 2]
          : tensor<4x8xf32> -> tensor<4x3xf32>
      nn.return
    }
    ```
    Element `i` of the result is element `starts + i * steps` of the operand.
    A step may be negative.

    **Lifespan**: import to kernel forming, where it moves into its users.

    **Constraints:**
    - Operand and result have the same element type and rank.
    - `starts` and `steps` have one entry a dimension; no step is 0.
    - Every element lies within the operand.
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$starts,
                       DenseI64ArrayAttr:$steps);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand $starts `step` $steps attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_PadOp : NN_PureOp<"pad", [NN_PlainView]> {
  let summary = "Adds a border of one value.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.pad %x [0, 1] value 0.0 : f32
          : tensor<4x8xf32> -> tensor<4x10xf32>
      nn.return
    }
    ```
    `low[d]` elements of `value` come before dimension `d`; the result's shape
    tells how many come after.

    **Lifespan**: import to kernel forming, where it moves into its users.

    **Constraints:**
    - Operand and result have the same element type and rank.
    - `low` has one entry a dimension, none negative.
    - The result is at least `low` + operand in each dimension.
    - `value` has the element type.
  }];
  let arguments = (ins NN_Tensor:$operand, DenseI64ArrayAttr:$low,
                       TypedAttrInterface:$value);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand $low `value` $value attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ConcatOp : NN_PureOp<"concat", [NN_Moves]> {
  let summary = "Joins tensors along one dimension.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>) {
      %0 = nn.concat %x, %y dim 1
          : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x10xf32>
      nn.return
    }
    ```

    **Lifespan**: import to `nn-decompose`, which makes selects of pads.

    **Constraints:**
    - `dim` is a dimension of the result.
    - At least one operand; all have the result's element type.
    - Shapes agree except in `dim`, whose sizes add up.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands, I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operands `dim` $dim attr-dict `:` type($operands) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_TakeRowsOp : NN_PureOp<"take_rows", [NN_SharesBytes]> {
  let summary = "Some rows of a tensor, where they lie.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<512x8xf32>) {
      %0 = nn.take_rows %x from 128 : tensor<512x8xf32> -> tensor<256x8xf32>
      nn.return
    }
    ```
    Unlike `nn.slice`, which kernels read through, it is another name for bytes
    of its operand: kernels of other rows are the same kernel. Parameters and
    literals have no such names: a parameter may be released, and a literal has
    no bytes.

    **Lifespan**: `nn-tile-rows` to lowering into sched, where it becomes an
    alias.

    **Constraints:**
    - Operand and result differ in their first dimension alone.
    - The rows are rows of the operand.
    - They begin at a multiple of 64 bytes.
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$first);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `from` $first attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_JoinRowsOp : NN_PureOp<"join_rows", [NN_SharesBytes]> {
  let summary = "The rows of tensors, one tensor after the other.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<256x8xf32>, %y: tensor<128x8xf32>) {
      %0 = nn.join_rows %x, %y
          : (tensor<256x8xf32>, tensor<128x8xf32>) -> tensor<384x8xf32>
      nn.return
    }
    ```
    Unlike `nn.concat`, which a kernel computes, it computes nothing: who makes
    an operand makes it where it lies in the result. An operand that must be
    elsewhere is copied.

    **Lifespan**: `nn-tile-rows` to lowering into sched.

    **Constraints:**
    - Operands and result differ in their first dimension alone.
    - The result has as many rows as all operands.
    - The rows of every operand begin at a multiple of 64 bytes of the result.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$parts);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $parts attr-dict `:` functional-type($parts, $result)
  }];
  let hasVerifier = 1;
}

#endif // ZEROGRAPH_NN_SHAPE_OPS
