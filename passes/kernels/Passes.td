//===- Passes.td - passes that form kernels out of nn ops -----------------===//

#ifndef ZEROGRAPH_KERNELS_PASSES
#define ZEROGRAPH_KERNELS_PASSES

include "mlir/Pass/PassBase.td"

def Decompose : Pass<"nn-decompose", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Rewrites composites to the core and reductions to three forms.";
  let description = [{
    A composite that the target keeps (`TargetInfo::keeps`) stays, and so does
    its gradient op; the others are rewritten. `zerograph-opt` knows no target
    and rewrites all.

    - `softmax`: `e = exp(x - max)`, `e * (1 / sum(e))`, one reciprocal a row.
    - `layer_norm`: mean and variance as of `nn-shift-moments`, `d = x - mean`,
      `rstd = 1 / sqrt(variance + epsilon)`, `(d * rstd) * scale + bias`.
    - `softmax_cross_entropy`: `log_sum = log(sum(exp(x - max)))`,
      `loss = log_sum + (max - sum(select(iota == label, x, 0)))`.
    - their gradient ops: as each op's description says, in this order of
      operations.
    - `dropout`: `select(random_uniform >= ratio, x * (1/(1-ratio)), 0)`, the
      ratio rounded to f32 and the factor once to x's type.
    - `random_like`: `random_uniform` of the index.
    - `concat`: nested selects, by position, of the padded operands; unless it
      puts the gradients of an attention side by side, which `nn-form-attention`
      does.
    - `pool`: element `t` of all windows is a strided slice; they are combined
      element by element, in order.
    - `convolution`, where the library has none for its type
      (`TargetInfo::hasConvolution`): a gather lays side by side what each window
      sees, and a product of matrices multiplies it with the weights.
    - `reduce`: dimensions of size 1 are dropped and neighbours that are both
      reduced or both kept are merged by reshapes, so that what is left is
      `[R, C] -> [R, 1]`, `[R, C] -> [1, C]` or `[O, R, C] -> [O, 1, C]`. A
      reduction of several separate groups of dimensions reduces the last group
      first. Reducing everything is one row. No transposes are made.

    bitwise: composites and reductions of several groups get here the order of
    operations that defines their bits; it depends on the shapes alone.
  }];
  let constructor = "::mlir::zg::nn::createDecompose()";
}

def DecomposeComposites
    : Pass<"nn-decompose-composites", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Rewrites composites and pools to the core alone.";
  let description = [{
    `softmax`, `layer_norm`, `softmax_cross_entropy`, their gradient ops and
    `pool`, as `nn-decompose` does where the target keeps none. All else stays:
    for a target that has reductions of any dimensions, concatenation and
    convolution, as ONNX's operators are.

    bitwise: as `nn-decompose`.
  }];
}

def ShareRows : Pass<"nn-share-rows", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Lets the steps of an unrolled loop work where their rows lie.";
  let description = [{
    An unrolled loop, as a recurrent layer is, takes a row of a tensor in each
    step, and puts the rows that the steps made together. Where slices take more
    than `few` rows of one tensor that was computed, each becomes an
    `nn.take_rows`, so that all steps have the same kernels; if their dimension
    has to be moved in front, they take half of the tensor. A concatenation of more
    than `few` parts, most of which are made for it alone, becomes an
    `nn.join_rows`, so that nothing is moved; its dimension is moved in front if
    each part has one element of it:

        %x0 = nn.slice %x [0, 0] step [1, 1] : tensor<99x64xf32> -> tensor<1x64xf32>
        ...
        %y = nn.concat %y0, ..., %y98 dim 0
        // becomes
        %x0 = nn.take_rows %x from 0 : tensor<99x64xf32> -> tensor<1x64xf32>
        ...
        %y = nn.join_rows %y0, ..., %y98

    What an earlier `nn.join_rows` has one after the other is taken from there:
    states that are an output are joined also for the gradient of their weight.

    Rows must begin at multiples of 64 bytes. Other concatenations of many parts
    are made in steps of `few`: a kernel goes over its result once for each part.

    bitwise: nothing is computed.
  }];
  let options = [
    Option<"few", "few", "unsigned", "8",
           "Most slices of a tensor, and parts of another, that stay">
  ];
  let statistics = [Statistic<"shared", "shared", "Slices and parts changed">];
}

def SinkLiterals : Pass<"nn-sink-literals", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Moves constants and iota to their first use.";
  let description = [{
    Cleanups leave them at the start of a program, where a reader looks for what
    the program does.

    bitwise: nothing is computed otherwise.
  }];
}

