//===- Passes.td - passes from a forward graph to gradients -------------===//

#ifndef ZEROGRAPH_DIFFERENTIATE_PASSES
#define ZEROGRAPH_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"
include "options/PassOptions.td"

def Differentiate : Pass<"nn-differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @micro, which gives loss and gradients.";
  let description = [{
    Reverse-mode differentiation of the loss with respect to every trainable
    parameter. `@forward` is replaced by `@micro`, a `nn.program` with the same
    arguments; its first result is the loss, then follows one result a
    trainable parameter, in argument order, with `nn.gradient = "NAME"`. The
    other outputs are dropped.

    Only ops on a path from a trainable parameter to the loss get a gradient,
    and only operands on such a path get one computed. Contributions to a value
    with several uses are added in the order of the uses in the forward graph:
    `((first + second) + third)`; a parameter's sum stands right after its last
    contribution. Where each use is a part of the value, and the parts are all of
    it, as those of a split, the gradient is their concatenation. Ops of the
    backward graph have the location
    `"NODE.gradient"`, NODE being the forward op's name.

    A trainable parameter that the loss does not depend on becomes
    `trainable = false`, with a warning. Ops on a path that have no gradient
    are errors, all reported together.

    bitwise: the forward values are those of `@forward`.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "Name of the output to differentiate; by default the one named "
           "'loss', otherwise the only floating-point scalar">,
    Option<"scaled", "scaled", "bool", "false",
           "The runtime says, as the scalar loss_scale, what backward begins "
           "with; otherwise it is 1">
  ];
}

def RaiseAttention : Pass<"nn-raise-attention", "::mlir::ModuleOp"> {
  let summary = "Makes one op of attention, as exporters write it.";
  let description = [{
    A softmax of scores, which are a product of matrices, that itself multiplies
    values becomes `nn.attention`:

        %s = nn.matmul %q, %k                       // or with constant factors
        %x = scaling, masks, biases, caps of %s     // elementwise ops and views
        %p = nn.softmax %x                          // perhaps 0 where it is NaN
        %out = nn.matmul %p, %v

    What is between the product and the softmax becomes the region of the op,
    with all that is cheap to compute of it: masks of comparisons need no memory
    then. A trained bias that all samples have becomes an extra `[heads, keys,
    queries]`, which the region repeats for each: its gradient is a sum over
    samples. Constant factors of `%q` and `%k` go there too, so that both are
    read where they lie. A softmax that looks like attention and is none keeps the
    reason as its attribute `nn.unfused`, and the module lists them: what
    multiplies values is read by others, or dropped out where samples are not in
    front; a trained bias is not the same for all samples, or there are two, or
    it has fewer blocks of 64 queries and keys than there are samples, which each
    block of its gradient adds up in order; scores are the sum of several
    products or are moved; heads are too large; types are mixed. Matrices are
    left alone, as their rows may be samples.

    Runs before `nn-differentiate`, after `canonicalize`.

    reassociates: constant factors of queries and keys multiply scores instead,
    and the sum divides the product rather than each probability. Every stage,
    rank and device has the same. With `attention=products`
    that is the reason for all.
  }];
  let options = [
    attention,
    Option<"trains", "trains", "bool", "true",
           "The program will be differentiated by its trainable parameters">
  ];
  let statistics = [Statistic<"raised", "raised", "Attentions found">];
}

def SliceProducts : Pass<"nn-slice-products", "::mlir::ModuleOp"> {
  let summary = "Takes rows before a product that makes them wider.";
  let description = [{
    Models that are asked to predict the next word drop the logits of the last
    one. The rows that are left are made of rows of what the product reads, so
    that logits that nothing reads are not computed, and `nn-tile-rows` finds
    rows that are read one by one:

        %logits = nn.matmul %x, %w              // 1024 x 50257
        %left = nn.slice %logits [0, 0]         // 1023 x 50257
        // becomes
        %rows = nn.slice %x [0, 0]              // 1023 x 768
        %left = nn.matmul %rows, %w

    Between the product and the slice there may be ops that work row by row, if
    nothing else reads what they make but outputs that `nn-differentiate` drops.

    Runs before `nn-differentiate`, after `canonicalize`.

    reassociates: a library may add up a product of fewer rows in another order.
  }];
  let statistics = [Statistic<"hoisted", "hoisted", "Slices moved">];
}

