//===- OffloadPasses.td - passes that bring the host and files in ---------===//
//
// A part of Passes.td, which includes what it needs.
//
//===----------------------------------------------------------------------===//

#ifndef ZEROGRAPH_ZERO_OFFLOAD_PASSES
#define ZEROGRAPH_ZERO_OFFLOAD_PASSES

def FileStates : Pass<"zero-file-states", "::mlir::ModuleOp"> {
  let summary = "Reads states from the rank's file, and writes them back.";
  let description = [{
    Where units declare states in a file (`zero-updates` with `nvme` for
    `offload-optimizer`, `offload-param` or `offload-gradients`), a program that
    takes one for an update reads it in front of its first use, and one that
    replaces it writes it in the end. Parameters are read in front of each gather besides
    (of each fetch, where there is one rank), so that memory has a shard no
    longer than it takes to bring it to the device.

        %r = zero.read %h.0.exp_avg unit 0 segment 0 bytes 2048
            reason "update of h.0"
        ... update of %r, on the host ...
        %w = zero.write %r.new unit 0 segment 0 bytes 2048
            reason "update of h.0"
        nn.return ..., %w

    `zero-offload`, which runs after it, lets the host compute the update;
    `zero-hoist-updates` moves reads and writes to it, once there are kernels.

    bitwise: moves values and changes none.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let statistics = [Statistic<"reads", "reads", "reads inserted">,
                    Statistic<"writes", "writes", "writes inserted">];
}

def Offload : Pass<"zero-offload", "::mlir::ModuleOp"> {
  let summary = "Lets the host compute with what lies in its memory.";
  let description = [{
    Where units declare states in memory of the host (`zero-updates` with
    `offload-optimizer` or `offload-param`), the host computes what is made of
    them, and what is made for that alone. What it needs of the device is
    offloaded as soon as it is there: shards of gradients and a few numbers.
    What the device needs of it is fetched: updated parameters, or a shard in
    front of each gather. What is made of literals alone does not move: each
    makes its own. The types of values say where they lie:

        tensor<512xf32>                      in memory of the device
        tensor<512xf32, #zero<space host>>   in memory of the host
        tensor<512xf32, #zero<space nvme>>   in the rank's file

        %s = zero.reduce_scatter %g unit 0 segment 0 ...
        %d = zero.offload %s unit 0 segment 0 bytes 2048
            reason "gradients of h.0, for the update on the host"
        ... update of %master, on the host ...
        %u = zero.fetch %master.new unit 0 segment 0 bytes 2048
            reason "updated parameters of h.0"
        %p = zero.all_gather %u unit 0 ... in_place

    Gradients are added up, and their norm is made, on the device. With
    `offload-gradients` the host makes the norm of the sums that it keeps, and a
    reduction fetches the sum that it adds to, which goes back (of one rank, the
    host adds). Runs after `zero-one-rank`, which
    leaves a fetch where the one rank gathered parameters that the host keeps.

    bitwise: the host computes each element with the bits that the device does.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let statistics = [Statistic<"offloaded", "offloads", "offloads inserted">,
                    Statistic<"fetched", "fetches", "fetches inserted">];
}

def HoistUpdates : Pass<"zero-hoist-updates", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Writes each state as soon as that is possible.";
  let description = [{
    `@step` has the update after the backward pass, so the gradients of all
    units would live until then. This pass moves each kernel that writes a
    state, and the gather of what it wrote, up: after the ops that make its
    operands and after all that read the state's old value. An update that
    reads a reduction stands after those of the units that follow, until these
    have as many gradients as the unit itself, so that its own reductions have
    backward to be hidden by.

        %s = zero.reduce_scatter %g unit 1 ...
        ... backward of unit 0 ...
        %t = zero.reduce_scatter %h unit 0 ...
        ... update of unit 1 from %s ...

    Which ops read a state is known for kernels alone, so this follows
    `nn-form-kernels`.

    bitwise: for memory, and for traffic beside backward.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

#endif // ZEROGRAPH_ZERO_OFFLOAD_PASSES