def FormKernels : Pass<"nn-form-kernels", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Groups nn ops into kernels.";
  let description = [{
    Afterwards the nn ops of a function are `nn.kernel`, library calls
    (`nn.matmul`, `nn.convolution`) and `nn.reshape`, which renames a buffer.
    Needs `nn-decompose` before.

    - Elementwise ops and reductions of the last dimension that share an
      iteration space become one `rows` kernel, unless a buffer would have to be
      copied first to be read by rows of what is reduced (to store one result is
      mostly less than to copy each operand); reductions of leading
      dimensions become `columns` kernels; `cumsum` and `scatter` share a
      kernel with nothing but what is computed again for them.
    - Views, constants and iota move into every kernel that reads them. One that
      a matmul or collective needs becomes a kernel that copies.
    - Cheap elementwise ops are computed again where that saves a buffer;
      exponentials, divisions, reductions and gathers never are, except of single
      numbers.

    bitwise: an element's value does not depend on what it is computed with.
  }];
  let options = [
    Option<"maxOperands", "max-operands", "unsigned", "24",
           "Most buffers that a kernel reads">,
    Option<"maxMembers", "max-members", "unsigned", "96",
           "Most ops of a kernel">,
    Option<"maxColumnResults", "max-column-results", "unsigned", "8",
           "Most column reductions of a kernel">
  ];
  let statistics = [
    Statistic<"kernels", "kernels", "Kernels formed">,
    Statistic<"copies", "copies", "Kernels that only copy or fill">,
    Statistic<"fused", "fused", "Elementwise ops and reductions in kernels">
  ];
}

def FormAttention : Pass<"nn-form-attention", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Makes kernels of attention and its gradient.";
  let description = [{
    Each `nn.attention` and `nn.attention_grad` becomes a `nn.kernel attention`.
    It reads queries, keys and values through their views: from the product that
    gave all three, where they lie side by side. f16 and bf16 are computed with
    in f32: conversions become part of the kernel. What the region reads in a way
    that has no address formula is computed before the kernel and becomes an
    extra. Gradients that a concatenation puts side by side, as those of queries,
    keys and values of one product, are written there. Runs before
    `nn-form-kernels`, which sees a kernel.

    bitwise: the op is left as it is.
  }];
}

def ElideCopies : Pass<"nn-elide-copies", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Makes reshapes of copies of whole buffers.";
  let description = [{
    A kernel that only copies, through views that leave every element where it
    lies, becomes an `nn.reshape` of the buffer: a launch and a buffer less.
    `nn-form-kernels` writes one where a chain of views that cannot be read at
    once is cut before a reshape: a transposition that a matmul reads under
    another shape, as gradients of attention heads are.

    Only results of kernels and library calls are renamed: a parameter's bytes
    may be released before the copy's last use, a state's updated, and a
    reduction in place may write over what it reads.

    bitwise: nothing is computed, and nothing else is read.
  }];
  let statistics = [
    Statistic<"elided", "elided", "Copies that became reshapes">
  ];
}

def StoreBesideColumns
    : Pass<"nn-store-beside-columns", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Stores elements in the kernel that adds up their columns.";
  let description = [{
    Where a kernel over columns reads what a kernel computes element by element,
    as the gradient of a bias reads the gradient of an activation, each where it
    is computed, one kernel does both, in the place of the first:

        %g = nn.kernel rows (%x, %dy) -> tensor<8192x3072xbf16> ...
        %db = nn.kernel columns (%g) -> tensor<1x3072xf32> ...
        // becomes
        %db, %g = nn.kernel columns (%x, %dy) ...

    A launch less, and what was stored is not read again. For targets whose
    threads share the rows of a column, and matrices that give all something to do
    (`TargetInfo::splitsRowsOfColumns`). What else the kernel over columns reads
    must be there already. Follows CSE, which makes one kernel of equal ones.

    bitwise: an element's value does not depend on what it is computed with.
  }];
  let constructor = "::mlir::zg::nn::createStoreBesideColumns()";
  let statistics = [Statistic<"joined", "joined", "Kernels joined">];
}

