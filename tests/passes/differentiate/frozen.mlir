// RUN: zerograph-opt %s --nn-differentiate --split-input-file --verify-diagnostics | FileCheck %s

// Parameters without a path to the loss become frozen, with a warning each:
// %unused has no use, %step only one through a step function. What was frozen
// before is not mentioned.

// CHECK-LABEL: nn.program @micro
// CHECK: #nn.parameter<"w", module = "m", trainable = true, init = normal>
// CHECK: #nn.parameter<"unused", module = "m", trainable = false, init = zeros, source = <"model.onnx", offset = 0, length = 16>>
// CHECK: #nn.parameter<"step", module = "m", trainable = false, init = normal>
// CHECK: #nn.parameter<"before", module = "m", trainable = false, init = normal>
// CHECK: tensor<1xf32> {nn.output = "loss"}
// CHECK: tensor<4xf32> {nn.gradient = "w"}

// expected-warning @+2 {{the loss 'loss' does not depend on parameter 'unused'; it is left as it is, as if frozen}}
// expected-warning @+1 {{the loss 'loss' does not depend on parameter 'step'; it is left as it is, as if frozen}}
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "m", trainable = true, init = normal>},
    %unused: tensor<4xf32> {nn.parameter = #nn.parameter<"unused", module = "m", trainable = true, init = zeros, source = <"model.onnx", offset = 0, length = 16>>},
    %step: tensor<4xf32> {nn.parameter = #nn.parameter<"step", module = "m", trainable = true, init = normal>},
    %before: tensor<4xf32> {nn.parameter = #nn.parameter<"before", module = "m", trainable = false, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.unary sign %step : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.binary mul %w, %0 : tensor<4xf32>
  %loss = nn.reduce sum %1 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}

// -----

// The scale serves the operand's gradient alone: where the operand is frozen, it
// is not read in backward, and not gathered for it.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8xf32>
// CHECK: %[[ONE:.*]] = nn.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK: nn.layer_norm_grad %[[X]], %[[ONE]],
// CHECK: %[[X]] {nn.parameter = #nn.parameter<"x"
nn.program @forward(
    %x: tensor<4x8xf32> {nn.parameter = #nn.parameter<"x", module = "m", trainable = false, init = normal>},
    %scale: tensor<8xf32> {nn.parameter = #nn.parameter<"scale", module = "m", trainable = true, init = ones>},
    %bias: tensor<8xf32> {nn.parameter = #nn.parameter<"bias", module = "m", trainable = true, init = zeros>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %y:3 = nn.layer_norm %x, %scale, %bias epsilon 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
  %loss = nn.reduce sum %y#0 [0, 1] : tensor<4x8xf32> -> tensor<1x1xf32>
  %scalar = nn.reshape %loss : tensor<1x1xf32> -> tensor<f32>
  nn.return %scalar : tensor<f32>
}
