//===- ZeroOps.td - the ops of the zero dialect ---------------------------===//

#ifndef ZEROGRAPH_ZERO_OPS
#define ZEROGRAPH_ZERO_OPS

include "mlir/Interfaces/SideEffectInterfaces.td"
include "passes/ir/zero/ZeroTransferOps.td"

def Zero_LayoutOp : Op<Zero_Dialect, "layout", [HasParent<"::mlir::ModuleOp">]> {
  let summary = "The units, and the groups of the optimizer.";
  let description = [{
    ```mlir
    module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
      zero.layout units [
        #zero.unit<"fc1", f32, elements = 512, trainable = true,
                   persistent = false, reason = "module of the exporter",
                   axes = ["data"], segments = [512],
                   states = [<"param", f32, sharded = true>,
                             <"grad", f32, sharded = true>],
                   placements = [<<"fc1.bias", module = "fc1",
                                   trainable = true, init = zeros>,
                                  tensor<128xf32>, offset = 0>]>
      ] groups [
        #zero.group<"default", {lr = 0.1 : f64, optimizer = "sgd"}>
      ]
    }
    ```
    Stands once in a module, after its programs. Ops name a unit, and placements
    a group, by its number here.

    **Lifespan**: `zero-layout` to the plan; `zero-updates` adds states to the
    units and options to the groups.

    **Constraints:**
    - Stands in a module.
  }];
  let arguments = (ins
      TypedArrayAttrBase<Zero_ParamUnitAttr, "units">:$units,
      OptionalAttr<TypedArrayAttrBase<Zero_OptimizerGroupAttr, "groups">>:$groups);
  let assemblyFormat = [{
    `units` custom<Lines>($units) (`groups` custom<Lines>($groups)^)? attr-dict
  }];
}

// Collectives are no `Pure` ops: every rank must run them all, in one order.
class Zero_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : Zero_Op<mnemonic, traits>;

