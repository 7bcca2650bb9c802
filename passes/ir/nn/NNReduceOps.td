//===- NNReduceOps.td - reductions, contractions, indexing ----------------===//

#ifndef ZEROGRAPH_NN_REDUCE_OPS
#define ZEROGRAPH_NN_REDUCE_OPS

include "passes/ir/nn/NNBase.td"

def NN_ReduceOp : NN_PureOp<"reduce", [NN_Computes]> {
  let summary = "Reduces dimensions to size 1.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.reduce sum %x [1] : tensor<4x8xf32> -> tensor<4x1xf32>
      %1 = nn.reduce max %x [1] first : tensor<4x8xf32> -> tensor<4x1xf32>
      nn.return
    }
    ```
    The order of additions follows from the shape alone: a row of more than
    4,096 columns is reduced in segments of as many, which are then folded in
    order. Of max and min the order does not matter: -0 is less than +0, and a
    NaN wins. Equal elements share the gradient of their maximum or minimum;
    `first`: the first of them gets it.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - `dims` are distinct dimensions of the operand, ascending.
    - The result has size 1 in `dims`, the operand's size elsewhere, and the
      operand's element type.
    - `first` is of max and min alone.
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$operand,
                       DenseI64ArrayAttr:$dims, UnitAttr:$first);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = kindFirst # [{
    $operand $dims (`first` $first^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_CumsumOp : NN_PureOp<"cumsum", [
    NN_AloneInScan, NN_Computes, SameOperandsAndResultType]> {
  let summary = "Running sums along one dimension.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xi64>) {
      %0 = nn.cumsum %x dim 1 : tensor<4x8xi64>
      %1 = nn.cumsum %x dim 1 exclusive reverse : tensor<4x8xi64>
      nn.return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`
    of the form `scan`.

    **Constraints:**
    - `dim` is a dimension of the operand.
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$dim, UnitAttr:$exclusive,
                       UnitAttr:$reverse);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operand `dim` $dim (`exclusive` $exclusive^)? (`reverse` $reverse^)?
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def NN_MatmulOp : NN_PureOp<"matmul", [
    AttrSizedOperandSegments, NN_LibraryCall, NN_Computes, NN_Product]> {
  let summary = "Products of matrices.";
  let description = [{
    ```mlir
    nn.program @example(%a: tensor<2x4x8xf32>, %b: tensor<2x16x8xf32>) {
      %0 = nn.matmul %a, %b transpose_b
          : tensor<2x4x8xf32>, tensor<2x16x8xf32> -> tensor<2x4x16xf32>
      nn.return
    }
    ```
    The last two dimensions are matrices, `[M, K] x [K, N] -> [M, N]` after
    the transpositions; the leading ones are batches. Products of f16 and bf16
    are added in f32, and the sum is rounded once, or not at all where the
    result is f32. Becomes a library call.

    With `into %c` the products are added to `%c`, which gives its buffer to the
    result where nothing reads it later: so a sum of several products needs one
    buffer. With `bias %v` a number a column is added to every row before the
    sum is rounded.

    **Lifespan**: import to lowering into sched, where it becomes a
    `sched.matmul`; where no library takes its type, it moves into a
    `sched.kernel`. `into` comes from `nn-tile-rows`, `bias` from `nn-fuse-bias`.

    **Constraints:**
    - Operands have one float type; so has the result, or, of f16 and bf16, f32.
    - All three have the same rank, at least 2.
    - Batch dimensions are equal; M, K and N agree.
    - `into` has the type of the result; `bias` is a vector of N of its elements.
      There is at most one of them.
  }];
  let arguments = (ins NN_FloatTensor:$lhs, NN_FloatTensor:$rhs,
                       Optional<NN_FloatTensor>:$into,
                       Optional<NN_FloatTensor>:$bias, UnitAttr:$transpose_a,
                       UnitAttr:$transpose_b);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)?
    (`into` $into^ `:` type($into))? (`bias` $bias^ `:` type($bias))?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ConvolutionOp : NN_PureOp<"convolution", [
    NN_LibraryCall, NN_Computes, NN_Product]> {
  let summary = "A convolution, or one of its two gradients.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<2x3x8x8xf32>, %w: tensor<16x3x3x3xf32>,
                       %dy: tensor<2x16x4x4xf32>) {
      %y = nn.convolution forward %x, %w strides [2, 2] low [1, 1]
          dilations [1, 1] groups 1
          : tensor<2x3x8x8xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x4x4xf32>
      %dx = nn.convolution input %dy, %w strides [2, 2] low [1, 1]
          dilations [1, 1] groups 1
          : tensor<2x16x4x4xf32>, tensor<16x3x3x3xf32> -> tensor<2x3x8x8xf32>
      %dw = nn.convolution weights %x, %dy strides [2, 2] low [1, 1]
          dilations [1, 1] groups 1
          : tensor<2x3x8x8xf32>, tensor<2x16x4x4xf32> -> tensor<16x3x3x3xf32>
      nn.return
    }
    ```
    Input `[N, C, places...]`, weights `[K, C / groups, window...]`, output
    `[N, K, places...]`. `forward` computes the output of input and weights;
    `input` and `weights` are its transposes: the gradient of the one by that
    of the output and the other. `low` zeros lie in front of the input, and
    after it as many as the last window reaches. Becomes a library call.

    **Lifespan**: import to lowering into sched, where it becomes a
    `sched.convolution`; to `nn-decompose` where no library takes its type.

    **Constraints:**
    - All three have the same rank, at least 3.
    - The operands have the same float type, and so has the result; of f16 and
      bf16 it may also have f32, the sum.
    - Strides, low and dilations have one number for each place dimension.
    - The groups divide the channels of input and output, and samples agree.
    - The windows fit the input: after the last one less is left than would
      make another.
  }];
  let arguments = (ins NN_ConvolutionKindAttr:$kind, NN_FloatTensor:$lhs,
                       NN_FloatTensor:$rhs, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$dilations,
                       I64Attr:$groups);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = kindFirst # [{
    $lhs `,` $rhs `strides` $strides `low` $low `dilations` $dilations
    `groups` $groups attr-dict
    `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_PoolOp : NN_PureOp<"pool"> {
  let summary = "Windows along one dimension reduced to one element each.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<2x3x8xf32>) {
      %max:2 = nn.pool max %x dim 2 window 3 stride 2 dilation 1 low 1
          : tensor<2x3x8xf32> -> tensor<2x3x4xf32>, tensor<2x3x4xi8>
      %sum = nn.pool sum %x dim 2 window 2 stride 2 dilation 1 low 0
          : tensor<2x3x8xf32> -> tensor<2x3x4xf32>
      nn.return
    }
    ```
    Window `i` is of the elements `i * stride - low + t * dilation`, `t` from 0
    to `window - 1`. What lies outside counts as 0 of a sum, and as the smallest
    number of a maximum. Of several dimensions one is pooled after the other.

    `max` has a second result: where in its window the maximum was,
    `t * dilation`. A NaN is the largest; of equal elements it is the first that
    is not outside, though the last of several NaNs. The gradient flows there
    alone. Of a window that is all outside, the place means nothing.

    **Lifespan**: import to `nn-decompose`.

    **Constraints:**
    - The kind is `sum` or `max`; `dim` is a dimension of the operand, which is
      not of `i1`.
    - `window`, `stride` and `dilation` are at least 1, `low` at least 0.
    - The result differs from the operand in the size of `dim` alone.
    - `max` has the second result, of the shape of the first and of a type of at
      most 32 bits that takes the last element's place; `sum` has none.
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$operand,
                       I64Attr:$dim, I64Attr:$window, I64Attr:$stride,
                       I64Attr:$dilation, I64Attr:$low);
  let results = (outs NN_Tensor:$result, Optional<NN_Tensor>:$place);
  let assemblyFormat = kindFirst # [{
    $operand `dim` $dim `window` $window `stride` $stride `dilation` $dilation
    `low` $low attr-dict
    `:` type($operand) `->` type($result) (`,` type($place)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the place of the last element of a window.
    int64_t getLastPlace() { return (getWindow() - 1) * getDilation(); }
    /// Returns the size of the pooled dimension, with what is outside and seen.
    int64_t getPaddedSize() {
      int64_t last = getResult().getType().getDimSize(getDim()) - 1;
      return std::max<int64_t>(
          getLow() + getOperand().getType().getDimSize(getDim()),
          last * getStride() + getLastPlace() + 1);
    }
  }];
}

def NN_GatherOp : NN_PureOp<"gather", [NN_View, NN_Moves]> {
  let summary = "Rows of a table.";
  let description = [{
    ```mlir
    nn.program @example(%table: tensor<256x128xf32>, %ids: tensor<4x64xi64>) {
      %0 = nn.gather %table, %ids
          : tensor<256x128xf32>, tensor<4x64xi64> -> tensor<4x64x128xf32>
      nn.return
    }
    ```
    `result[i..., r...] = table[ids[i...], r...]`. An index outside the table
    is clamped into it: nothing is read out of bounds. If it has the attribute
    `nn.padding = ROW : i64`, its gradient leaves that row of the table out.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - The result's shape is that of the indices, then the table's but its
      leading dimension.
    - The table has rank 1 or more and the result's element type.
  }];
  let arguments = (ins NN_Tensor:$table, NN_IndexTensor:$indices);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $table `,` $indices attr-dict
    `:` type($table) `,` type($indices) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ScatterOp : NN_PureOp<"scatter", [
    NN_AloneInScatter, NN_Computes,
    OptionalTypesMatchWith<"the table and the result have the same type",
                           "result", "into", "$_self">]> {
  let summary = "Brings rows into a table; sum: the gradient of gather.";
  let description = [{
    ```mlir
    nn.program @example(%ids: tensor<4x64xi64>, %rows: tensor<4x64x128xf32>,
                       %table: tensor<256x128xf32>) {
      %0 = nn.scatter sum %ids, %rows
          : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
      %1 = nn.scatter max %ids, %rows into %table
          : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
      nn.return
    }
    ```
    The result begins as `into`, as zeros where there is none. Then each
    `result[ids[i...], r...]` is combined with `rows[i..., r...]`, in the order
    of `i`, so that of several rows `set` leaves the last. An index outside the
    table is clamped into it. max and min are those of `nn.reduce`.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`
    of the form `scatter`. The `into` of a sum comes from the importer or from
    `nn-simplify-scatter`.

    **Constraints:**
    - The result has rank 1 or more.
    - The shape of the rows is that of the indices, then the result's but its
      leading dimension.
    - Rows and result have the same element type.
    - `into` has the type of the result. Only a sum goes without.
  }];
  let arguments = (ins NN_ScatterKindAttr:$kind, NN_IndexTensor:$indices,
                       NN_Tensor:$updates, Optional<NN_Tensor>:$into);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = kindFirst # [{
    $indices `,` $updates (`into` $into^)? attr-dict
    `:` type($indices) `,` type($updates) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// How an element of the table combines with one of a row; none: the row's
    /// replaces it.
    std::optional<::mlir::zg::nn::ReduceKind> getCombine();
  }];
  let hasVerifier = 1;
}

#endif // ZEROGRAPH_NN_REDUCE_OPS
