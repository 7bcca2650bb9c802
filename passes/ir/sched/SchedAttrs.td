//===- SchedAttrs.td - accesses, arenas, types ----------------------------===//

#ifndef ZEROGRAPH_SCHED_ATTRS
#define ZEROGRAPH_SCHED_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "passes/ir/sched/SchedEnums.td"
include "passes/ir/zero/ZeroEnums.td"

class Sched_Attr<string name, string attrMnemonic>
    : AttrDef<Sched_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Sched_AccessAttr : Sched_Attr<"Access", "access"> {
  let summary = "Bytes of a slice that a step touches.";
  let description = [{
    On rank r, bytes `[offset + r * rank_stride, + bytes)` of the slice.
    Steps print it together with its slice.

    ```mlir
    module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
      %w = sched.slice "w" gathered in device bytes 128
      sched.program @step {
        // Rank 0 writes bytes 0 to 63, rank 1 bytes 64 to 127.
        %0 = sched.fill on(compute) (write %w[0 for 64 by 64]) "w"
      }
    }
    ```
  }];
  let parameters = (ins EnumParameter<Sched_Mode>:$mode, "int64_t":$offset,
                        "int64_t":$bytes, "int64_t":$rank_stride);
  let assemblyFormat = [{
    `<` $mode `,` $offset `for` $bytes `by` $rank_stride `>`
  }];
  let extraClassDeclaration = [{
    bool reads() const { return getMode() != Mode::write; }
    bool writes() const { return getMode() != Mode::read; }
    /// End of the range over all of `world` ranks.
    int64_t end(int64_t world) const {
      return getOffset() + (world - 1) * getRankStride() + getBytes();
    }
  }];
}
def Sched_AccessArray : TypedArrayAttrBase<Sched_AccessAttr, "accesses">;

def Sched_ArenaAttr : Sched_Attr<"Arena", "arena"> {
  let summary = "Memory that is allocated once for all programs.";
  let description = [{
    `bytes` is `peak`, the end of the highest slice, rounded up to `alignment`;
    no packing needs less than `lower_bound`.

    ```mlir
    module attributes {sched.arenas = [
        #sched.arena<device, bytes = 128, alignment = 64, peak = 100,
                     lower_bound = 128>]} {
    }
    ```
  }];
  let parameters = (ins EnumParameter<Zero_Space>:$space, "int64_t":$bytes,
                        "int64_t":$alignment, "int64_t":$peak,
                        "int64_t":$lower_bound);
  let assemblyFormat = [{
    `<` $space `,` `bytes` `=` $bytes `,` `alignment` `=` $alignment `,` `peak`
    `=` $peak `,` `lower_bound` `=` $lower_bound `>`
  }];
}

def Sched_HeldAttr : Sched_Attr<"Held", "held"> {
  let summary = "The elements of a unit that a buffer holds.";
  let description = [{
    Elements `[begin, begin + elements)` of the flat buffer of `unit`, in a role
    of `zero.state`. `sharded`: rank r has those that are `r * elements` further
    on.

    ```mlir
    // Each of four ranks holds its 256 of the first 1024 gradients.
    %g = sched.slice "g" grad_shard in device bytes 1024
        holds <0, "grad", 0 for 256, sharded = true>
    ```
  }];
  let parameters = (ins "int64_t":$unit, "::mlir::StringAttr":$role,
                        "int64_t":$begin,
                        "int64_t":$elements,
                        DefaultValuedParameter<"bool", "false">:$sharded);
  let assemblyFormat = [{
    `<` $unit `,` $role `,` $begin `for` $elements
    (`,` `sharded` `=` $sharded^)? `>`
  }];
}

def Sched_Slice : TypeDef<Sched_Dialect, "Slice"> {
  let mnemonic = "slice";
  let summary = "A range of an arena.";
  let description = [{
    What `sched.slice` gives, and the accesses of steps name.
  }];
}

def Sched_Timepoint : TypeDef<Sched_Dialect, "Timepoint"> {
  let mnemonic = "timepoint";
  let summary = "Reached when a step, and all before it on its stream, is done.";
  let description = [{
    What every step gives, and other steps await.
  }];
}

#endif // ZEROGRAPH_SCHED_ATTRS
