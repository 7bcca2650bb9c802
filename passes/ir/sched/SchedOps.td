//===- SchedOps.td - the ops of the sched dialect -------------------------===//

#ifndef ZEROGRAPH_SCHED_OPS
#define ZEROGRAPH_SCHED_OPS

include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "passes/ir/nn/NNAttrs.td"
include "passes/ir/sched/SchedAttrs.td"
include "passes/ir/sched/SchedInterfaces.td"
include "passes/ir/zero/ZeroAttrs.td"

// A printed op names its results; see nameResults.
class Sched_Op<string mnemonic, list<Trait> traits = []>
    : Op<Sched_Dialect, mnemonic, !listconcat([
          DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>],
          traits)> {
  let extraClassDefinition = [{
    void $cppClass::getAsmResultNames(::mlir::OpAsmSetValueNameFn setName) {
      ::mlir::zg::sched::detail::nameResults(*this, setName);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

def Sched_SliceOp : Sched_Op<"slice", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "Bytes with one meaning.";
  let description = [{
    ```mlir
    %x = sched.slice "x" transient in device bytes 1024
    %w = sched.slice "fc1 param" param_shard in device bytes 4096 carried at 64
        {state = #zero.state<unit = 0, segment = 1, "param", sharded = true>,
         tensor = tensor<1024xf32>}
    ```
    A `carried` slice lives across programs; what any other holds is gone when
    a program ends. `state`, `input`, `output` and `scalar` say what the runtime
    keeps, gives or reads there, `tensor` its type. `sched-pack` adds the offset
    (`at`) and, where it is not carried, the first and the last step that touches
    it (`live`), of each program that does. `holds` says which elements
    of the unit's flat buffer lie in a buffer that is no state, as what: "param",
    "grad" or a state of the optimizer; `sharded`, of each rank its shard, the
    first one being that of rank 0.

    ```mlir
    %g = sched.slice "backward" grad in device bytes 4096
        holds <0, "grad", 0 for 1024>
    ```

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - `bytes` is positive.
    - `at` is not negative.
    - `live` has a first and a last step of each program.
    - At most one of `state`, `input`, `output` and `scalar`; they need
      `tensor`.
    - A state and an output are `carried`; an input and a scalar are not.
    - `holds` is at least one element of a unit; a state has none.
  }];
  let arguments = (ins
      StrAttr:$label, Sched_SliceClassAttr:$slice_class, Zero_SpaceAttr:$space,
      I64Attr:$bytes, UnitAttr:$carried,
      OptionalAttr<Sched_HeldAttr>:$holds,
      OptionalAttr<I64Attr>:$offset,
      OptionalAttr<DenseI64ArrayAttr>:$lifetime,
      OptionalAttr<Zero_StateAttr>:$state, OptionalAttr<NN_InputAttr>:$input,
      OptionalAttr<Zero_OutputAttr>:$output, OptionalAttr<NN_ScalarAttr>:$scalar,
      OptionalAttr<TypeAttr>:$tensor);
  let results = (outs Sched_Slice:$result);
  let assemblyFormat = [{
    $label custom<Bare>($slice_class) `in` custom<Bare>($space) `bytes` $bytes (`carried` $carried^)?
    (`holds` $holds^)?
    (`at` $offset^)?
    (`live` $lifetime^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_KernelOp : Sched_Op<"kernel", [
    IsolatedFromAbove, SingleBlock, NoTerminator, Symbol,
    HasParent<"::mlir::ModuleOp">]> {
  let summary = "A kernel that launches refer to.";
  let description = [{
    ```mlir
    sched.kernel @k0(%x: tensor<4x8xf32>) {
      %0 = nn.kernel rows (%a = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
        %1 = nn.unary neg %a : tensor<4x8xf32> -> tensor<4x8xf32>
        nn.yield %1 : tensor<4x8xf32>
      }
    }
    ```
    Equal bodies are one kernel. A product of matrices whose type no library
    takes is a kernel too. One that is `on_host` is compiled for the host, which
    helps the device.

    **Lifespan**: `sched-lower` to the plan, whose kernel module is generated
    from it.

    **Constraints:**
    - Its block holds one `nn.kernel` or `nn.matmul`, whose operands are the
      block's arguments in order.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, UnitAttr:$on_host);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The one op of the body: an nn.kernel or an nn.matmul.
    ::mlir::Operation *kernel() { return &getBody().front().front(); }
  }];
}

def Sched_ProgramOp : Sched_Op<"program", [
    SingleBlock, NoTerminator, Symbol, HasParent<"::mlir::ModuleOp">]> {
  let summary = "Steps in the order in which the host issues them.";
  let description = [{
    ```mlir
    %x = sched.slice "x" transient in device bytes 1024
    sched.program @step {
      %0 = sched.fill on(compute) (write %x[0 for 1024]) "x"
    }
    ```
    `step` does a whole step; or `micro` runs once a micro-batch and then
    `update` once. Nothing of one program is under way when another begins.
    What the runtime gives a run it writes into one of the program's two
    `slots`, in turn; see `sched.copy_in`.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - The block holds steps only and has no arguments.
    - There are no slots, or two carried slices of equal size in pinned memory.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Variadic<Sched_Slice>:$slots);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`slots` `(` $slots^ `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

// Constraints of every step are in the dialect's description.
class Sched_StepOp<string mnemonic, dag extra = (ins),
                   list<Trait> traits = [Sched_Step]>
    : Sched_Op<mnemonic, !listconcat([
          AttrSizedOperandSegments, HasParent<"ProgramOp">], traits)> {
  dag common = (ins Variadic<Sched_Timepoint>:$awaits,
                    Variadic<Sched_Slice>:$slices, Sched_StreamAttr:$stream,
                    Sched_AccessArray:$accesses, StrAttr:$label);
  let arguments = !con(common, extra);
  let results = (outs Sched_Timepoint:$timepoint);
  string stepFormat = [{
    `on` `(` custom<Bare>($stream) `)` (`await` `(` $awaits^ `)`)?
    custom<Accesses>($slices, $accesses) $label
  }];
  let assemblyFormat = stepFormat # " attr-dict";
}

class Sched_CollectiveOp<string mnemonic, dag extra, string format>
    : Sched_StepOp<mnemonic,
          !con(extra, (ins StrArrayAttr:$group, StrAttr:$reason,
                           I64Attr:$sequence)),
          [Sched_Step, Sched_Collective]> {
  let assemblyFormat = stepFormat # format # [{
    `group` $group `sequence` $sequence `reason` $reason attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_LaunchOp : Sched_StepOp<"launch", (ins FlatSymbolRefAttr:$kernel), [
    Sched_Step, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel.";
  let description = [{
    ```mlir
    %x = sched.slice "x" activation in device bytes 128
    %y = sched.slice "y" activation in device bytes 128
    sched.kernel @k0(%0: tensor<4x8xf32>) {
      %1 = nn.kernel rows (%a = %0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
        %2 = nn.unary neg %a : tensor<4x8xf32> -> tensor<4x8xf32>
        nn.yield %2 : tensor<4x8xf32>
      }
    }
    sched.program @step {
      %0 = sched.launch @k0 on(compute)
          (read %x[0 for 128], write %y[0 for 128]) "negate"
    }
    ```
    The accesses are the kernel's operands, then its results and, where its
    launches leave something for each other, scratch.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - The kernel exists.
    - One access for each operand and result of the kernel, of its size, and at
      most one more, which is written: scratch.
    - Operands are read, results written.
  }];
  let assemblyFormat = "$kernel" # stepFormat # "attr-dict";
}

def Sched_MatmulOp : Sched_StepOp<"matmul", (ins
    TypeAttr:$element_type, OptionalAttr<TypeAttr>:$result_type, I64Attr:$batch,
    I64Attr:$m, I64Attr:$n, I64Attr:$k, UnitAttr:$transpose_a, UnitAttr:$transpose_b,
    UnitAttr:$accumulate, UnitAttr:$bias,
    OptionalAttr<I64Attr>:$lda, OptionalAttr<I64Attr>:$ldb, OptionalAttr<I64Attr>:$ldc)> {
  let summary = "Products of matrices by the device's library.";
  let description = [{
    ```mlir
    %a = sched.slice "a" activation in device bytes 128
    %b = sched.slice "b" gathered in device bytes 256
    %c = sched.slice "c" activation in device bytes 128
    sched.program @step {
      %0 = sched.matmul on(compute)
          (read %a[0 for 128], read %b[0 for 256], write %c[0 for 128]) "fc1"
          batch 1 m 4 n 8 k 8 : f32 transpose_b
    }
    ```
    Accesses: A, B and C; with `bias` a vector of N, which is added to every row
    of C; and scratch, where the library needs it. Matrices are row-major; `transpose_a` says that A is stored as [K, M]. They are dense,
    unless `lda`, `ldb` or `ldc` says how many elements apart the rows of A, B
    or C begin, as they are stored. C has
    the type of A and B unless another one follows, `: bf16 -> f32`. With
    `accumulate` the products are added to what C has. The device cuts C into
    parts by the shape.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - Sizes are positive; rows begin no closer together than they are long.
    - The accesses are A, B, C and the bias, with the bytes the sizes ask for,
      and at most one more, which is written: scratch. C is written, or
      `read_write` with `accumulate`, which has no bias.
  }];
  let assemblyFormat = stepFormat # [{
    (`accumulate` $accumulate^)? (`bias` $bias^)? `batch` $batch `m` $m `n` $n `k` $k `:` $element_type
    (`->` $result_type^)? (`transpose_a` $transpose_a^)? (`transpose_b` $transpose_b^)?
    (`lda` $lda^)? (`ldb` $ldb^)? (`ldc` $ldc^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_ConvolutionOp : Sched_StepOp<"convolution", (ins
    NN_ConvolutionKindAttr:$kind, DenseI64ArrayAttr:$strides,
    DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$dilations, I64Attr:$groups,
    TypeAttr:$lhs, TypeAttr:$rhs, TypeAttr:$result)> {
  let summary = "A convolution, or a gradient of one, by the device's library.";
  let description = [{
    ```mlir
    %x = sched.slice "x" activation in device bytes 1536
    %w = sched.slice "w" gathered in device bytes 1728
    %y = sched.slice "y" activation in device bytes 2048
    sched.program @step {
      %0 = sched.convolution on(compute)
          (read %x[0 for 1536], read %w[0 for 1728], write %y[0 for 2048])
          "conv1" forward strides [2, 2] low [1, 1] dilations [1, 1] groups 1
          : tensor<2x3x8x8xf32>, tensor<16x3x3x3xf32> -> tensor<2x16x4x4xf32>
    }
    ```
    The kinds and their operands are those of `nn.convolution`. Accesses: the
    two operands, the result and, where the library needs it, scratch. The
    device cuts the result into parts by the shape.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - The types fit as those of `nn.convolution` do.
    - The accesses have their bytes; at most one more, which is written, is
      scratch.
  }];
  let assemblyFormat = stepFormat # [{
    `` $kind `strides` $strides `low` $low `dilations` $dilations
    `groups` $groups `:` $lhs `,` $rhs `->` $result
    attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_AllGatherOp : Sched_CollectiveOp<"all_gather",
    (ins I64Attr:$unit, TypeAttr:$element_type),
    "`unit` $unit `:` $element_type"> {
  let summary = "Every rank gets the whole segments of a unit.";
  let description = [{
    ```mlir
    module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
      %s = sched.slice "s" param_shard in device bytes 512
      %w = sched.slice "w" gathered in device bytes 1024
      sched.program @step {
        %0 = sched.all_gather on(gather)
            (read %s[0 for 512], write %w[0 for 1024]) "h.0" unit 0 : f32
            group ["data"] sequence 0 reason "forward of h.0"
      }
    }
    ```
    For each segment two accesses: this rank's shard, read, and the whole
    segment, written; rank r's shard lands at r times its size. The shard may
    already lie there.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - Accesses come in pairs, at least one, read and written.
    - A segment has the size of a shard for each rank of the group.
  }];
}

def Sched_ReduceScatterOp : Sched_CollectiveOp<"reduce_scatter", (ins
    I64Attr:$unit, I64Attr:$segment, UnitAttr:$accumulate,
    UnitAttr:$any_order, I64Attr:$chunk_bytes, TypeAttr:$wire,
    TypeAttr:$accumulator), [{
      `unit` $unit `segment` $segment (`accumulate` $accumulate^)?
      (`any_order` $any_order^)? `chunk` $chunk_bytes
      `:` $wire `to` $accumulator
    }]> {
  let summary = "Every rank gets the sum over ranks of its shard.";
  let description = [{
    ```mlir
    module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
      %g = sched.slice "g" grad in device bytes 1024
      %s = sched.slice "s" grad_shard in device bytes 512
      %b = sched.slice "b" staging in device bytes 1024
      sched.program @step {
        %0 = sched.fill on(compute) (write %g[0 for 1024]) "h.0"
        %1 = sched.reduce_scatter on(scatter) await(%0)
            (read %g[0 for 1024], write %s[0 for 512], write %b[0 for 1024])
            "h.0" unit 0 segment 0 chunk 512 : f32 to f32
            group ["data"] sequence 0 reason "gradients of h.0 are complete"
      }
    }
    ```
    Accesses: the whole segment of this rank's gradients, the shard, and
    staging of one chunk per rank. What travels is of the first type, the fold and
    the shard of the second. The canonical fold over ranks, from +0.0 or,
    with `accumulate`, from what the shard holds. With `any_order` the device's
    collective library adds up instead, in an order of its own and in one chunk;
    staging is there only with `accumulate`, for the sum that the shard takes.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - Three accesses: the segment read, the shard written (with `accumulate`
      read and written), staging written; with `any_order` and not `accumulate`
      the first two.
    - The segment has the size of a shard for each rank of the group, staging
      that of a chunk for each, or of one with `any_order`.
    - With `any_order` a chunk is a shard.
  }];
}

def Sched_AllReduceOp : Sched_CollectiveOp<"all_reduce",
    (ins TypeAttr:$wire, TypeAttr:$accumulator), "`:` $wire `to` $accumulator"> {
  let summary = "Every rank gets the sum over ranks of a few scalars.";
  let description = [{
    ```mlir
    module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
      %l = sched.slice "l" activation in device bytes 4
      %s = sched.slice "s" scalar in device bytes 4
      sched.program @step {
        %0 = sched.all_reduce on(scatter)
            (read %l[0 for 4], read_write %s[0 for 4]) "loss" : f32 to f32
            group ["data"] sequence 0 reason "the mean loss"
      }
    }
    ```
    Accesses in pairs: this rank's values, and the sum, which they are added to
    in rank order; and, where the device needs it, staging for every rank's
    values.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - Accesses come in pairs of equal size, at least one: the values read, the
      sum read and written.
    - One more is staging, written, with room for the values of each rank of
      the group.
  }];
}

def Sched_CopyOp : Sched_StepOp<"copy", (ins OptionalAttr<StrAttr>:$reason)> {
  let summary = "Copies bytes.";
  let description = [{
    ```mlir
    %x = sched.slice "x" activation in device bytes 128
    %y = sched.slice "y" grad in device bytes 256
    sched.program @step {
      %0 = sched.copy on(compute)
          (read %x[0 for 128], write %y[64 for 128]) "fc1"
    }
    ```
    With a `reason` it brings bytes to the other side: from the device to pinned
    memory on the stream `offload`, back on `fetch`; or from the rank's file to
    pinned memory on `read`, back on `write`.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - Two accesses of equal size, the first read, the second written.
  }];
  let assemblyFormat = stepFormat # "(`reason` $reason^)? attr-dict";
  let hasVerifier = 1;
}

def Sched_FillOp : Sched_StepOp<"fill"> {
  let summary = "Sets bytes to zero.";
  let description = [{
    ```mlir
    %x = sched.slice "x" grad in device bytes 256
    sched.program @step {
      %0 = sched.fill on(compute) (write %x[0 for 128]) "padding of fc1"
    }
    ```

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - One access, written.
  }];
  let hasVerifier = 1;
}

def Sched_CopyInOp : Sched_StepOp<"copy_in", (ins DenseI64ArrayAttr:$offsets)> {
  let summary = "Copies inputs and scalars from the slot of the run.";
  let description = [{
    ```mlir
    %s0 = sched.slice "slot 0 of step" staging in pinned bytes 128 carried
    %s1 = sched.slice "slot 1 of step" staging in pinned bytes 128 carried
    %x = sched.slice "x" input in device bytes 64
        {input = #nn.input<"x", per_sample = true>, tensor = tensor<2x8xf32>}
    %r = sched.slice "learning_rate" scalar in device bytes 4
        {scalar = #nn.scalar<"learning_rate">, tensor = tensor<1xf32>}
    sched.program @step slots(%s0, %s1) {
      %0 = sched.copy_in on(compute)
          (read %s0[0 for 128], read %s1[0 for 128], write %x[0 for 64],
           write %r[0 for 4]) "inputs and scalars" from [0, 64]
    }
    ```
    Accesses: the program's slots, of which a run reads the one that it was
    given, and what is written: access `i + 2` from byte `offsets[i]` on. The
    runtime writes the other slot meanwhile.

    **Lifespan**: `sched-lower` to the plan.

    **Constraints:**
    - The first two accesses are the program's slots, read.
    - The others are written: inputs or scalars, whole.
    - There is an offset for each of these: multiples of 64, in order, apart,
      within the slot.
  }];
  let assemblyFormat = stepFormat # "`from` $offsets attr-dict";
  let hasVerifier = 1;
}

#endif // ZEROGRAPH_SCHED_OPS