def AddAdapters : Pass<"nn-add-adapters", "::mlir::ModuleOp"> {
  let summary = "Adds low-rank adapters beside weights of products.";
  let description = [{
    For every parameter of `@forward` with an `adapter`, adds two trained
    parameters, A `[rank, in]` and B `[out, rank]`, and to each product that the
    weight is the right factor of:

        %y = nn.matmul %x, %w : tensor<4x64xf32>, tensor<64x32xf32> -> ...
        // becomes
        %low = nn.matmul %x, %w.lora_A transpose_b     // 4 x rank
        %high = nn.matmul %low, %w.lora_B transpose_b  // 4 x 32
        %sum = nn.binary add %y, %high * (alpha / rank)

    All products of a weight share its adapter; one that takes the weight
    transposed takes the adapter transposed. A weight that is read in any other
    way keeps no adapter, with a warning; it is an error if no weight of a
    pattern can have one.

    bitwise: the products themselves are left as they are; while B is zero, so
    is what is added.
  }];
}

def SumLoss : Pass<"nn-sum-loss", "::mlir::ModuleOp"> {
  let summary = "Makes the loss a sum, and tells what it counts.";
  let description = [{
    For `loss-mean=tokens`. A loss that leaves some elements out is a sum
    divided by how many are left, or by the sum of their weights. The mean over
    all micro-batches of a step is one sum divided by one count, so the division
    has to wait: the loss of `@forward` becomes the sum, and a new result with
    `nn.loss_count` the count, both f64.

        %loss = nn.binary div %sum, %count
        nn.return %loss
        // becomes
        nn.return %sum, %count   // converted to f64

    Likewise of `@evaluate`, if there is one.

    Between the division and the loss there may be factors that depend on no
    input; the sum takes them. An error where no division is found, where the
    divisor depends on a trained parameter, or where either has 16 bits.

    Runs before `nn-differentiate`; `zero-normalize-by-token-count` divides, and the runtime
    does for evaluations.

    reassociates: gradients are divided after they are summed, not before.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "as of nn-differentiate">,
    loss_mean
  ];
}

def TrackSamples : Pass<"nn-track-samples", "::mlir::ModuleOp"> {
  let summary = "Tells random numbers which dimension holds the samples.";
  let description = [{
    Follows the samples, the leading dimension of per-sample inputs, through
    `@forward` and gives every `nn.dropout` its `samples`, from which
    `nn-decompose` numbers its elements. Where they are the leading factor of a
    dimension, as of `[B * H, ...]`, they are still known; a value that depends
    on no per-sample input has none. A dropout of a value in which they cannot
    be told apart is an error that names the op that mixed them; all are
    reported together. A micro-batch of one sample cannot be mixed.
    `nn.random_like` says what it does where they are not known.

    bitwise: nothing is computed.
  }];
}

def LowerPrecision : Pass<"nn-lower-precision", "::mlir::ModuleOp"> {
  let summary = "Multiplies matrices of 16 bits in @forward.";
  let description = [{
    For a precision other than fp32. Values stay f32 and are rounded at these
    places, each an `nn.convert` to 16 bits:

    | what | stored in 16 bits | computed in f32 |
    |---|---|---|
    | products (`NN_Product`) | operands and result | the sum |
    | trained parameters | what is computed with | the master: the argument |
    | frozen parameters that products or gathers alone read | always | |
    | what only moves such numbers (`NN_Moves`) | operands and result | |
    | all else: elementwise functions, softmax, norms, losses, reductions | | always |

    A product over one element, running statistics, f64, and what a model has
    in 16 bits itself stay as they are. (A model with trained parameters of 16
    bits is imported as one of f32.) Each use of a parameter has a rounding of
    its own, so that its gradient is a sum in f32.

    Marks the module with `nn.precision`.

    reassociates: rounds what was not rounded.
  }];
  let options = [precision];
}

def WidenGradients : Pass<"nn-widen-gradients", "::mlir::ModuleOp"> {
  let summary = "Makes the gradients of parameters in f32.";
  let description = [{
    The gradient of a parameter that is computed with in 16 bits is converted to
    f32 at the end. What makes it, and nothing else, makes it in f32 instead:
    a product whose result is f32, a sum or a scatter of numbers that were
    rounded for it.

        %0 = nn.matmul %x, %dy transpose_a : ... -> tensor<8x8xbf16>
        %1 = nn.convert %0 : tensor<8x8xbf16> -> tensor<8x8xf32>
        // becomes
        %1 = nn.matmul %x, %dy transpose_a : ... -> tensor<8x8xf32>

    Runs after `nn-differentiate`, on modules with `nn.precision`.

    reassociates: leaves out roundings.
  }];
}

def ReuseSums : Pass<"nn-reuse-sums", "::mlir::ModuleOp"> {
  let summary = "Makes sums of `@micro` follow from others.";
  let description = [{
    The gradient of `x - mean(x)` takes the mean of what it is given, which in
    the backward of a BatchNorm is linear in the output's gradient, whose sum is
    the gradient of the bias, and in `x - mean(x)`, whose sum is 0:

        %db = nn.reduce sum %dy [0, 2]
        %d = %centered * broadcast(%a) + %dy * broadcast(%b)
        %sum = nn.reduce sum %d [0, 2]
        // becomes
        %sum = %db * %b

    So what it is the sum of is computed once, where it is used, and not stored
    to be added up. A sum follows from another of the same dimensions through
    `neg`, products with, or quotients by, what is broadcast along them, and
    `add` and `sub` of what adds up to 0. It does not follow from two: of elements
    that nearly cancel, the difference of their sums would be rounding. (Ioffe and
    Szegedy, "Batch normalization", 2015, section 3, leave the sum of
    `x - mean(x)` in; it is rounding.) With 16 bits `nn-narrow-saved` rounds
    `x - mean(x)` after it, so that what it centers has a gradient that adds up to
    0 but for that rounding.

    Follows `nn-widen-gradients`, by which a bias has a sum in f32.

    reassociates: leaves out terms that are 0 but for rounding.
  }];
  let statistics = [Statistic<"derived", "derived", "Sums that follow">];
}

def NarrowSaved : Pass<"nn-narrow-saved", "::mlir::ModuleOp"> {
  let summary = "Keeps in 16 bits what forward leaves for backward.";
  let description = [{
    Where an f32 value of the forward part is read after the loss, backward
    reads it rounded, so that 16 bits are kept of it; forward reads it as it was
    computed. In f32 stay: statistics, which are what an op makes of more
    numbers than it gives (a mean, a row's maximum), and what follows from them
    alone; what depends on no parameter; what is compared.

    A sum over rows, such as the gradient of a bias, adds up rounded numbers
    where a product reads them rounded. Otherwise the same gradient would be
    stored in f32 and in 16 bits.

    Runs after `nn-differentiate`, on modules with `nn.precision`.

    reassociates: rounds what was not rounded.
  }];
}

def MergeProducts : Pass<"nn-merge-products", "::mlir::ModuleOp"> {
  let summary = "Makes one product of a sum of narrow ones.";
  let description = [{
    A weight that every step of a recurrence reads, as that of an LSTM's state, has
    a gradient a step, each as large as the weight, of few samples. Their sum is one
    product of all rows:

        %0 = nn.matmul %dy0, %h0 transpose_a  // [16, 2048]^T x [16, 512]
        %1 = nn.matmul %dy1, %h1 transpose_a
        %dw = nn.binary add %0, %1
        // becomes
        %dy = nn.join_rows %dy0, %dy1
        %h = nn.join_rows %h0, %h1
        %dw = nn.matmul %dy, %h transpose_a   // [32, 2048]^T x [32, 512]

    Other terms of the sum are added to it. A product is merged if its result has
    at least twice as many numbers as its operands, which live until the last of
    them is made, and if their bytes are a multiple of those at which joined rows
    begin.

    Runs after the passes that round. All follows from shapes alone: every target,
    stage and number of ranks has the same products.

    reassociates: one product adds up what several did.
  }];
  let statistics = [Statistic<"merged", "merged", "Sums replaced">];
}

def TileRows : Pass<"nn-tile-rows", "::mlir::ModuleOp"> {
  let summary = "Computes the head of a model, and its loss, by blocks of rows.";
  let description = [{
    Logits are the widest tensor of a language model: a row has a number a word
    of the vocabulary. A product whose rows have at least `wider` times as many
    numbers as those of its left operand is computed for some rows after the
    other, with all that is computed of its result or of others as large, down to
    the gradients of its operands. So neither logits nor their gradients exist
    whole.

        %logits = nn.matmul %x, %w transpose_b
        %loss, %max, %log = nn.softmax_cross_entropy %logits, %labels
        %dlogits = nn.softmax_cross_entropy_grad %logits, %labels, ...
        %dx = nn.matmul %dlogits, %w
        %dw = nn.matmul %dlogits, %x transpose_a
        // becomes, for two tiles,
        %x0 = nn.take_rows %x from 0
        %logits0 = nn.matmul %x0, %w transpose_b
        ...
        %dx0 = nn.matmul %dlogits0, %w
        %dw0 = nn.matmul %dlogits0, %x0 transpose_a
        %x1 = nn.take_rows %x from 256
        ...
        %dw = nn.matmul %dlogits1, %x1 transpose_a into %dw0
        %dx = nn.join_rows %dx0, %dx1

    A sum over rows, as `%dw`, is added up in the order of the tiles. The product
    stays whole where an op that reads its result, or one between that and the
    gradients, has no rule (`RowTile.cpp`): it mixes rows, as a loss does that
    gradients depend on, or it returns the result. Of the program's largest
    product a remark says so.

    A tile has a quarter of the rows, but at least `least-rows` and at most 4096;
    of more than 262,144 rows it has a 64th. It has a multiple of 64. So most of
    the memory is saved and little time is lost: each tile reads the weights
    again, and adds to their gradient. Tensors with fewer than `least` elements
    stay whole.

    Runs after the passes that round. All follows from shapes alone: every
    target, stage and number of ranks has the same tiles.

    reassociates: sums over rows are sums of those of the tiles.
  }];
  let options = [
    Option<"wider", "wider", "int64_t", "8",
           "Times that a row must be as wide as the one it is made of">,
    Option<"least", "least", "int64_t", "1 << 20",
           "Elements of the smallest tensor that is tiled">,
    Option<"leastRows", "least-rows", "int64_t", "256",
           "Rows of the smallest tile">
  ];
  let statistics = [Statistic<"tiles", "tiles", "Tiles made">];
}

def TileHidden : Pass<"nn-tile-hidden", "::mlir::ModuleOp"> {
  let summary = "Computes the hidden layers of MLPs by blocks of rows.";
  let description = [{
    The hidden layer of an MLP is several times as wide as what goes from block
    to block, and a long sequence has many rows of it. A forward product whose
    rows have at least twice as many numbers as those of its left operand is
    computed for some rows after the other, with all that is computed of its
    result or of others as large until tensors are narrow again; so is what
    backward computes of these, with the same tiles.

        %h = nn.matmul %x, %w1
        %y = nn.matmul %h, %w2
        ...
        %dh = nn.matmul %dy, %w2 transpose_b
        %dw2 = nn.matmul %h, %dy transpose_a
        // becomes, for two tiles,
        %x0 = nn.take_rows %x from 0
        %h0 = nn.matmul %x0, %w1
        %y0 = nn.matmul %h0, %w2
        %x1 = nn.take_rows %x from 4096
        ...
        %y = nn.join_rows %y0, %y1
        ...
        %dy0 = nn.take_rows %dy from 0
        %dh0 = nn.matmul %dy0, %w2 transpose_b
        %dw20 = nn.matmul %h0, %dy0 transpose_a
        ...
        %dw2 = nn.matmul %h1, %dy1 transpose_a into %dw20

    Backward reads the tiles of forward. Where these are kept, they take the
    memory that the whole took; where they are computed again, one of them
    exists at a time. A conversion of a gradient that something else reads too,
    and the sum of its rows for a bias, are computed by tiles as well. The layer stays whole where an op has no rule
    (`RowTile.cpp`), such as a dropout, or another op reads or makes one of its
    large tensors.

    A product of n times `tile-elements` numbers has n tiles, rounded down, but at
    most `most-tiles`. A tile has a multiple of 64 rows. Tiles of the head are not
    tiled again. All follows from shapes
    alone: every target, stage and number of ranks has the same tiles.

    reassociates: sums over rows are sums of those of the tiles.
  }];
  let options = [
    Option<"tileElements", "tile-elements", "int64_t", "1 << 26",
           "Elements of the product that are worth a tile">,
    Option<"mostTiles", "most-tiles", "int64_t", "16", "Tiles of a layer">
  ];
  let statistics = [Statistic<"layersTiled", "layers", "Layers tiled">];
}

def FuseBias : Pass<"nn-fuse-bias", "::mlir::ModuleOp"> {
  let summary = "Lets products add their bias.";
  let description = [{
    A parameter that is added to every row of a product becomes the bias of the
    product, where nothing else reads the product and both have one type. The
    device's library adds it before it rounds the sum, and no kernel reads and
    writes the result for it alone, as one would for the queries, keys and values
    of an attention.

        %y = nn.matmul %x, %w
        %rows = nn.broadcast %b : tensor<1x384xf32> -> tensor<64x384xf32>
        %sum = nn.binary add %y, %rows
        // becomes
        %sum = nn.matmul %x, %w bias %b : tensor<384xf32>

    Runs after `nn-tile-hidden` and before anything is computed again: forward
    and what repeats it have the same sums.

    reassociates: of 16 bits, the product rounds its sum with the bias, and who
    reads that in f32 reads it rounded; without the pass the product alone is
    rounded.
  }];
  let statistics = [Statistic<"fused", "fused", "Biases that products add">];
}

#endif // ZEROGRAPH_DIFFERENTIATE_PASSES
