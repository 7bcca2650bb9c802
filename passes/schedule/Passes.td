//===- Passes.td - from tensors to steps on streams -----------------------===//

#ifndef ZEROGRAPH_SCHEDULE_PASSES
#define ZEROGRAPH_SCHEDULE_PASSES

include "mlir/Pass/PassBase.td"

def LowerToSched : Pass<"sched-lower", "::mlir::ModuleOp"> {
  let summary = "Turns functions over tensors into steps over byte ranges.";
  let description = [{
    Each `nn.program` becomes a `sched.program`; ops stay in order. Tensors get
    slices, or places within one: reshape, view, shard and in-place reductions
    share their operand's bytes, operands of a pack lie where the pack wants
    them, updates of a state where the state is kept. Where a value cannot lie
    in such a place, because the bytes are still read or it already lies
    elsewhere, it is copied.

    | op | step | stream |
    |---|---|---|
    | nn.kernel, nn.matmul of a type without a library | launch | compute |
    | nn.matmul | matmul, with scratch | compute |
    | nn.convolution | convolution, with scratch | compute |
    | zero.all_gather, zero.prefetch | all_gather | gather |
    | zero.reduce_scatter | reduce_scatter, with staging | scatter |
    | zero.all_reduce | all_reduce, with staging if the device needs it | scatter |
    | gaps of zero.pack, sums that begin, zero constants kept | fill | compute |
    | a value that lies elsewhere than it is wanted | copy | compute |
    | zero.offload, zero.fetch | copy | offload, fetch |

    What the host computes, and copies and fills in its memory, are on `update`
    instead of compute. What crosses to the device and back lies in pinned
    memory.

    No step awaits another yet: `sched-place-events` is next.

    bitwise. Where the device's collective library adds gradients up
    (`--reduction nccl`), the plan's sums have an order of the library's own.
  }];
  let constructor = "::mlir::zg::sched::createLowerToSched()";
  let dependentDialects = ["::mlir::zg::sched::SchedDialect"];
}

def PlaceEvents : Pass<"sched-place-events", "::mlir::ModuleOp"> {
  let summary = "Makes every step await what it depends on on other streams.";
  let description = [{
    For each read after write, write after read and write after write of the
    same bytes of a slice by steps of two streams, the later step awaits the
    earlier. Once slices are packed, the first step of a stream that touches a
    slice also awaits the last ones of other streams that touched what lay in
    its bytes before. Awaits that were there are dropped, so that after packing
    none is left of `sched-throttle` that no bytes needed.

    A step does not await what earlier awaits order before it. It may await two
    steps of which the later follows the earlier; `sched-elide-waits` drops such.

    bitwise: orders steps and changes none.
  }];
  let statistics = [Statistic<"placed", "awaits placed", "awaits placed">];
}

def Throttle : Pass<"sched-throttle", "::mlir::ModuleOp"> {
  let summary = "Adds awaits that let bytes be reused.";
  let description = [{
    - A gather, or a fetch of parameters from the host, awaits the last step on
      compute before it in issue order, so that it does not start earlier than
      `zero-prefetch` means it to, and the buffers that are free by then can
      take what it brings.
    - The first step that writes into a unit's flat gradients awaits the
      reductions that read the flat gradients begun `window` units before, so
      that at most `window` such buffers are in use at once.
    - Likewise for activations that the host keeps: the step that makes one awaits
      that the one `window` before has gone to the host.
    - Likewise for sums of gradients that are brought from the host: a fetch
      awaits that the one `window` before has gone back.
    - Likewise in pinned memory, for what goes to the host and, apart, for what
      comes from it, and for what is read from a file: what the updates of
      `window` segments take is there at once, or as many shards of parameters on
      their way to the device. A unit's gradients may all go to the host before
      the first of them is used: then they await those of the unit before it.
      Where all updates wait for the last gradients, nothing empties the buffers,
      and each has bytes of its own.

    For memory only: the program is correct without.

    bitwise: orders steps and changes none.
  }];
  let options = [
    Option<"window", "window", "int64_t", "2",
           "Buffers of a kind in use at once">
  ];
  let statistics = [Statistic<"placed", "awaits placed", "awaits placed">];
}

def ElideWaits : Pass<"sched-elide-waits", "::mlir::ModuleOp"> {
  let summary = "Drops awaits that follow from the order there already is.";
  let description = [{
    An await is dropped if stream order, the order of collectives and the awaits
    that are kept say the same: the vector clock of the step without the await
    is not below that of the awaited step.

    bitwise: the order stays as it is.
  }];
  let statistics = [
    Statistic<"kept", "awaits kept", "awaits kept">,
    Statistic<"elided", "awaits elided", "awaits that followed from others">
  ];
}

#endif // ZEROGRAPH_SCHEDULE_PASSES
