//===- SchedEnums.td - streams, classes of slices, modes ------------------===//

#ifndef ZEROGRAPH_SCHED_ENUMS
#define ZEROGRAPH_SCHED_ENUMS

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
  // Streams of copies to pinned memory and from it, and of what the host
  // computes.
  Sched_Case<"offload", 3>, Sched_Case<"fetch", 4>, Sched_Case<"update", 5>,
  // Streams of copies from a file to pinned memory, and back.
  Sched_Case<"read", 6>, Sched_Case<"write", 7>
]>;
def Sched_StreamAttr : EnumAttr<Sched_Dialect, Sched_Stream, "stream">;

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

#endif // ZEROGRAPH_SCHED_ENUMS
