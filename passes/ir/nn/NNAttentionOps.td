//===- NNAttentionOps.td - attention and its gradient ---------------------===//

#ifndef ZEROGRAPH_NN_ATTENTION_OPS
#define ZEROGRAPH_NN_ATTENTION_OPS

include "passes/ir/nn/NNCompositeOps.td"

class NN_AttentionLikeOp<string mnemonic>
    : NN_CompositeOp<mnemonic, "attention", [
        NN_AloneInAttention, IsolatedFromAbove, SingleBlock]> {
  let regions = (region SizedRegion<1>:$scores);
  let hasVerifier = 1;
}

def NN_AttentionOp : NN_AttentionLikeOp<"attention"> {
  let summary = "Attention: softmax of scores, times values.";
  let description = [{
    ```mlir
    nn.program @example(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>,
                        %v: tensor<2x8x4x16xf32>) {
      %out, %max, %inverse = nn.attention %q, %k, %v
          : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>)
          -> (tensor<2x8x4x16xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
      ^bb0(%score: tensor<2x4x8x8xf32>):
        %c = nn.constant dense<0.25> : tensor<2x4x8x8xf32>
        %0 = nn.binary mul %score, %c : tensor<2x4x8x8xf32>
        nn.yield %0 : tensor<2x4x8x8xf32>
      }
      nn.return
    }
    ```
    Queries are `[batch, queries, heads, size]`, keys `[batch, keys, key heads,
    size]`, values `[batch, keys, key heads, value size]`, the result `[batch,
    queries, heads, value size]`: as products of the hidden states give and take
    them, without transpositions. A score is the product of a query and a key.
    Neighbouring heads of queries share a head of keys and values where there are
    fewer of these (grouped-query attention, Ainslie et al., 2305.13245).
    The region says what becomes of scores before the softmax: scaling, masks,
    biases, caps. Its first argument has all scores, as `[batch, heads, keys,
    queries]`, the others are `extras`; what it yields has the same shape. It
    may yield a second value, what probabilities are multiplied by, as a dropout
    does. No target stores scores, so its ops are elementwise, views or literals.

    With `x` what the region yields, and along the keys:

        max = max(x);  e = exp(x - max);  inverse = 1 / sum(e)
        out = (e * v) * inverse

    where `e * v` is a product of matrices. `max` and `inverse` are `[batch,
    heads, queries]`, f64 for operands of f64, else f32, in which everything is
    computed: they are what backward needs to make a probability again. The
    logarithm of the sum, in one number, would lose the sum of a query whose keys
    are all masked by a large finite number. A query whose scores are all
    -infinity gets NaN; with `zero_masked` everything of it is 0. This is
    FlashAttention (Dao et al., 2205.14135) without the running maximum.

    **Lifespan**: `nn-raise-attention` to the plan, or to `nn-decompose` where
    the target does not keep it. `nn-form-attention` puts it into a kernel.

    **Constraints:**
    - Shapes and types are as said above; sizes are at most 256.
    - The region's arguments and what it yields are as said above.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                       Variadic<NN_Tensor>:$extras, UnitAttr:$zero_masked);
  let results = (outs NN_FloatTensor:$out, NN_FloatTensor:$max,
                      NN_FloatTensor:$inverse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`with` $extras^)? (`zero_masked` $zero_masked^)? attr-dict
    `:` functional-type(operands, results) $scores
  }];
}

def NN_AttentionGradOp : NN_AttentionLikeOp<"attention_grad"> {
  let summary = "Gradient of attention.";
  let description = [{
    ```mlir
    nn.program @example(%q: tensor<2x8x4x16xf32>, %k: tensor<2x8x4x16xf32>,
                        %v: tensor<2x8x4x16xf32>, %max: tensor<2x4x8xf32>,
                        %inverse: tensor<2x4x8xf32>,
                        %dout: tensor<2x8x4x16xf32>, %delta: tensor<2x4x8xf32>) {
      %dq, %dk, %dv = nn.attention_grad %q, %k, %v, %max, %inverse, %dout,
          %delta
          : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>,
             tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x8x4x16xf32>,
             tensor<2x4x8xf32>)
          -> (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) {
      ^bb0(%score: tensor<2x4x8x8xf32>, %gradient: tensor<2x4x8x8xf32>):
        nn.yield %score, %gradient : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
      }
      nn.return
    }
    ```
    Takes the operands of an `nn.attention`, and the gradient `dout` of its
    result. `delta` is `sum(dout * out)` along the value size,
    `[batch, heads, queries]`. The region has the scores and, as its second
    argument, the gradient of what becomes of them; it yields what becomes of
    them, `x`, the gradient of the scores and then, each if there is one, the
    gradient of a bias and what probabilities are multiplied by in forward, as
    `p` and `dout * v'` then are:

        p = exp(x - max) * inverse;  dv = p' * dout
        gradient = p * (dout * v' - delta);  ds: what the region yields of it
        dq = ds * k;  dk = ds' * q

    `'` transposes, and products are of matrices. Scores and probabilities are
    made again and stored nowhere. Heads of queries that share a head of keys add
    to its gradients one after the other.

    A fourth result, `dbias`, is there for a bias of the scores that is trained:
    an extra `[heads, keys, queries]`, which the region repeats for each sample.
    It is the sum, over samples, of what the region yields third, as `nn.reduce`
    adds up rows; its type is that of `max`.

    **Lifespan**: `nn-differentiate` to the plan, or to `nn-decompose` where the
    target does not keep it.

    **Constraints:**
    - Shapes and types are as said above and at `nn.attention`.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                       NN_FloatTensor:$max, NN_FloatTensor:$inverse,
                       NN_FloatTensor:$dout,
                       NN_FloatTensor:$delta, Variadic<NN_Tensor>:$extras);
  let results = (outs NN_FloatTensor:$dq, NN_FloatTensor:$dk,
                      NN_FloatTensor:$dv, Optional<NN_FloatTensor>:$dbias);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $max `,` $inverse `,` $dout `,` $delta
    (`with` $extras^)? attr-dict `:` functional-type(operands, results) $scores
  }];
}

#endif // ZEROGRAPH_NN_ATTENTION_OPS
