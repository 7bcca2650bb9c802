//===- Passes.td - places for slices --------------------------------------===//

#ifndef ZEROGRAPH_MEMORY_PASSES
#define ZEROGRAPH_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

def PackBuffers : Pass<"sched-pack", "::mlir::ModuleOp"> {
  let summary = "Gives every slice its offset in the arena of its space.";
  let description = [{
    Carried slices come first, one after the other. The others share what
    follows: two may have the same bytes only if, in each program that uses both,
    every use of one happens before every use of the other, by stream order,
    awaits and the order of collectives (`passes/analysis/HappensBefore.h`).
    Order in the block is not enough once there are two streams.

    Of two library calls that follow each other on a stream, what the first is
    the last to use is kept until the second is done, up to 256 KiB a slice, so
    that a device can compute both at once.

    Records each slice's offset and its first and last step, and an arena for
    each space that has slices, with its lower bound, on the module. Slices that
    nothing uses and that are not carried go.

    bitwise: a value does not depend on where it lies.
  }];
  let statistics = [
    Statistic<"arenaBytes", "arena bytes", "bytes of the arena">,
    Statistic<"boundBytes", "bound bytes", "bytes no packing does without">,
    Statistic<"unsharedBytes", "unshared bytes",
              "bytes if no two slices shared any">
  ];
}

def LimitMemory : Pass<"sched-limit-memory", "::mlir::ModuleOp"> {
  let summary = "Refuses what needs more memory than there is.";
  let description = [{
    Fails where the arena of device memory is larger than `device`, or those of
    pinned and host memory together are larger than `host`, naming the step
    where most is live there and what that is, by class. Runs after
    `sched-pack`.

    bitwise: changes nothing.
  }];
  let options = [
    Option<"device", "device", "int64_t", "0",
           "Most bytes of device memory; 0: any">,
    Option<"host", "host", "int64_t", "0",
           "Most bytes of pinned and host memory; 0: any">
  ];
}

#endif // ZEROGRAPH_MEMORY_PASSES