def JoinColumns : Pass<"nn-join-columns", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Adds up the columns of several matrices in one kernel.";
  let description = [{
    Two kernels over the columns of as many rows each, as the gradients of a
    norm's scale and of a bias beside it, become one, which reads up to four
    matrices: in the place of the first where all that the second reads is there
    already, else in that of the second if nothing between them reads what the
    first makes, has other effects than to make values, or is a product:

        %ds = nn.kernel columns (%x, %dy) -> tensor<1x768xf32> ...
        %db = nn.kernel columns (%dz) -> tensor<1x768xf32> ...
        // becomes
        %ds, %db = nn.kernel columns (%x, %dy, %dz) ...

    A launch less, and more loads under way, for targets that launch kernels
    (`TargetInfo::launchesKernels`). Follows `nn-store-beside-columns`: a kernel
    that stores what it adds up stays alone.

    bitwise: an element's value does not depend on what it is computed with.
  }];
  let constructor = "::mlir::zg::nn::createJoinColumns()";
  let statistics = [Statistic<"joined", "joined", "Kernels joined">];
}

def WidenHalf : Pass<"nn-widen-half", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Computes f16 and bf16 in f32.";
  let description = [{
    Every op that computes with f16 or bf16 takes its operands converted to f32,
    and its result is rounded to nearest even. What only moves numbers (views,
    select, gather) stays as it is, and so do products by the target's library
    (`TargetInfo::hasProduct`): if it takes f32 alone, `nn-widen-products` widens
    them. If it takes convolutions of 16 bits, it rounds their results: the
    gradient of weights, which would be the sum in f32, is converted from that. A
    conversion between one of the two and f64 or an integer goes through f32.

    bitwise: an element's value is that of the op alone, whatever it is fused
    with.
  }];
  let constructor = "::mlir::zg::nn::createWidenHalf()";
  let statistics = [Statistic<"widened", "widened", "Ops that compute in f32">];
}

def WidenProducts : Pass<"nn-widen-products", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Multiplies f16 and bf16 by a library of f32.";
  let description = [{
    Where the library takes f32 alone (`TargetInfo::widensProduct`), each
    product gets kernels of its own that convert its operands right before it,
    and one right after it that rounds the result. So what lives on, from
    forward to backward, has 16 bits: a conversion that several products share
    would live as long as the last of them. The price is a kernel an operand,
    which no other kernel takes in. Follows `nn-form-kernels`, and CSE, which
    would merge the conversions again.

    bitwise: as `nn-widen-half` of a product.
  }];
  let constructor = "::mlir::zg::nn::createWidenProducts()";
  let statistics = [Statistic<"widened", "widened", "Products of f32">];
}

def ShiftMoments : Pass<"nn-shift-moments", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Keeps the digits of means that elements are taken from.";
  let description = [{
    Norms, variances and standard deviations take `x - mean(x)`, whoever wrote
    them. A plain mean is rounded as numbers of its size are, and leaves noise of
    equal ones. Where a program takes the mean of x along some dimensions from x,
    in either order, with `x0` the first of the n elements of a mean:

        %mean = sum(x) * (1/n)                     // or sum(x) / n
        %d = x - %mean
        %variance = sum(%d * %d) * (1/n)
        // becomes
        %near = x0 + sum(x - x0) * (1/n)
        %far = x - %near
        %rest = sum(%far) * (1/n)
        %mean = %near + %rest
        %d = %far - %rest
        %variance = max(sum(%far * %far) * (1/n) - %rest * %rest, 0)

    Of equal elements `%rest`, `%d` and the variance are 0; of others `%rest` is
    what `%near` lost by rounding. A sum of squares that is not divided by n
    becomes the variance times n. Means that nothing is taken from stay plain.
    `layer_norm` gets its mean and variance so where it is decomposed.

    Runs after `nn-differentiate`, so that gradients are those of plain means,
    and after `canonicalize` and `cse`, which make one sum of equal ones.

    reassociates: adds up other numbers, in the same order. It is no option and
    runs before the graph is sharded.
  }];
  let statistics = [
    Statistic<"shifted", "shifted", "Means that are computed otherwise">
  ];
}

def SplitLongRows : Pass<"nn-split-long-rows", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Reduces the segments of few long rows in parallel.";
  let description = [{
    One row is one work item of a kernel. Where there are few and they are long,
    each of their segments becomes a row: a reduction of `[rows, segments, 4096]`,
    and one that folds the segments in order. What is left of a row after its
    last whole segment is folded last. Products are left alone.

    bitwise: it is the order that a reduction of a long row has anyway.
  }];
  let options = [
    Option<"maxRows", "max-rows", "int64_t", "8",
           "Most rows of a reduction that is split">,
    Option<"minSegments", "min-segments", "int64_t", "8",
           "Fewest segments of a row that is">
  ];
  let statistics = [Statistic<"splits", "splits", "Reductions split">];
}

