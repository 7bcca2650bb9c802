//===- SchedDialect.td - the sched dialect: when and where --*- tablegen -*-===//
//
// File map: SchedDialect.td <- SchedAttrs.td <- SchedInterfaces.td
//           <- SchedOps.td
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_SCHED_DIALECT
#define ZEROGRAPH_SCHED_DIALECT

include "mlir/IR/OpBase.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::mlir::zg::sched";
  let summary = "Steps on streams over byte ranges.";
  let description = [{
    What a plan says, as IR. Tensors are gone: a step touches byte ranges of
    slices, and a slice is a range of an arena with one meaning and one
    lifetime class.

        nn.program + nn.kernel + library calls + zero
            --sched-lower--> slices and steps, no order between streams
            --sched-place-events--> awaits for every dependence
            --sched-throttle--> awaits that let bytes be reused
            --sched-elide-waits--> without those that follow from others
            --sched-pack--> offsets
            --sched-place-events, sched-elide-waits--> only the awaits that the
                                                       packed bytes need
            --> the plan

    A module holds, in this order, the `sched.program`s, the `sched.slice`s, the
    `sched.kernel`s and the `zero.layout`. Order of steps in a program is the order in
    which the host issues them; steps of one stream run in that order; order
    between streams exists only where a step awaits a timepoint, and between
    collectives, which run in the order of their sequence numbers.

    Every step names its stream, what it awaits, its accesses (a mode, a slice
    and the bytes of it, `by` a stride per rank where ranks differ) and a label,
    the ONNX node or unit it comes from:

        on(gather) await(%t) (read %s[0 for 32 by 32], write %w[0 for 64]) "h.0"

    Constraints of every step:
    - It has one access per slice, and the slice is a `sched.slice`.
    - An access is not empty and ends within its slice on every rank.
    - An awaited timepoint is that of an earlier step of the same program, on
      another stream.

    The module keeps `zero.mesh` and the other attributes of the zero dialect;
    `sched-pack` adds `sched.arenas`, an array of `#sched.arena`.
  }];
  // Their attributes stand in ops of this one.
  let dependentDialects = ["::mlir::zg::nn::NNDialect",
                           "::mlir::zg::zero::ZeroDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

#endif // ZEROGRAPH_SCHED_DIALECT
