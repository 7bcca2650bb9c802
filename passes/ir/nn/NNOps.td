//===- NNOps.td - the ops of the nn dialect -------------------------------===//

#ifndef ZEROGRAPH_NN_OPS
#define ZEROGRAPH_NN_OPS

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "passes/ir/nn/NNAttrs.td"
include "passes/ir/nn/NNInterfaces.td"

def NN_Float : AnyTypeOf<[F16, BF16, F32, F64]>;
def NN_Int : AnyTypeOf<[AnySignlessInteger, UI8]>; // i1, i8, ui8, i16, i32, i64
def NN_Element : AnyTypeOf<[NN_Float, NN_Int]>;
def NN_Tensor : StaticShapeTensorOf<[NN_Element]>;
def NN_FloatTensor : StaticShapeTensorOf<[NN_Float]>;
def NN_IntTensor : StaticShapeTensorOf<[NN_Int]>;
def NN_BoolTensor : StaticShapeTensorOf<[I1]>;
def NN_IndexTensor : StaticShapeTensorOf<[I32, I64]>;

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, traits> {
  // An enum attribute prints a space before itself: none but that one.
  string kindFirst = "`` $kind ";
}
class NN_PureOp<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic, !listconcat([Pure], traits)>;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def NN_ConstantOp : NN_PureOp<"constant", [
    ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "A constant tensor of at most 64 KiB, or a splat.";
  let description = [{
    ```mlir
    func.func @example() {
      %0 = nn.constant dense<0.5> : tensor<4x8xf32>
      return
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

def NN_IotaOp : NN_PureOp<"iota"> {
  let summary = "The index along one dimension.";
  let description = [{
    ```mlir
    func.func @example() {
      // Every row is 0, 1, ... 7.
      %0 = nn.iota 1 : tensor<4x8xi64>
      return
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

def NN_UnaryOp : NN_PureOp<"unary", [SameOperandsAndResultShape]> {
  let summary = "Applies a function to each element.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.unary tanh %x : tensor<4x8xf32> -> tensor<4x8xf32>
      return
    }
    ```

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - `is_nan` and `is_inf` take floats and give i1; every other function
      gives its operand's type.
    - `logical_not` takes i1; `neg`, `abs` and `sign` floats and integers
      but not i1; the others floats.
  }];
  let arguments = (ins NN_UnaryKindAttr:$kind, NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = kindFirst # [{
    $operand attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_BinaryOp : NN_PureOp<"binary", [SameOperandsAndResultType]> {
  let summary = "Combines two tensors element by element.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
      %0 = nn.binary add %x, %y : tensor<4x8xf32>
      return
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
    SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Compares two tensors element by element.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) {
      %0 = nn.compare lt %x, %y : tensor<4x8xf32> -> tensor<4x8xi1>
      return
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
    AllTypesMatch<["on_true", "on_false", "result"]>,
    AllShapesMatch<["condition", "result"]>]> {
  let summary = "Chooses between two tensors element by element.";
  let description = [{
    ```mlir
    func.func @example(%c: tensor<4x8xi1>, %x: tensor<4x8xf32>,
                       %y: tensor<4x8xf32>) {
      %0 = nn.select %c, %x, %y : tensor<4x8xi1>, tensor<4x8xf32>
      return
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

def NN_ConvertOp : NN_PureOp<"convert", [SameOperandsAndResultShape]> {
  let summary = "Converts each element to another type.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xi64>) {
      %0 = nn.convert %x : tensor<4x8xi64> -> tensor<4x8xf32>
      return
    }
    ```
    Float to integer truncates; to i1 means "is not zero"; i1 to anything gives
    0 or 1; between floats rounds to nearest even.

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
    func.func @example() {
      %0 = nn.scalar "sample_base" : tensor<1xi64>
      return
    }
    ```
    `seed` is the run's; `step` counts optimizer steps from 1; `sample_base` is
    the place of the micro-batch's first sample in the global batch.

    **Lifespan**: `nn-decompose` to `zero-shard`, where it becomes an argument
    of the program with `nn.scalar`.

    **Constraints:**
    - `name` is `seed`, `step` or `sample_base`.
    - The result is a `tensor<1xi64>`.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs NN_IntTensor:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_RandomUniformOp : NN_PureOp<"random_uniform", [
    SameTypeOperands, SameOperandsAndResultShape]> {
  let summary = "Numbers in [0, 1) that follow from seed, step and index.";
  let description = [{
    ```mlir
    func.func @example(%seed: tensor<4x8xi64>, %step: tensor<4x8xi64>,
                       %index: tensor<4x8xi64>) {
      %0 = nn.random_uniform %seed, %step, %index number 3
          : tensor<4x8xi64> -> tensor<4x8xf32>
      return
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

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def NN_BroadcastOp : NN_PureOp<"broadcast"> {
  let summary = "Repeats dimensions of size 1.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<1x8xf32>) {
      %0 = nn.broadcast %x : tensor<1x8xf32> -> tensor<4x8xf32>
      return
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

def NN_ReshapeOp : NN_PureOp<"reshape"> {
  let summary = "The same elements in row-major order under another shape.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
      return
    }
    ```

    **Lifespan**: import to lowering into sched, where it becomes an alias or
    has moved into its users.

    **Constraints:**
    - Operand and result have the same element type and number of elements.
  }];
  let arguments = (ins NN_Tensor:$operand);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_TransposeOp : NN_PureOp<"transpose"> {
  let summary = "Permutes the dimensions.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
      return
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
}

def NN_SliceOp : NN_PureOp<"slice"> {
  let summary = "A strided part of a tensor.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.slice %x [0, 2] step [1, 2]
          : tensor<4x8xf32> -> tensor<4x3xf32>
      return
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

def NN_PadOp : NN_PureOp<"pad"> {
  let summary = "Adds a border of one value.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.pad %x [0, 1] value 0.0 : f32
          : tensor<4x8xf32> -> tensor<4x10xf32>
      return
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

def NN_ConcatOp : NN_PureOp<"concat"> {
  let summary = "Joins tensors along one dimension.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>) {
      %0 = nn.concat %x, %y dim 1
          : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x10xf32>
      return
    }
    ```

    **Lifespan**: import to `nn-decompose`, which makes selects of pads.

    **Constraints:**
    - `dim` is a dimension of the result.
    - At least one operand; all have the result's element type.
    - Shapes agree but for `dim`, whose sizes add up.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands, I64Attr:$dim);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = [{
    $operands `dim` $dim attr-dict `:` type($operands) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Reductions, contractions, indexing
//===----------------------------------------------------------------------===//

def NN_ReduceOp : NN_PureOp<"reduce"> {
  let summary = "Reduces dimensions to size 1.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.reduce sum %x [1] : tensor<4x8xf32> -> tensor<4x1xf32>
      return
    }
    ```
    The order of additions follows from the shape alone. max and min propagate
    NaN.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`.

    **Constraints:**
    - `dims` are distinct dimensions of the operand, ascending.
    - The result has size 1 in `dims`, the operand's size elsewhere, and the
      operand's element type.
  }];
  let arguments = (ins NN_ReduceKindAttr:$kind, NN_Tensor:$operand,
                       DenseI64ArrayAttr:$dims);
  let results = (outs NN_Tensor:$result);
  let assemblyFormat = kindFirst # [{
    $operand $dims attr-dict `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def NN_CumsumOp : NN_PureOp<"cumsum", [SameOperandsAndResultType]> {
  let summary = "Running sums along one dimension.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xi64>) {
      %0 = nn.cumsum %x dim 1 : tensor<4x8xi64>
      %1 = nn.cumsum %x dim 1 exclusive reverse : tensor<4x8xi64>
      return
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

def NN_MatmulOp : NN_PureOp<"matmul"> {
  let summary = "Products of matrices.";
  let description = [{
    ```mlir
    func.func @example(%a: tensor<2x4x8xf32>, %b: tensor<2x16x8xf32>) {
      %0 = nn.matmul %a, %b transpose_b
          : tensor<2x4x8xf32>, tensor<2x16x8xf32> -> tensor<2x4x16xf32>
      return
    }
    ```
    The last two dimensions are matrices, `[M, K] x [K, N] -> [M, N]` after
    the transpositions; the leading ones are batches. Becomes a library call.

    **Lifespan**: import to lowering into sched, where it becomes a
    `sched.matmul`; where no library takes its type, it moves into a
    `sched.kernel`.

    **Constraints:**
    - Operands and result have the same float type and rank, at least 2.
    - Batch dimensions are equal; M, K and N agree.
  }];
  let arguments = (ins NN_FloatTensor:$lhs, NN_FloatTensor:$rhs,
                       UnitAttr:$transpose_a, UnitAttr:$transpose_b);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)?
    attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_ConvolutionOp : NN_PureOp<"convolution"> {
  let summary = "A convolution, or one of its two gradients.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<2x3x8x8xf32>, %w: tensor<16x3x3x3xf32>,
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
      return
    }
    ```
    Input `[N, C, places...]`, weights `[K, C / groups, window...]`, output
    `[N, K, places...]`. `forward` computes the output of input and weights;
    `input` and `weights` are its transposes: the gradient of the one by that
    of the output and the other. `low` zeros lie in front of the input, and
    behind it as many as the last window reaches. Becomes a library call.

    **Lifespan**: import to lowering into sched, where it becomes a
    `sched.convolution`.

    **Constraints:**
    - All three have the same float type and rank, at least 3.
    - Strides, low and dilations have one number for each place dimension.
    - The groups divide the channels of input and output, and samples agree.
    - The windows fit the input: behind the last one less is left than would
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

def NN_GatherOp : NN_PureOp<"gather"> {
  let summary = "Rows of a table.";
  let description = [{
    ```mlir
    func.func @example(%table: tensor<256x128xf32>, %ids: tensor<4x64xi64>) {
      %0 = nn.gather %table, %ids
          : tensor<256x128xf32>, tensor<4x64xi64> -> tensor<4x64x128xf32>
      return
    }
    ```
    `result[i..., r...] = table[ids[i...], r...]`. An index outside the table
    is clamped into it: nothing is read out of bounds.

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

def NN_ScatterAddOp : NN_PureOp<"scatter_add", [
    OptionalTypesMatchWith<"the table and the result have the same type",
                           "result", "into", "$_self">]> {
  let summary = "Adds rows into a table: the gradient of gather.";
  let description = [{
    ```mlir
    func.func @example(%ids: tensor<4x64xi64>, %rows: tensor<4x64x128xf32>,
                       %table: tensor<256x128xf32>) {
      %0 = nn.scatter_add %ids, %rows
          : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
      %1 = nn.scatter_add %ids, %rows into %table
          : tensor<4x64xi64>, tensor<4x64x128xf32> -> tensor<256x128xf32>
      return
    }
    ```
    The result begins as `into`, as zeros where there is none. Then
    `result[ids[i...], r...] += rows[i..., r...]`, in the order of `i`. An
    index outside the table is clamped into it.

    **Lifespan**: import to kernel forming, where it moves into a `nn.kernel`
    of the form `scatter`. `into` comes from `nn-simplify-scatter`.

    **Constraints:**
    - The result has rank 1 or more.
    - The shape of the rows is that of the indices, then the result's but its
      leading dimension.
    - Rows and result have the same element type.
    - `into` has the type of the result.
  }];
  let arguments = (ins NN_IndexTensor:$indices, NN_Tensor:$updates,
                       Optional<NN_Tensor>:$into);
  let results = (outs NN_Tensor:$result);
  let builders = [
    OpBuilder<(ins "Type":$type, "Value":$indices, "Value":$updates), [{
      build($_builder, $_state, type, indices, updates, /*into=*/Value());
    }]>
  ];
  let assemblyFormat = [{
    $indices `,` $updates (`into` $into^)? attr-dict
    `:` type($indices) `,` type($updates) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

def NN_SoftmaxOp : NN_PureOp<"softmax", [SameOperandsAndResultType]> {
  let summary = "Softmax along the last dimension.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.softmax %x : tensor<4x8xf32>
      return
    }
    ```
    `exp(x - max) / sum(exp(x - max))`.

    **Lifespan**: import to `nn-decompose`.

    **Constraints:**
    - Rank 1 or more.
  }];
  let arguments = (ins NN_FloatTensor:$operand);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_LayerNormOp : NN_PureOp<"layer_norm", [
    AllTypesMatch<["operand", "result"]>, AllTypesMatch<["scale", "bias"]>]> {
  let summary = "Normalizes the last dimension.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>, %scale: tensor<8xf32>,
                       %bias: tensor<8xf32>) {
      %y, %mean, %rstd = nn.layer_norm %x, %scale, %bias epsilon 1.0e-5
          : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
      return
    }
    ```
    `mean = sum(x) / C`, `rstd = 1 / sqrt(sum((x - mean)^2) / C + epsilon)`,
    `y = (x - mean) * rstd * scale + bias`. The statistics keep the last
    dimension with size 1.

    **Lifespan**: import to `nn-decompose`.

    **Constraints:**
    - The operand has rank 1 or more; its last dimension is C.
    - Scale and bias have the shape `[C]`, and the operand's element type.
    - The statistics have the operand's shape but size 1 at the end.
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$scale,
                       NN_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs NN_FloatTensor:$result, NN_FloatTensor:$mean,
                      NN_FloatTensor:$rstd);
  let assemblyFormat = [{
    $operand `,` $scale `,` $bias `epsilon` $epsilon attr-dict
    `:` type($operand) `,` type($scale) `->` type($mean) `,` type($rstd)
  }];
  let hasVerifier = 1;
}

def NN_SoftmaxCrossEntropyOp : NN_PureOp<"softmax_cross_entropy"> {
  let summary = "Negative log-likelihood of a label under softmax, row by row.";
  let description = [{
    ```mlir
    func.func @example(%logits: tensor<4x8xf32>, %labels: tensor<4x1xi64>) {
      %loss, %lse = nn.softmax_cross_entropy %logits, %labels
          : tensor<4x8xf32>, tensor<4x1xi64> -> tensor<4x1xf32>, tensor<4x1xf32>
      return
    }
    ```
    `lse = max + log(sum(exp(x - max)))`, `loss = lse - x[label]`. A label
    outside `[0, C)` selects nothing, `loss = lse`, with the gradient of lse;
    ignored labels are masked by the ops around it.

    **Lifespan**: import to `nn-decompose`.

    **Constraints:**
    - Logits are `[N, C]`; labels, loss and lse `[N, 1]`.
    - Loss and lse have the element type of the logits.
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IndexTensor:$labels);
  let results = (outs NN_FloatTensor:$loss, NN_FloatTensor:$lse);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict
    `:` type($logits) `,` type($labels) `->` type($loss) `,` type($lse)
  }];
  let hasVerifier = 1;
}

def NN_DropoutOp : NN_PureOp<"dropout", [
    AllTypesMatch<["operand", "result"]>]> {
  let summary = "Sets elements to zero at random and scales the others.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %y, %mask = nn.dropout %x ratio 0.1 number 3 samples [0, 4]
          : tensor<4x8xf32> -> tensor<4x8xi1>
      return
    }
    ```
    `mask = u >= ratio`, where u is `nn.random_uniform` of this `number`;
    `y = mask ? x * (1 / (1 - ratio)) : 0`. The index that u is made of is
    `sample * E + rest`: the sample's place in the global batch, the number E
    of elements of one sample, and the element's place in row-major order
    among them. So the masks do not depend on how samples are divided.

    `samples = [dim, count]` says that `count` samples are the leading factor
    of dimension `dim`; `[]` that the value does not depend on samples: each
    has the same mask. The gradient is the same op, on the gradient.

    **Lifespan**: import to `nn-decompose`. `nn-track-samples` gives it its
    `samples`.

    **Constraints:**
    - `ratio` is at least 0 and less than 1.
    - `number` is not negative and has at most 32 bits.
    - `samples` is absent, `[]`, or a dimension and a number that divides its
      size.
    - The mask has the operand's shape.
  }];
  let arguments = (ins NN_FloatTensor:$operand, F64Attr:$ratio,
                       I64Attr:$number,
                       OptionalAttr<DenseI64ArrayAttr>:$samples);
  let results = (outs NN_FloatTensor:$result, NN_BoolTensor:$mask);
  let assemblyFormat = [{
    $operand `ratio` $ratio `number` $number (`samples` $samples^)? attr-dict
    `:` type($operand) `->` type($mask)
  }];
  let hasVerifier = 1;
}

def NN_RandomLikeOp : NN_PureOp<"random_like", [
    SameOperandsAndResultShape]> {
  let summary = "Random numbers in [0, 1) in the shape of a value.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf64>) {
      %u = nn.random_like %x number 3 samples [0, 4]
          : tensor<4x8xf64> -> tensor<4x8xf32>
      return
    }
    ```
    `nn.random_uniform` of this `number` and the index that `nn.dropout` tells.
    Of the operand only shape and samples count. No gradient comes through.

    Where the operand does not tell where samples are, as a constant does not,
    they are taken to lead the first dimension, if their number divides it; if
    not, `[0, 1]` says that the whole value is of one sample, and numbers differ
    at least from one micro-batch to another.

    **Lifespan**: import to `nn-decompose`. `nn-track-samples` gives it its
    `samples`.

    **Constraints:**
    - `number` is not negative and has at most 32 bits.
    - `samples` is absent, `[]`, or a dimension and a number that divides its
      size.
    - The result is f32 and has the operand's shape.
  }];
  let arguments = (ins NN_Tensor:$operand, I64Attr:$number,
                       OptionalAttr<DenseI64ArrayAttr>:$samples);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $operand `number` $number (`samples` $samples^)? attr-dict
    `:` type($operand) `->` type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def NN_KernelOp : NN_PureOp<"kernel", [
    IsolatedFromAbove, SingleBlock]> {
  let summary = "A group of ops that becomes one generated kernel.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>, %bias: tensor<8xf32>) {
      %0 = nn.kernel rows (%a = %x, %b = %bias)
          : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
        %1 = nn.reshape %b : tensor<8xf32> -> tensor<1x8xf32>
        %2 = nn.broadcast %1 : tensor<1x8xf32> -> tensor<4x8xf32>
        %3 = nn.binary add %a, %2 : tensor<4x8xf32>
        nn.yield %3 : tensor<4x8xf32>
      }
      return
    }
    ```
    Forms, over the kernel's iteration shape:

    - `rows`: `[..., C]`. Members are elementwise over the whole shape or over
      `[..., 1]`; reductions reduce the last dimension. A result has the whole
      shape or one element a row. Rows are independent and are split over
      threads.
    - `columns`: `[R, C]` or `[O, R, C]`. Every result is a reduction of R, and
      nothing in the kernel computes with one; elementwise ops make what is
      reduced. Columns are split over threads.
    - `scan`: one `nn.cumsum`, the only result. `scatter`: one
      `nn.scatter_add`, the only result. Elementwise ops may make what it reads:
      cheap ones are computed in the kernel where that saves a buffer
      (`Planner::tryRecompute`). There are no reductions. The `into` of a
      `nn.scatter_add` is an argument, perhaps reshaped, and the result may
      have its bytes.

    In every form constants and iota are members, and arguments are read through
    views: chains of reshape, broadcast, transpose, slice, pad and gather
    (`passes/kernels/View.h` composes them into one address formula). The
    indices of a gather are not computed in its own kernel. `nn-verify-kernels`
    checks the rules of the forms.

    **Lifespan**: `nn-form-kernels` to lowering into sched, where it moves into
    a `sched.kernel`; there to the plan, whose machine code is made from it.

    **Constraints:**
    - The form is `rows`, `columns`, `scan` or `scatter`.
    - Block arguments match the operands, yielded values the results.
  }];
  let arguments = (ins StrAttr:$form, Variadic<NN_Tensor>:$operands);
  let results = (outs Variadic<NN_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NN_YieldOp : NN_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a kernel's body with its results.";
  let description = [{
    ```mlir
    func.func @example(%x: tensor<4x8xf32>) {
      %0 = nn.kernel rows (%a = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
        %1 = nn.unary neg %a : tensor<4x8xf32> -> tensor<4x8xf32>
        nn.yield %1 : tensor<4x8xf32>
      }
      return
    }
    ```

    **Lifespan**: that of `nn.kernel`.

    **Constraints:**
    - Ends the body of a `nn.kernel`.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif // ZEROGRAPH_NN_OPS
