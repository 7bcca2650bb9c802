// RUN: zerograph-opt %s --nn-differentiate --split-input-file --verify-diagnostics | FileCheck %s

// %w gets the gradient of the factor that is not stopped. The op goes, also
// from what evaluates.

// CHECK-NOT: nn.stop_gradient
// CHECK-LABEL: nn.program @micro
// CHECK-SAME: %[[W:[^:]+]]: tensor<4xf32>
// CHECK: nn.binary mul %[[W]], %[[W]]
// CHECK: %[[SEED:.*]] = nn.broadcast
// CHECK: %[[D:.*]] = nn.binary mul %[[SEED]], %[[W]]
// CHECK: nn.return %{{.*}}, %[[D]] : tensor<1xf32>, tensor<4xf32>
// CHECK-LABEL: nn.program @evaluate
// CHECK-NOT: nn.stop_gradient
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "m", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.stop_gradient %w : tensor<4xf32>
  %1 = nn.binary mul %w, %0 : tensor<4xf32>
  %loss = nn.reduce sum %1 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}
nn.program @evaluate(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "m", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.stop_gradient %w : tensor<4xf32>
  %loss = nn.reduce sum %0 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}

// -----

// A parameter that is reached through it alone is not trained.

// CHECK-LABEL: nn.program @micro
// CHECK: #nn.parameter<"teacher", module = "m", trainable = false, init = normal>
// CHECK: tensor<4xf32> {nn.gradient = "w"}

// expected-warning @+1 {{the loss 'loss' does not depend on parameter 'teacher'; it is left as it is, as if frozen}}
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "m", trainable = true, init = normal>},
    %teacher: tensor<4xf32> {nn.parameter = #nn.parameter<"teacher", module = "m", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.unary exp %teacher : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.stop_gradient %0 : tensor<4xf32>
  %2 = nn.binary mul %w, %1 : tensor<4xf32>
  %loss = nn.reduce sum %2 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}
