//===- Passes.td - passes from a forward graph to gradients -------------===//

#ifndef ZEROGRAPH_DIFFERENTIATE_PASSES
#define ZEROGRAPH_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"nn-differentiate", "::mlir::ModuleOp"> {
  let summary = "Turns @forward into @micro, which gives loss and gradients.";
  let description = [{
    Reverse-mode differentiation of the loss with respect to every trainable
    parameter. `func @forward` is replaced by `func @micro` with the same
    arguments; its first result is the loss, then follows one result a
    trainable parameter, in argument order, with `nn.gradient = "NAME"`. The
    other outputs are dropped.

    Only ops on a path from a trainable parameter to the loss get a gradient,
    and only operands on such a path get one computed. Contributions to a value
    with several uses are added in the order of the uses in the forward graph:
    `((first + second) + third)`; a parameter's sum stands right after its last
    contribution. Ops of the backward graph have the location
    `"NODE.gradient"`, NODE being the forward op's name.

    A trainable parameter that the loss does not depend on becomes
    `trainable = false`, with a warning. Ops on a path that have no gradient
    are errors, all reported together.

    bitwise: the forward values are those of `@forward`.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "Name of the output to differentiate; by default the one named "
           "'loss', otherwise the only floating-point scalar">
  ];
}

def TrackSamples : Pass<"nn-track-samples", "::mlir::ModuleOp"> {
  let summary = "Tells random numbers which dimension holds the samples.";
  let description = [{
    Follows the samples, the leading dimension of per-sample inputs, through
    `@forward` and gives every `nn.dropout` its `samples`, from which
    `nn-decompose` numbers its elements. Where they are the leading factor of a
    dimension, as of `[B * H, ...]`, they are still known; a value that depends
    on no per-sample input has none. A dropout of a value in which they cannot
    be told apart is an error that names the op that mixed them; all are
    reported together. A micro-batch of one sample cannot be mixed.
    `nn.random_like` says what it does where they are not known.

    bitwise: nothing is computed.
  }];
}

#endif // ZEROGRAPH_DIFFERENTIATE_PASSES