def Zero_ShardOp : Zero_Op<"shard", [Pure]> {
  let summary = "This rank's part of one segment of a flat buffer.";
  let description = [{
    ```mlir
    nn.program @example(%flat: tensor<4096xf32>) {
      %s = zero.shard %flat unit 0 segment 1
          : tensor<4096xf32> -> tensor<512xf32>
      nn.return
    }
    ```
    With 4 ranks and segments of 2048, rank r gets
    `flat[2048 + r * 512 ... 2048 + (r + 1) * 512)`. A view: it shares the
    flat buffer's bytes.

    **Lifespan**: `zero-updates` to lowering into sched.

    **Constraints:**
    - `unit` and `segment` exist.
    - The operand has the unit's length, the result that of the shard.
    - Element types are equal.
  }];
  let arguments = (ins Zero_Flat:$flat, I64Attr:$unit, I64Attr:$segment);
  let results = (outs Zero_Flat:$result);
  let assemblyFormat = [{
    $flat `unit` $unit `segment` $segment attr-dict
    `:` type($flat) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_ViewOp : Zero_Op<"view", [Pure]> {
  let summary = "A parameter inside its unit's flat buffer.";
  let description = [{
    ```mlir
    nn.program @example(%flat: tensor<4096xf32>) {
      %w = zero.view %flat[256] : tensor<4096xf32> -> tensor<16x64xf32>
      nn.return
    }
    ```
    The elements from `offset` on, row-major. Shares the flat buffer's bytes.

    **Lifespan**: `zero-layout` to lowering into sched.

    **Constraints:**
    - The result's elements lie within the flat buffer.
    - Element types are equal.
  }];
  let arguments = (ins Zero_Flat:$flat, I64Attr:$offset);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = [{
    $flat `[` $offset `]` attr-dict `:` type($flat) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_PackOp : Zero_Op<"pack", [Pure]> {
  let summary = "What each member of a unit has, laid out as its flat buffer.";
  let description = [{
    ```mlir
    nn.program @example(%gw: tensor<16x64xf32>, %gb: tensor<64xf32>) {
      %g = zero.pack %gw, %gb at [0, 1024] unit 0
          : tensor<16x64xf32>, tensor<64xf32> -> tensor<4096xf32>
      nn.return
    }
    ```
    Elements that no operand covers are zero. Lowering computes the operands
    in place, so that nothing is copied.

    **Lifespan**: `zero-layout` to lowering into sched.

    **Constraints:**
    - One offset an operand, ascending; operands neither overlap nor exceed
      the result.
  }];
  let arguments = (ins Variadic<Zero_Tensor>:$operands,
                       DenseI64ArrayAttr:$offsets, I64Attr:$unit);
  let results = (outs Zero_Flat:$result);
  let assemblyFormat = [{
    $operands `at` $offsets `unit` $unit attr-dict
    `:` type($operands) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_AllGatherOp : Zero_CollectiveOp<"all_gather"> {
  let summary = "Every rank gets a unit's whole flat buffer.";
  let description = [{
    ```mlir
    nn.program @example(%s0: tensor<512xf32>, %s1: tensor<512xf32>) {
      %flat = zero.all_gather %s0, %s1 unit 0 stay forward group ["data"]
          reason "forward of h.0"
          : tensor<512xf32>, tensor<512xf32> -> tensor<4096xf32>
      nn.return
    }
    ```

        before   rank 0: s0        rank 1: s1
        after    rank 0: s0 s1     rank 1: s0 s1      (of each segment)

    One operand a segment, one group of transfers. `in_place`: the operands are
    `zero.shard`s of the storage that the result has. `stay`: which part of the
    step a parameter unit of stage 3 is whole for.

    **Lifespan**: `zero-gathers` and `zero-updates` to lowering into sched;
    `zero-prefetch` may split it into `zero.prefetch` and `zero.await`.

    **Constraints:**
    - `unit` exists.
    - The group is the unit's axes.
    - One shard a segment of the unit, an equal part of it for each rank; the
      result has the unit's length.
  }];
  let arguments = (ins Variadic<Zero_Flat>:$shards, I64Attr:$unit,
                       StrArrayAttr:$group, StrAttr:$reason,
                       OptionalAttr<Zero_StayAttr>:$stay, UnitAttr:$in_place);
  let results = (outs Zero_Flat:$result);
  let assemblyFormat = [{
    $shards `unit` $unit (`stay` `` $stay^)? `group` $group `reason` $reason
    (`in_place` $in_place^)? attr-dict `:` type($shards) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_PrefetchOp : Zero_CollectiveOp<"prefetch"> {
  let summary = "Starts a gather that a later await finishes.";
  let description = [{
    ```mlir
    nn.program @example(%s0: tensor<1024xf32>) {
      %h = zero.prefetch %s0 unit 0 group ["data"] reason "forward of h.0"
          : tensor<1024xf32> -> <tensor<4096xf32>>
      nn.return
    }
    ```

    **Lifespan**: `zero-prefetch` to lowering into sched.

    **Constraints:**
    - Those of `zero.all_gather`.
  }];
  let arguments = (ins Variadic<Zero_Flat>:$shards, I64Attr:$unit,
                       StrArrayAttr:$group, StrAttr:$reason,
                       OptionalAttr<Zero_StayAttr>:$stay);
  let results = (outs Zero_Handle:$handle);
  let assemblyFormat = [{
    $shards `unit` $unit (`stay` `` $stay^)? `group` $group `reason` $reason attr-dict
    `:` type($shards) `->` type($handle)
  }];
  let hasVerifier = 1;
}

def Zero_AwaitOp : Zero_Op<"await"> {
  let summary = "The flat buffer of a gather that was started early.";
  let description = [{
    ```mlir
    nn.program @example(%s0: tensor<1024xf32>) {
      %h = zero.prefetch %s0 unit 0 group ["data"] reason "forward of h.0"
          : tensor<1024xf32> -> <tensor<4096xf32>>
      %flat = zero.await %h : <tensor<4096xf32>> -> tensor<4096xf32>
      nn.return
    }
    ```

    **Lifespan**: `zero-prefetch` to lowering into sched.

    **Constraints:**
    - The result has the handle's type.
  }];
  let arguments = (ins Zero_Handle:$handle);
  let results = (outs Zero_Flat:$result);
  let assemblyFormat = [{
    $handle attr-dict `:` type($handle) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_RecallOp : Zero_Op<"recall", [
    Pure, AllTypesMatch<["operand", "result"]>]> {
  let summary = "A value by another name, which no pass joins with the first.";
  let description = [{
    ```mlir
    nn.program @example(%x: tensor<4x8xf32>) {
      %again = zero.recall %x unit 0 : tensor<4x8xf32>
      nn.return
    }
    ```
    The operand, by another name: what the forward pass of a unit computes from
    it again is then another op than the first time, which no pass takes for the
    same one.

    `zero-updates` calls LAMB's direction so too: then no kernel that reads it
    makes it again.

    **Lifespan**: `zero-recompute` and `zero-updates` to `zero-forget-recalls`.

    **Constraints:**
    - Operand and result have one type.
  }];
  let arguments = (ins Zero_Tensor:$operand, I64Attr:$unit);
  let results = (outs Zero_Tensor:$result);
  let assemblyFormat = "$operand `unit` $unit attr-dict `:` type($result)";
}

def Zero_ReleaseOp : Zero_Op<"release"> {
  let summary = "A gathered flat buffer is needed no more.";
  let description = [{
    ```mlir
    nn.program @example(%flat: tensor<4096xf32>) {
      zero.release %flat unit 0 : tensor<4096xf32>
      nn.return
    }
    ```
    Its bytes may be reused from here on.

    **Lifespan**: `zero-gathers` to lowering into sched.

    **Constraints:**
    - No use of the buffer, or of a view of it, follows.
  }];
  let arguments = (ins Zero_Flat:$flat, I64Attr:$unit);
  let assemblyFormat = "$flat `unit` $unit attr-dict `:` type($flat)";
  let hasVerifier = 1;
}

def Zero_ReduceScatterOp : Zero_CollectiveOp<"reduce_scatter"> {
  let summary = "Every rank gets the sum over ranks of its shard of a segment.";
  let description = [{
    ```mlir
    nn.program @example(%g: tensor<4096xf32>, %acc: tensor<512xf32>) {
      %s = zero.reduce_scatter %g, %acc unit 0 segment 1 group ["data"]
          reason "gradients of h.0 complete"
          : tensor<4096xf32>, tensor<512xf32> -> tensor<512xf32>
      nn.return
    }
    ```

        before   rank 0: a0 a1     rank 1: b0 b1
        after    rank 0: (acc + a0) + b0     rank 1: (acc + a1) + b1

    The canonical fold: over ranks in rank order, starting from the
    accumulator, or from +0.0 where there is none. `in_place`: the result lies
    in the rank's own part of the segment in `flat`, whose bytes then stay
    until the result's last use.

    **Lifespan**: `zero-reductions` to lowering into sched.

    **Constraints:**
    - `unit` and `segment` exist; the group is the unit's axes.
    - `flat` has the unit's length; accumulator and result that of the shard.
    - Element types are equal; but f32 may be the sum of bf16 or f16, which is
      not in place.
    - `in_place` has no accumulator.
  }];
  let extraClassDeclaration = [{
    /// Returns whether what travels has less bits than the sum.
    bool rounds();
  }];
  let arguments = (ins Zero_Flat:$flat, Optional<Zero_Flat>:$accumulator,
                       I64Attr:$unit, I64Attr:$segment, StrArrayAttr:$group,
                       StrAttr:$reason, UnitAttr:$in_place);
  let results = (outs Zero_Flat:$result);
  let assemblyFormat = [{
    $flat (`,` $accumulator^)? `unit` $unit `segment` $segment `group` $group
    `reason` $reason (`in_place` $in_place^)? attr-dict
    `:` type($flat) (`,` type($accumulator)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

def Zero_AllReduceOp : Zero_CollectiveOp<"all_reduce"> {
  let summary = "Every rank gets the sum over ranks of a few numbers.";
  let description = [{
    ```mlir
    nn.program @example(%loss: tensor<1xf32>, %acc: tensor<1xf32>) {
      %l = zero.all_reduce %loss, %acc group ["data"] reason "the mean loss"
          : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
      nn.return
    }
    ```
    The canonical fold of `zero.reduce_scatter`, of all elements, on every
    rank. Gradients are reduced by `zero.reduce_scatter`.

    **Lifespan**: `zero-reductions` to lowering into sched.

    **Constraints:**
    - The mesh has the axes of the group.
    - Operand, accumulator and result have one type.
  }];
  let arguments = (ins Zero_Flat:$operand, Optional<Zero_Flat>:$accumulator,
                       StrArrayAttr:$group, StrAttr:$reason);
  let results = (outs Zero_Flat:$result);
  let assemblyFormat = [{
    $operand (`,` $accumulator^)? `group` $group `reason` $reason attr-dict
    `:` type($operand) (`,` type($accumulator)^)? `->` type($result)
  }];
  let hasVerifier = 1;
}

#endif // ZEROGRAPH_ZERO_OPS