def SimplifyMatmul : Pass<"nn-simplify-matmul", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Folds transpositions into the flags of matmul.";
  let description = [{
    - An operand that is transposed in its last two dimensions, perhaps under a
      reshape of the batch dimensions, becomes a flag; where batch dimensions
      move as well, the flag is set so that the innermost dimension stays
      innermost.
    - A product whose only use transposes its last two dimensions becomes the
      product of the transposed operands in the other order.
    - A batch of products with one and the same right operand becomes a single
      product.

    bitwise: every stage and layout runs the same products.
  }];
}

def MarkNarrowProducts : Pass<"nn-mark-narrow-products", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Finds products of few rows that share a transposed factor.";
  let description = [{
    Where at least four products of at most 64 rows read one factor transposed, as
    the steps of a recurrence read their weight, they get the attribute
    `nn.narrow`, for `nn-transpose-once`. Runs before sharding: all follows from
    the model alone, and what is computed again has the same attributes.

    bitwise: nothing is computed.
  }];
}

def TransposeOnce : Pass<"nn-transpose-once", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Transposes what narrow products read transposed.";
  let description = [{
    A library that copies a transposed right factor for each product
    (`TargetInfo::copiesTransposed`) takes longer for the copy than for a product of
    few rows. So products with `nn.narrow` share one copy:

        %1 = nn.matmul %h0, %w transpose_b {nn.narrow}  // [16, 512] x [2048, 512]^T
        %2 = nn.matmul %h1, %w transpose_b {nn.narrow}
        ...
        // becomes
        %t = nn.transpose %w [1, 0]
        %1 = nn.matmul %h0, %t
        %2 = nn.matmul %h1, %t

    Follows `nn-simplify-matmul`, which would turn it back.

    reassociates: the library may add up in another order. Every stage and number
    of ranks has it so, as `nn-mark-narrow-products` chose the products.
  }];
  let constructor = "::mlir::zg::nn::createTransposeOnce()";
  let statistics = [Statistic<"transposed", "transposed", "Factors transposed">];
}

def SimplifyScatter : Pass<"nn-simplify-scatter", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Adds rows into a sum instead of into zeros.";
  let description = [{
    `x + scatter(sum, ids, rows)`, in either order, becomes
    `scatter(sum, ids, rows) into x` where nothing else uses the scatter: a
    table less, and a pass over two. It is the gradient of an embedding that is
    tied to the output head, the largest tensor of many language models.

    reassociates: where several rows meet, `x + (r0 + r1)` becomes
    `(x + r0) + r1`. It is no option and runs before the graph is sharded, so
    every stage, rank and layout has the same sums and thus the same bits.
  }];
  let statistics = [
    Statistic<"folded", "folded", "Sums folded into a scatter">
  ];
}

def PadRows : Pass<"nn-pad-rows", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Lets the rows that a library multiplies begin aligned.";
  let description = [{
    A library's fast products need rows that begin at aligned addresses
    (`TargetInfo::rowAlignment`); those of 50,257 logits begin anywhere. So rows
    of what the library
    multiplies or makes get an `nn.row_stride` where they are not aligned. They
    then begin at a line of 128 bytes, or just aligned, if that adds no more
    than a tenth; else they stay as they are.

    Only what kernels and products make and read is padded: activations and
    their gradients, no parameters nor their gradients, which collectives and
    files read. What is recomputed or offloaded is decided before, by dense
    sizes; memory is planned and limited after, with the padding.

    bitwise: every sum has the same terms in the same order. A library may
    choose another algorithm, the same one at every stage and number of ranks.
  }];
  let constructor = "::mlir::zg::nn::createPadRows()";
  let options = [
    Option<"alignment", "alignment", "int64_t", "0",
           "Bytes at a multiple of which rows should begin; 0: as the target says">
  ];
  let statistics = [Statistic<"padded", "padded", "Buffers whose rows lie apart">];
}

def VerifyKernels : Pass<"nn-verify-kernels", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Checks what nn-form-kernels promises.";
  let description = [{
    Of nn, only kernels, library calls and reshapes are left in the function,
    and every kernel obeys the rules of its form. All violations are reported.

    bitwise: changes nothing.
  }];
}

#endif // ZEROGRAPH_KERNELS_PASSES
