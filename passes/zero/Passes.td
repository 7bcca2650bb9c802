//===- Passes.td - passes that spread training over ranks -----------------===//

#ifndef ZEROGRAPH_ZERO_PASSES
#define ZEROGRAPH_ZERO_PASSES

include "mlir/Pass/PassBase.td"
include "options/PassOptions.td"
include "passes/zero/OffloadPasses.td"

def LocalizeViews : Pass<"zero-localize-views", "::mlir::ModuleOp"> {
  let summary = "Gives each user of a parameter's view a view of its own.";
  let description = [{
    A reshape, broadcast, transpose or slice of a parameter, or a conversion to
    another type, reads the parameter's bytes where its user does. Shared between forward and backward
    it would hide that backward needs the parameter; so each user gets its own
    copy of the chain, right before it.

    bitwise.
  }];
  let statistics = [Statistic<"cloned", "views", "views made">];
}

def Layout : Pass<"zero-layout", "::mlir::ModuleOp"> {
  let summary = "Lays parameters and gradients out in flat buffers of units.";
  let description = [{
    Groups the parameters of `@micro` into units and says on the module what
    they are, and for how many ranks, which stage and how many micro-batches.
    A parameter becomes a view of its unit's whole buffer, right before each op
    that reads it; a unit's gradients become one pack, after the last of them and
    what may share its kernel, and a result with `zero.gradient`; so do next
    values of running statistics, which update their state. A parameter that all
    its readers round to 16 bits is kept so, and has a master to train: the
    roundings become the views.

        %y = nn.matmul %x, %w                    // %w an nn.parameter
        // becomes
        %w = zero.view %flat[0]                  // %flat a zero.state
        %y = nn.matmul %x, %w

    What it leaves is right for one rank, or where every rank has everything:
    `zero-gathers`, `zero-reductions` and `zero-updates` share it out.

    With a `reduce-precision` of 16 bits the f32 gradients of a unit are rounded
    to it as they are packed, and so they travel; their sums are f32. Those that
    a rank adds up alone (`--reduce last`) are rounded by `zero-updates`.

    Runs after `zero-localize-views`.

    bitwise: `reduce-precision` aside, which rounds.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [
    ranks, zero_stage, accumulate, bucket_bytes, persistence_threshold, units,
    no_decay, master_precision, reduce, reduce_precision,
    Option<"groups", "groups", "std::string", "\"\"",
           "what `--group` gives, one after the other with a ; between">
  ];
}

def Recompute : Pass<"zero-recompute", "::mlir::ModuleOp"> {
  let summary = "Lets backward compute a unit's forward pass again.";
  let description = [{
    With `recompute=units`, what backward reads of the forward pass is not kept,
    except what goes from one block to the next: from that the rest is computed
    again, each op right before the first that needs it.

        %x = zero.recall %h.0.out unit 3
        %n = nn.layer_norm %x, ...     // as in the forward pass of unit 3
        ... backward of unit 3 ...

    With `recompute=selective`, only what is cheap is computed again: elementwise
    functions, reductions and norms. Which, a minimum cut of each block decides:
    what is kept has the fewest bytes from which the rest can be made, and of
    equal choices the one that computes least again. So of a norm its operand is
    kept.

    With `recompute=none`, the cut may choose elementwise functions alone: of a
    GELU its operand is kept, and of a gated unit the two that it multiplies.
    Of equal choices the one is taken for which least is written that would not
    be anyway, as a library's result is: of `x - mean(x)` x, if a convolution
    made it.
    Backward's gradient of the function reads these anyway, so one kernel writes
    the gradient and, for the product of the weights' gradient, the function:

        %x = zero.recall %h.0.fc unit 3
        %g = nn.unary gelu %x                 // as in the forward pass
        %dx = ...                             // reads %x too
        %dw = nn.matmul %g, %dy transpose_a   // after them, so that they share a
                                              // kernel; before, without the pass

    Only the first blocks are treated as asked for; `recompute-ratio` is their
    share. The others are treated as with `selective` where that is `units`, else
    as with `none`.

    With `offload-activations=cpu`, what goes from one block to the next lies in
    memory of the host until backward needs it. It is fetched when half of the
    products of the block after are done backward. The first half has the MLP, in
    which most is live, and the second takes longer than the copy:

        %down = zero.offload %h.0.out bytes 2048 reason "kept for backward"
        ... forward pass of the blocks after ...
        ... half of backward of unit 5 ...
        %x = zero.fetch %down bytes 2048 reason "backward of h.1"

    A block's forward pass is a run of ops: from the first use of its parameters
    to that of another block's, and the cheap ops before it that are made of what
    goes to it in any case, such as a norm before its weight. The operand of a
    norm goes to the next block in place of its result, so that what it is made
    of is not computed again; of a broadcast its operand goes. The last block is
    not computed again, as its backward follows at once. Running statistics are
    not made twice. The module gets the number of these ops as `zero.recomputed`.

    Runs before `zero-gathers`, which sees the second forward pass as a part of
    backward: a unit is gathered as often as without, if backward reads its
    parameters anyway. Parameters that are gathered are not recalled: the second
    forward pass has views of its own of them, of whichever block they are. Nor
    is what is made of literals alone, such as a mask, which blocks share: it is
    no tensor, since kernels make it where they read it.

    bitwise: each op gives the same bits again, random numbers included.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [recompute, recompute_ratio, offload_activations];
  let statistics = [Statistic<"cloned", "ops", "ops computed again">];
}

def ForgetRecalls : Pass<"zero-forget-recalls", "::mlir::zg::nn::ProgramOp"> {
  let summary = "Removes zero.recall.";
  let description = [{
    Behind the last pass that joins equal ops, `zero-recompute`'s second names
    have done their work.

    bitwise: changes nothing.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def Gathers : Pass<"zero-gathers", "::mlir::ModuleOp"> {
  let summary = "Gathers sharded parameters before use, and releases them.";
  let description = [{
    Where a rank keeps only shards of a unit's parameters (stage 3), `@micro`
    takes the shards, gathers the whole buffer before its first use and
    releases it after the last:

        %flat = zero.all_gather %s0, %s1 unit 0 ...
        %w = zero.view %flat[0]
        %y = nn.matmul %x, %w
        zero.release %flat unit 0

    A unit's consecutive uses share one gather; where a sharded unit of another
    block is used between them the buffer is released and gathered again. Correct and
    not clever: each gather stands right before its first use. `zero-prefetch`
    moves them.

    bitwise.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let statistics = [Statistic<"gathered", "gathers", "gathers inserted">];
}

def Reductions : Pass<"zero-reductions", "::mlir::ModuleOp"> {
  let summary = "Sums gradients, loss and stop flag over ranks.";
  let description = [{
    Each micro-batch adds its gradients, as soon as they are complete, to this
    rank's shards of their sum, which are carried to the update:

        %g = zero.pack %gw, %gb ...
        %s = zero.reduce_scatter %g, %sum unit 0 segment 0 ...  // a zero.state

    Where units keep whole sums of their own (`--reduce last`), each micro-batch
    adds to them, and `@update` reduces what came of it.

    The loss, metrics and the flag by which ranks stop together are added up
    likewise, on every rank.

    bitwise: for every stage the fold over global micro-batches in order. With
    `--reduce last` the fold over ranks of each rank's own sum: other bits, the
    same for both stages.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def Updates : Pass<"zero-updates", "::mlir::ModuleOp"> {
  let summary = "Makes @update: the optimizer, on what each rank holds.";
  let description = [{
    | stage | update |
    |---|---|
    | 0 | gathers the summed gradients and updates everything |
    | 1, 2 | updates this rank's shards and gathers the parameters, in place |
    | 3 | updates this rank's shards of parameters |

    `clip-value` limits each element of the mean gradient. With
    `skip-nonfinite` a step of which the scalar `gradient_scale` is 0, as
    `zero-clip-norm` may make it, leaves every state as it was. LAMB takes the
    norms of whole parameters: all shards of a unit make their directions first,
    and one small reduction a unit adds up what ranks found.

    In the order in which `@micro` reduces the units. The sums of gradients are
    left zero for the next step. Sums that a rank has made alone (`--reduce
    last`) are sent with `reduce-precision`.

    With `offload-optimizer=cpu` the optimizer's states are declared in memory of
    the host, and with them a master of parameters that have none; with
    `offload-param=cpu` the shards of stage 3 are too, and with
    `offload-gradients=cpu` the sums of gradients over micro-batches. With `nvme`
    what each names is declared in the rank's file. `zero-file-states` and
    `zero-offload` do what follows from it.

    bitwise.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [
    optimizer, lr, momentum, nesterov, betas, eps, weight_decay,
    clip_value, cycle_max_momentum, skip_nonfinite, lamb_min_coeff,
    lamb_max_coeff, reduce_precision, offload_optimizer, offload_ratio,
    offload_param, offload_gradients
  ];
}

def ClipNorm : Pass<"zero-clip-norm", "::mlir::ModuleOp"> {
  let summary = "Clips gradients by their global norm.";
  let description = [{
    Where `clip-norm` is above 0, `@update` computes the norm of the mean
    gradient of all parameters and scales gradients by clip-norm / (norm + 1e-6)
    where that is less than 1, as `torch.nn.utils.clip_grad_norm_` does. Each
    rank squares the shards that it owns, and one small reduction adds up what
    they found:

        %norm = ...  // of zero.all_reduce %limbs
        %scale = nn.binary mul %gradient_scale, min(1, clip / (%norm + 1e-6))

    With `skip-nonfinite` the scale becomes 0 where the norm is not finite, in
    which case the update leaves all states as they were. Then the norm is
    computed also where nothing is clipped.

    The norm is left in the state `gradient_norm`, for the log. It joins all
    units, so that no unit is updated before the last gradient has come.

    bitwise: the sum of squares is exact, so the same for every stage, layout
    and number of ranks. Where nothing is clipped the update has the bits that
    it has without this pass.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [clip_norm, skip_nonfinite];
}

def FuseStep : Pass<"zero-fuse-step", "::mlir::ModuleOp"> {
  let summary = "Makes @micro and @update one @step, for one micro-batch.";
  let description = [{
    Where `zero.accumulate` is 1, the update follows the micro-batch at once.
    What the micro-batch adds to and the update leaves zero need not be carried:
    a reduction then adds to nothing, and the zeroing goes.

        %s = zero.reduce_scatter %g, %sum unit 0 segment 0 ...
        // becomes
        %s = zero.reduce_scatter %g unit 0 segment 0 ...

    bitwise: a sum from +0.0, as before.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [dump_gradients];
}

def NormalizeByTokenCount : Pass<"zero-normalize-by-token-count", "::mlir::ModuleOp"> {
  let summary = "Divides gradients by what the losses of a step count.";
  let description = [{
    Where `nn-sum-loss` made the loss a sum, the scalar `gradient_scale`, which
    divides gradients by the number of micro-batches, gives way to 1 / count.
    The count is the state `loss_count`, summed over ranks and micro-batches. In
    a fused step it is read right after its sum, so that no update waits for
    it. A count of 0 leaves the gradients, which then are 0.

        %scale = ...  // 1 / %count
        %g = nn.binary mul %sum, %scale

    Runs after `zero-fuse-step`.

    bitwise: the count is the same for every stage and layout.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def ReduceInPlace : Pass<"zero-reduce-in-place", "::mlir::ModuleOp"> {
  let summary = "Sums gradients where they lie.";
  let description = [{
    Stages 0 and 1 keep whole gradients to the update, and the others do for the
    short while until it, where it reads the sums of no other unit. So the sum
    that a rank makes takes the place of its own, in the pack, unless it is
    carried; and in stage 0 the other ranks' parts are gathered into the rest of
    the pack, right after the reductions:

        %s = zero.reduce_scatter %g unit 0 segment 0 ... in_place
        %r = zero.all_gather %s unit 0 ... in_place

    bitwise: for memory only, and for traffic beside backward.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def Evaluate : Pass<"zero-evaluate", "::mlir::ModuleOp"> {
  let summary = "Makes @evaluate a program that adds up the loss over ranks.";
  let description = [{
    `@evaluate`, if the module has one, is the forward graph of an evaluation,
    with the loss as its result, metrics (`nn.metric`) if there are any, and what
    the loss counts where `nn-sum-loss` has made that. Its parameters become views of the units
    that training has, gathered where ranks keep shards alone. The loss is
    converted to f64, multiplied by the scalar "weight" and added to the state
    "eval_loss", of all ranks; likewise the count, in "eval_count", and each
    metric, in an "eval_metric". Nothing else is changed.

        %part = nn.binary mul %loss, %weight : tensor<1xf64>
        %sum = zero.all_reduce %part, %eval_loss ...

    Of what `@micro` trains it must read every parameter: else it would not
    evaluate the model that is trained.

    bitwise: the fold over micro-batches in order, for any number of ranks.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def OneRank : Pass<"zero-one-rank", "::mlir::ModuleOp"> {
  let summary = "Removes collectives where there is one rank.";
  let description = [{
    A rank that is alone has all shards. So nothing is gathered or released, a
    reduction over ranks is an addition to what was there, and states that were
    shards are whole. Parameters in memory of the host are fetched where they
    were gathered.

        %s = zero.reduce_scatter %g, %sum unit 0 segment 0 ...
        // becomes
        %s = nn.binary add %sum, %g

    What is left is the program of one device, in every stage.

    bitwise: the fold of one rank, from +0.0 where nothing is carried.
  }];
  let dependentDialects = ["::mlir::zg::nn::NNDialect",
                           "::mlir::zg::zero::ZeroDialect"];
}

def BindScalars : Pass<"zero-bind-scalars", "::mlir::ModuleOp"> {
  let summary = "Makes scalars arguments of the programs that read them.";
  let description = [{
        %seed = nn.scalar "seed" : tensor<1xi64>
        // becomes an argument
        %seed: tensor<1xi64> {nn.scalar = #nn.scalar<"seed">}

    bitwise.
  }];
}

def Forward : Pass<"zero-forward", "::mlir::ModuleOp"> {
  let summary = "Makes @forward a program of one rank that trains nothing.";
  let description = [{
    Parameters become views of their unit's flat buffer, all of them whole;
    results become `zero.output`s. Takes the place of `nn-differentiate` and of
    the passes above where a model is only run.

    bitwise.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
}

def Prefetch : Pass<"zero-prefetch", "::mlir::ModuleOp"> {
  let summary = "Starts gathers early.";
  let description = [{
    Splits each gather of sharded parameters into `zero.prefetch`, placed where
    the gather `prefetch` before it is awaited (at the beginning of the program
    for the first ones), and `zero.await` where the gather was. With `prefetch=0`
    nothing changes.

    bitwise: for speed only; more buffers are live at once.
  }];
  let dependentDialects = ["::mlir::zg::zero::ZeroDialect"];
  let options = [prefetch];
  let statistics = [Statistic<"started", "prefetches", "gathers split">];
}

def VerifyZero : Pass<"zero-verify", "::mlir::ModuleOp"> {
  let summary = "Checks that every gradient is reduced once, and gathers match.";
  let description = [{
    - Each segment of each trainable unit is reduced exactly once. In `@micro`
      it is added to a sum that is carried; `@update` reads that sum and leaves
      it zero.
    - With one rank there is no collective, and gradients are packed once.
    - Each trainable unit's parameters are updated exactly once.
    - What is each rank's own is not moved between ranks.
    - Each started gather is awaited exactly once.
    - No `nn.parameter` argument is left.
    - The host computes with its own memory alone, and so does the device.

    bitwise: changes nothing.
  }];
}

#endif // ZEROGRAPH_ZERO_PASSES
