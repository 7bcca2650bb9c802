// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --nn-sum-loss=loss-mean=tokens | FileCheck %s

// The factors behind the division stay; the division goes, for the loss.

// CHECK-LABEL: nn.program @forward
// CHECK: %[[COUNTED:.+]] = nn.reshape
// CHECK: %[[MEAN:.+]] = nn.binary div %sum, %[[COUNTED]]
// CHECK: %[[SCALED:.+]] = nn.binary mul %{{.+}}, %sum
// CHECK: %[[COUNT:.+]] = nn.convert %[[COUNTED]] : tensor<f32> -> tensor<f64>
// CHECK: %[[ONE:.+]] = nn.reshape %[[COUNT]] : tensor<f64> -> tensor<1xf64>
// CHECK: %[[LOSS:.+]] = nn.convert %[[SCALED]] : tensor<f32> -> tensor<f64>
// CHECK: nn.return %[[LOSS]], %[[MEAN]], %[[ONE]]
// CHECK: tensor<f64> {nn.output = "loss"}
// CHECK: tensor<f32> {nn.output = "other"}
// CHECK: tensor<1xf64> {nn.loss_count}

nn.program @forward(
    %sum: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %n: tensor<4xf32> {nn.input = #nn.input<"n", per_sample = true>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "other"}) {
  %total = nn.reduce sum %n [0] : tensor<4xf32> -> tensor<1xf32>
  %count = nn.reshape %total : tensor<1xf32> -> tensor<f32>
  %0 = nn.binary div %sum, %count : tensor<f32>
  %1 = nn.constant dense<0.5> : tensor<f32>
  %2 = nn.binary mul %1, %0 : tensor<f32>
  nn.return %2, %0 : tensor<f32>, tensor<f32>
}

// -----

// The loss of an evaluation is summed likewise.

// CHECK-LABEL: nn.program @evaluate
// CHECK: %[[SUM:.+]] = nn.convert %s : tensor<f32> -> tensor<f64>
// CHECK: nn.return %[[SUM]], %{{.+}} : tensor<f64>, tensor<1xf64>
nn.program @forward(%s: tensor<f32> {nn.input = #nn.input<"s", per_sample = true>}, %n: tensor<f32> {nn.input = #nn.input<"n", per_sample = true>}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.binary div %s, %n : tensor<f32>
  nn.return %0 : tensor<f32>
}
nn.program @evaluate(%s: tensor<f32> {nn.input = #nn.input<"s", per_sample = true>}, %n: tensor<f32> {nn.input = #nn.input<"n", per_sample = true>}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.binary div %s, %n : tensor<f32>
  nn.return %0 : tensor<f32>
}

// -----

// The loss of a batch that does not fit is NaN, and so is the sum.

// CHECK-LABEL: nn.program @forward
// CHECK: %[[SUM:.+]] = nn.select %{{.+}}, %s, %{{.+}} : tensor<i1>, tensor<f32>
// CHECK: %[[LOSS:.+]] = nn.convert %[[SUM]] : tensor<f32> -> tensor<f64>
// CHECK: nn.return %[[LOSS]], %{{.+}} : tensor<f64>, tensor<1xf64>
nn.program @forward(%s: tensor<f32> {nn.input = #nn.input<"s", per_sample = true>}, %n: tensor<f32> {nn.input = #nn.input<"n", per_sample = true>}) -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.binary div %s, %n : tensor<f32>
  %nan = nn.constant dense<0x7FC00000> : tensor<f32>
  %fits = nn.compare eq %n, %n : tensor<f32> -> tensor<i1>
  %1 = nn.select %fits, %0, %nan : tensor<i1>, tensor<f32>
  nn.return %1 : tensor<f32>
}

// -----

nn.program @forward(
    %w: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}) {
  // expected-error @below {{the loss 'loss' is no sum divided by a count of what is summed}}
  %0 = nn.unary exp %w : tensor<f32> -> tensor<f32>
  nn.return %0 : tensor<f32>
}

// -----

nn.program @forward(
    %w: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.unary exp %w : tensor<f32> -> tensor<f32>
  // expected-error @below {{the loss 'loss' is divided by what follows from the parameter 'w', which is trained}}
  %1 = nn.binary div %w, %0 : tensor<f32>
  nn.return %1 : tensor<f32>
}

// -----

nn.program @forward(
    %w: tensor<f16> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %count: tensor<f16> {nn.input = #nn.input<"n", per_sample = false>})
    -> (tensor<f16> {nn.output = "loss"}) {
  // expected-error @below {{the loss 'loss' is computed in 'f16'; --loss-mean tokens needs it in f32}}
  %0 = nn.binary div %w, %count : tensor<f16>
  nn.return %0 : tensor<f16>
}

// -----

// A temperature, or a count that the user computed.

nn.program @forward(
    %w: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %t: tensor<f32> {nn.input = #nn.input<"temperature", per_sample = false>})
    -> (tensor<f32> {nn.output = "loss"}) {
  // expected-error @below {{the loss 'loss' is divided by what follows from 'temperature', which is not one value a sample}}
  %0 = nn.binary div %w, %t : tensor<f32>
  nn.return %0 : tensor<f32>
}

// -----

// The root of two halves' sums is not the sum of their roots.

nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %n: tensor<4xf32> {nn.input = #nn.input<"n", per_sample = true>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %count = nn.reduce sum %n [0] : tensor<4xf32> -> tensor<1xf32>
  %squares = nn.reduce sum %w [0] : tensor<4xf32> -> tensor<1xf32>
  %root = nn.unary sqrt %squares : tensor<1xf32> -> tensor<1xf32>
  %0 = nn.binary div %root, %count : tensor<1xf32>
  // expected-error @below {{the loss 'loss' is no sum divided by a count of what is summed}}
  %1 = nn.reshape %0 : tensor<1xf32> -> tensor<f32>
  nn.return %1 : tensor<f32>
}
