//===- NNCompositeOps.td - ops that decompose to others -------------------===//

#ifndef ZEROGRAPH_NN_COMPOSITE_OPS
#define ZEROGRAPH_NN_COMPOSITE_OPS

include "passes/ir/nn/NNBase.td"

// An op that the device may keep: see NN_CompositeOpInterface.
class NN_CompositeOp<string mnemonic, string composite, list<Trait> traits = []>
    : NN_PureOp<mnemonic, !listconcat([NN_CompositeOpInterface], traits)> {
  let extraClassDeclaration = "::mlir::zg::nn::Composite getComposite() "
      "{ return ::mlir::zg::nn::Composite::" # composite # "; }";
}

def NN_SoftmaxOp : NN_CompositeOp<"softmax", "softmax",
    [NN_KeepsSamples, SameOperandsAndResultType]> {
  let summary = "Softmax along the last dimension.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %0 = nn.softmax %x : tensor<4x8xf32>
      nn.return
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

def NN_SoftmaxGradOp : NN_CompositeOp<"softmax_grad", "softmax",
    [SameOperandsAndResultType]> {
  let summary = "Gradient of softmax.";
  let description = [{
    ```mlir
    nn.program @example(%y: tensor<4x8xf32>, %dy: tensor<4x8xf32>) {
      %dx = nn.softmax_grad %y, %dy : tensor<4x8xf32>
      nn.return
    }
    ```
    Of the result `y` of `nn.softmax`: `dx = (dy - sum(dy * y)) * y`, row by
    row.

    **Lifespan**: `nn-differentiate` to `nn-decompose`.

    **Constraints:**
    - Rank 1 or more.
  }];
  let arguments = (ins NN_FloatTensor:$y, NN_FloatTensor:$dy);
  let results = (outs NN_FloatTensor:$dx);
  let assemblyFormat = "$y `,` $dy attr-dict `:` type($dx)";
  let hasVerifier = 1;
}

def NN_LayerNormOp : NN_CompositeOp<"layer_norm", "layer_norm", [
    AllTypesMatch<["operand", "result"]>, AllTypesMatch<["scale", "bias"]>]> {
  let summary = "Normalizes the last dimension.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>, %scale: tensor<8xf32>,
                       %bias: tensor<8xf32>) {
      %y, %mean, %rstd = nn.layer_norm %x, %scale, %bias epsilon 1.0e-5
          : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
      nn.return
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

def NN_LayerNormGradOp : NN_CompositeOp<"layer_norm_grad", "layer_norm", [
    AllTypesMatch<["operand", "dy", "dx"]>, AllTypesMatch<["mean", "rstd"]>,
    AllTypesMatch<["scale", "dscale", "dbias"]>]> {
  let summary = "Gradients of the operands of layer_norm.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>, %scale: tensor<8xf32>,
                       %mean: tensor<4x1xf32>, %rstd: tensor<4x1xf32>,
                       %dy: tensor<4x8xf32>) {
      %dx, %dscale, %dbias = nn.layer_norm_grad %x, %scale, %mean, %rstd, %dy
          : tensor<4x8xf32>, tensor<8xf32>, tensor<4x1xf32>
      nn.return
    }
    ```
    With `n = (x - mean) * rstd` and `dn = dy * scale`:
    `dx = rstd * ((dn - mean(dn)) - n * mean(dn * n))`, `dscale = sum(dy * n)`
    and `dbias = sum(dy)`, the last two over all but the last dimension.

    **Lifespan**: `nn-differentiate` to `nn-decompose`.

    **Constraints:**
    - The operand has rank 1 or more; its last dimension is C.
    - The scale has the shape `[C]`, and the operand's element type.
    - The statistics have the operand's shape but size 1 at the end.
  }];
  let arguments = (ins NN_FloatTensor:$operand, NN_FloatTensor:$scale,
                       NN_FloatTensor:$mean, NN_FloatTensor:$rstd,
                       NN_FloatTensor:$dy);
  let results = (outs NN_FloatTensor:$dx, NN_FloatTensor:$dscale,
                      NN_FloatTensor:$dbias);
  let assemblyFormat = [{
    $operand `,` $scale `,` $mean `,` $rstd `,` $dy attr-dict
    `:` type($operand) `,` type($scale) `,` type($mean)
  }];
  let hasVerifier = 1;
}

def NN_SoftmaxCrossEntropyOp : NN_CompositeOp<"softmax_cross_entropy",
    "softmax_cross_entropy", [NN_KeepsSamples]> {
  let summary = "Negative log-likelihood of a label under softmax, row by row.";
  let description = [{
    ```mlir
    nn.program @example(%logits: tensor<4x8xf32>, %labels: tensor<4x1xi64>) {
      %loss, %max, %log_sum = nn.softmax_cross_entropy %logits, %labels
          : tensor<4x8xf32>, tensor<4x1xi64>
          -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
      nn.return
    }
    ```
    `log_sum = log(sum(exp(x - max)))`, `loss = log_sum + (max - x[label])`. A
    label outside `[0, C)` selects nothing, `loss = log_sum + max`, with the
    gradient of that; ignored labels are masked by the ops around it.

    `max` and `log_sum` are apart, since their sum would lose what is small
    beside a large `max`. `max` counts as a constant: what is made of both, as
    `(x - max) - log_sum`, does not depend on it.

    **Lifespan**: import to `nn-decompose`.

    **Constraints:**
    - Logits are `[N, C]`.
    - Labels are `[N, 1]`.
    - Loss, max and log_sum are `[N, 1]`, of the logits' element type.
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IndexTensor:$labels);
  let results = (outs NN_FloatTensor:$loss, NN_FloatTensor:$max,
                      NN_FloatTensor:$log_sum);
  let assemblyFormat = [{
    $logits `,` $labels attr-dict
    `:` type($logits) `,` type($labels)
    `->` type($loss) `,` type($max) `,` type($log_sum)
  }];
  let hasVerifier = 1;
}

def NN_SoftmaxCrossEntropyGradOp : NN_CompositeOp<"softmax_cross_entropy_grad",
    "softmax_cross_entropy", [AllTypesMatch<["logits", "dlogits"]>,
                              AllTypesMatch<["max", "log_sum", "dloss"]>]> {
  let summary = "Gradient of the logits of softmax_cross_entropy.";
  let description = [{
    ```mlir
    nn.program @example(%logits: tensor<4x8xf32>, %labels: tensor<4x1xi64>,
                       %max: tensor<4x1xf32>, %log_sum: tensor<4x1xf32>,
                       %dloss: tensor<4x1xf32>) {
      %dx = nn.softmax_cross_entropy_grad %logits, %labels, %max, %log_sum,
          %dloss : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
      nn.return
    }
    ```
    With `p = exp((logits - max) - log_sum) * (dloss + dlog_sum)`, `dlog_sum`
    being zero where it is not given: `dlogits = p`, and `p - dloss` at the
    label.

    **Lifespan**: `nn-differentiate` to `nn-decompose`.

    **Constraints:**
    - Logits are `[N, C]`.
    - Labels are `[N, 1]`.
    - max, log_sum, dloss and dlog_sum are `[N, 1]`, of the logits' element
      type.
  }];
  let arguments = (ins NN_FloatTensor:$logits, NN_IndexTensor:$labels,
                       NN_FloatTensor:$max, NN_FloatTensor:$log_sum,
                       NN_FloatTensor:$dloss,
                       Optional<NN_FloatTensor>:$dlog_sum);
  let results = (outs NN_FloatTensor:$dlogits);
  let assemblyFormat = [{
    $logits `,` $labels `,` $max `,` $log_sum `,` $dloss
    (`and` $dlog_sum^ `:` type($dlog_sum))?
    attr-dict `:` type($logits) `,` type($labels) `,` type($max)
  }];
  let hasVerifier = 1;
}

def NN_DropoutOp : NN_PureOp<"dropout", [
    NN_KeepsSamples, AllTypesMatch<["operand", "result"]>]> {
  let summary = "Sets elements to zero at random and scales the others.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %y, %mask = nn.dropout %x ratio 0.1 number 3 samples [0, 4]
          : tensor<4x8xf32> -> tensor<4x8xi1>
      nn.return
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

def NN_SumSquaresOp : NN_PureOp<"sum_squares"> {
  let summary = "The sum of squares, exact, as limbs.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<512xf32>, %y: tensor<256xf32>) {
      %0 = nn.sum_squares %x, %y
          : tensor<512xf32>, tensor<256xf32> -> tensor<33xf64>
      nn.return
    }
    ```
    Blocks of 256 elements are squared and added up in f64, each as a row. A
    block's sum is cut into 32 limbs of 20 bits: limb i is how many times it has
    2^(20 i - 320), below what the next limb has. What is less than 2^-320 is
    dropped. A sum that is not below 2^320, or not a number, is counted in the
    last limb instead.

    Limbs are whole numbers, and so are their sums, exactly, over up to 2^33
    blocks: ranks may add up what they have of a tensor in any order, and cut it
    in any way at multiples of 256.

    **Lifespan**: `zero-clip-norm` to `nn-decompose`.

    **Constraints:**
    - One operand or more, each flat, of a multiple of 256 elements.
    - The result is `tensor<33xf64>`.
  }];
  let arguments = (ins Variadic<NN_FloatTensor>:$operands);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = [{
    $operands attr-dict `:` type($operands) `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_BlockSquaresOp : NN_PureOp<"block_squares"> {
  let summary = "The sum of squares of each block, exact, as limbs.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<512xf32>) {
      %0 = nn.block_squares %x : tensor<512xf32> -> tensor<2x33xf64>
      nn.return
    }
    ```
    What `nn.sum_squares` adds up, not added up: a row of limbs for each block
    of 256 elements.

    **Lifespan**: `zero-updates` to `nn-decompose`.

    **Constraints:**
    - The operand is flat, of a multiple of 256 elements.
    - The result is `tensor<Bx33xf64>`, B the number of blocks.
  }];
  let arguments = (ins NN_FloatTensor:$operand);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` type($operand) `->` type($result)";
  let hasVerifier = 1;
}

def NN_LimbValueOp : NN_PureOp<"limb_value"> {
  let summary = "The numbers that limbs of exact sums make.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<33xf64>, %y: tensor<4x33xf64>) {
      %0 = nn.limb_value %x : tensor<33xf64> -> tensor<1xf64>
      %1 = nn.limb_value %y : tensor<4x33xf64> -> tensor<4xf64>
      nn.return
    }
    ```
    The sum of limb i times 2^(20 i - 320), in f64, as a row; infinite where the
    last limb is not zero. Of several rows, a number each.

    **Lifespan**: `zero-updates` or `zero-clip-norm` to `nn-decompose`.

    **Constraints:**
    - The operand is `tensor<33xf64>` and the result `tensor<1xf64>`, or
      `tensor<Rx33xf64>` and `tensor<Rxf64>`.
  }];
  let arguments = (ins NN_FloatTensor:$limbs);
  let results = (outs NN_FloatTensor:$result);
  let assemblyFormat = "$limbs attr-dict `:` type($limbs) `->` type($result)";
  let hasVerifier = 1;
}

def NN_RandomLikeOp : NN_PureOp<"random_like", [
    SameOperandsAndResultShape]> {
  let summary = "Random numbers in [0, 1) in the shape of a value.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf64>) {
      %u = nn.random_like %x number 3 samples [0, 4]
          : tensor<4x8xf64> -> tensor<4x8xf32>
      nn.return
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

#endif // ZEROGRAPH_NN_COMPOSITE_OPS
