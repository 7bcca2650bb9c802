// RUN: zerograph-opt %s --nn-differentiate --split-input-file --verify-diagnostics

// expected-error @+1 {{has no function @forward to differentiate}}
module {
  nn.program @other() {
    nn.return
  }
}

// -----

// expected-error @+1 {{no output is a floating-point scalar, so there is no loss to differentiate; outputs are 'logits' tensor<4xf32>, 'count' tensor<i64>}}
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %n: tensor<i64> {nn.input = #nn.input<"n", per_sample = false>})
    -> (tensor<4xf32> {nn.output = "logits"}, tensor<i64> {nn.output = "count"}) {
  nn.return %w, %n : tensor<4xf32>, tensor<i64>
}

// -----

// expected-error @+1 {{several outputs are floating-point scalars; name the loss (--loss-output); outputs are 'a' tensor<f32>, 'b' tensor<1xf32>}}
nn.program @forward(
    %a: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %b: tensor<1xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "a"}, tensor<1xf32> {nn.output = "b"}) {
  nn.return %a, %b : tensor<f32>, tensor<1xf32>
}

// -----

// expected-error @+1 {{no parameter is trainable}}
nn.program @forward(
    %a: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}) {
  nn.return %a : tensor<f32>
}

// -----

// expected-warning @+2 {{the loss 'loss' does not depend on parameter 'w'}}
// expected-error @+1 {{the loss 'loss' depends on no trainable parameter}}
nn.program @forward(
    %w: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %x: tensor<f32> {nn.input = #nn.input<"x", per_sample = false>})
    -> (tensor<f32> {nn.output = "loss"}) {
  nn.return %x : tensor<f32>
}

// -----

// Every op on the path that has no gradient is reported, not only the first;
// the one beside the path is not.

nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = false>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.kernel rows (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    nn.yield %a : tensor<4xf32>
  }
  // expected-error @+1 {{'nn.kernel' has no gradient; freeze the parameters before it (--freeze) or remove it from the model}}
  %1 = nn.kernel rows (%a = %w) : (tensor<4xf32>) -> tensor<4xf32> {
    nn.yield %a : tensor<4xf32>
  }
  %2 = nn.binary mul %0, %1 : tensor<4xf32>
  // expected-error @+1 {{'nn.kernel' has no gradient}}
  %3 = nn.kernel rows (%a = %2) : (tensor<4xf32>) -> tensor<4xf32> {
    nn.yield %a : tensor<4xf32>
  }
  %loss = nn.reduce sum %3 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}
