//===- SchedAttrs.td - streams, classes, accesses, types ------------------===//

#ifndef ZEROGRAPH_SCHED_ATTRS
#define ZEROGRAPH_SCHED_ATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "passes/ir/sched/SchedDialect.td"

class Sched_Case<string name, int value> : I32EnumAttrCase<name, value>;
class Sched_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::zg::sched";
  let genSpecializedAttr = 0;
}

def Sched_Stream : Sched_Enum<"Stream", "queue of steps that run in order", [
  Sched_Case<"compute", 0>, Sched_Case<"gather", 1>, Sched_Case<"scatter", 2>,
  // Of copies to pinned memory and from it; and what the host computes.
  Sched_Case<"offload", 3>, Sched_Case<"fetch", 4>, Sched_Case<"update", 5>,
  // Of copies from a file to pinned memory, and back.
  Sched_Case<"read", 6>, Sched_Case<"write", 7>
]>;
def Sched_StreamAttr : EnumAttr<Sched_Dialect, Sched_Stream, "stream">;

def Sched_Space : Sched_Enum<"Space", "kind of memory of an arena", [
  Sched_Case<"device", 0>, Sched_Case<"pinned", 1>, Sched_Case<"host", 2>,
  Sched_Case<"nvme", 3>
]>;
def Sched_SpaceAttr : EnumAttr<Sched_Dialect, Sched_Space, "space">;

// As in plan.proto.
def Sched_SliceClass : Sched_Enum<"SliceClass", "lifetime class of a slice", [
  Sched_Case<"param_shard", 0>, Sched_Case<"gathered", 1>,
  Sched_Case<"grad", 2>, Sched_Case<"grad_shard", 3>,
  Sched_Case<"optimizer", 4>, Sched_Case<"activation", 5>,
  Sched_Case<"transient", 6>, Sched_Case<"staging", 7>,
  Sched_Case<"input", 8>, Sched_Case<"scalar", 9>, Sched_Case<"output", 10>
]>;
def Sched_SliceClassAttr
    : EnumAttr<Sched_Dialect, Sched_SliceClass, "slice_class">;

def Sched_Mode : Sched_Enum<"Mode", "what a step does to bytes", [
  Sched_Case<"read", 0>, Sched_Case<"write", 1>, Sched_Case<"read_write", 2>
]>;

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
  let parameters = (ins EnumParameter<Sched_Space>:$space, "int64_t":$bytes,
                        "int64_t":$alignment, "int64_t":$peak,
                        "int64_t":$lower_bound);
  let assemblyFormat = [{
    `<` $space `,` `bytes` `=` $bytes `,` `alignment` `=` $alignment `,` `peak`
    `=` $peak `,` `lower_bound` `=` $lower_bound `>`
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
