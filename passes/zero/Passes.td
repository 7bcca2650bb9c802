//===- Passes.td - passes that spread training over ranks -----------------===//

#ifndef ZEROGRAPH_ZERO_PASSES
#define ZEROGRAPH_ZERO_PASSES

include "mlir/Pass/PassBase.td"

def LocalizeViews : Pass<"zero-localize-views", "::mlir::ModuleOp"> {
  let summary = "Gives each user of a parameter's view a view of its own.";
  let description = [{
    A reshape, broadcast, transpose or slice of a parameter reads the
    parameter's bytes where its user does. Shared between forward and backward
    it would hide that backward needs the parameter; so each user gets its own
    copy of the chain, right before it.

    bitwise.
  }];
  let statistics = [Statistic<"cloned", "views", "views made">];
}

def Shard : Pass<"zero-shard", "::mlir::ModuleOp"> {
  let summary = "Shards parameters, gradients and optimizer state by ZeRO stage.";
  let description = [{
    Turns `@micro` (loss and gradients) into the programs every rank runs:
    `@step`, or with accumulation `@micro`, run once a micro-batch, and
    `@update`. Parameters become views of their unit's flat buffer, gradients
    parts of a pack that is reduced as soon as it is complete, and the optimizer
    works on flat shards.

    | stage | parameters | gradients | optimizer state |
    |---|---|---|---|
    | 0 | whole | all_reduce, whole | whole |
    | 1 | whole, all_gather after the update | reduce_scatter in place: the whole buffer stays to the update | sharded |
    | 2 | as 1 | reduce_scatter out of place: the whole buffer goes | sharded |
    | 3 | sharded; all_gather before use, release after | as 2 | sharded |

    In stage 3 a unit's consecutive uses share one gather; where another
    sharded unit is used between them the buffer is released and gathered again.
    With accumulation every stage folds each micro-batch into carried shards.

    Runs after `zero-localize-views`. It is correct and not clever: each gather
    stands right before its first use. `zero-prefetch` moves them.

    bitwise: for every stage the fold over global micro-batches in order.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [
    Option<"world", "world", "int64_t", "1", "Number of ranks">,
    Option<"stage", "stage", "int64_t", "0", "ZeRO stage, 0 to 3">,
    Option<"accumulate", "accumulate", "int64_t", "1",
           "Micro-batches a rank and step">,
    Option<"bucketBytes", "bucket-bytes", "int64_t", "33554432",
           "Most bytes of a segment, a collective's grain">,
    Option<"persistenceThreshold", "persistence-threshold", "int64_t", "0",
           "Units of at most so many elements stay whole in stage 3">,
    Option<"grouping", "units", "std::string", "\"\"",
           "How parameters form units: a glob pattern or a size in bytes">,
    Option<"dumpGradients", "dump-gradients", "bool", "false",
           "Keep reduced gradients to the end of the step">,
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "sgd, adam or adamw">,
    Option<"learningRate", "lr", "double", "1e-3", "Learning rate">,
    Option<"momentum", "momentum", "double", "0.0", "SGD's momentum">,
    Option<"nesterov", "nesterov", "bool", "false", "Nesterov momentum">,
    Option<"beta1", "beta1", "double", "0.9", "Adam's first beta">,
    Option<"beta2", "beta2", "double", "0.999", "Adam's second beta">,
    Option<"epsilon", "eps", "double", "1e-8", "Adam's epsilon">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "Weight decay">
  ];
}

def Forward : Pass<"zero-forward", "::mlir::ModuleOp"> {
  let summary = "Makes @forward a program of one rank that trains nothing.";
  let description = [{
    Parameters become views of their unit's flat buffer, all of them whole;
    results become `zero.output`s. Takes the place of `nn-differentiate` and
    `zero-shard` where a model is only run.

    bitwise.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def ExpandAllReduce : Pass<"zero-expand-all-reduce", "::mlir::ModuleOp"> {
  let summary = "Makes a unit's all_reduce a reduce_scatter and an all_gather.";
  let description = [{
        %r = zero.all_reduce %g unit 0 ...
        // becomes, for each segment
        %s = zero.reduce_scatter %g unit 0 segment 0 ... in_place
        %r = zero.all_gather %s unit 0 ... in_place

    The same bytes on the wire as a ring, in a fixed order of additions.
    Scalar reductions (unit -1) stay.

    bitwise.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def Prefetch : Pass<"zero-prefetch", "::mlir::ModuleOp"> {
  let summary = "Starts gathers early.";
  let description = [{
    Splits each gather of sharded parameters into `zero.prefetch`, placed where
    the gather `distance` before it is awaited (at the beginning of the program
    for the first ones), and `zero.await` where the gather was. With distance 0
    nothing changes.

    bitwise: for speed only; more buffers are live at once.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [Option<"distance", "distance", "int64_t", "1",
                        "How many gathers ahead">];
  let statistics = [Statistic<"started", "prefetches", "gathers split">];
}

def VerifyZero : Pass<"zero-verify", "::mlir::ModuleOp"> {
  let summary = "Checks that every gradient is reduced once, and gathers match.";
  let description = [{
    - Each segment of each trainable unit is reduced exactly once in `@step` or
      `@micro`.
    - Each trainable unit's parameters are updated exactly once.
    - Each started gather is awaited exactly once.
    - No `nn.parameter` argument is left.

    bitwise: changes nothing.
  }];
}

#endif // ZEROGRAPH_ZERO_PASSES
