// RUN: zerograph-opt %s --nn-differentiate --split-input-file | FileCheck %s

// Everything but the scale of the norm is frozen, so after the forward graph
// come the seed and the gradient of that scale. No product of matrices is
// differentiated, nothing is computed for what lies before the norm, and the
// scale itself, which only that would need, is not read.

// CHECK-LABEL: nn.program @micro
// CHECK: nn.matmul
// CHECK: nn.layer_norm
// CHECK: nn.reduce sum
// CHECK: %[[LOSS:.*]] = nn.reshape
// CHECK-NEXT: nn.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: %[[DY:.*]] = nn.broadcast
// CHECK-NEXT: %[[ONE:.*]] = nn.constant dense<1.000000e+00> : tensor<8xf32>
// CHECK-NEXT: %{{.*}}, %[[DSCALE:.*]], %{{.*}} = nn.layer_norm_grad %{{.*}}, %[[ONE]], %{{.*}}, %{{.*}}, %[[DY]]
// CHECK-NEXT: nn.return %[[LOSS]], %[[DSCALE]]
// CHECK: tensor<f32> {nn.output = "loss"}
// CHECK: tensor<8xf32> {nn.gradient = "scale"}
nn.program @forward(
    %x: tensor<4x6xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<6x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = false, init = normal>},
    %scale: tensor<8xf32> {nn.parameter = #nn.parameter<"scale", module = "", trainable = true, init = ones>},
    %bias: tensor<8xf32> {nn.parameter = #nn.parameter<"bias", module = "", trainable = false, init = zeros>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.matmul %x, %w : tensor<4x6xf32>, tensor<6x8xf32> -> tensor<4x8xf32>
  %y, %mean, %rstd = nn.layer_norm %0, %scale, %bias epsilon 1.0e-5
      : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x1xf32>, tensor<4x1xf32>
  %sum = nn.reduce sum %y [0, 1] : tensor<4x8xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %sum : tensor<1x1xf32> -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// A value that reaches only another output is dropped, with its ops.

// CHECK-LABEL: nn.program @micro
// CHECK-NOT: tanh
// CHECK: tensor<1xf32> {nn.output = "loss"}
// CHECK: tensor<4xf32> {nn.gradient = "w"}
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<4xf32> {nn.output = "activations"}, tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.unary tanh %w : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.reduce sum %w [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %0, %1 : tensor<4xf32>, tensor<1xf32>
}
