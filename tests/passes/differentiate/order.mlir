// RUN: zerograph-opt %s --nn-differentiate --canonicalize --split-input-file | FileCheck %s

// %w has four uses. Its gradient adds their contributions in the order of the
// uses in the forward graph, both operands of the product included:
// ((tanh + lhs) + rhs) + exp.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: (%[[W:[^:]+]]: tensor<4xf32>
// CHECK: %[[TANH:.*]] = nn.unary tanh %[[W]]
// CHECK: %[[EXP:.*]] = nn.unary exp %[[W]]
// CHECK: %[[LOSS:.*]] = nn.reduce sum
// CHECK: %[[ONE_MINUS:.*]] = nn.binary sub
// CHECK: %[[FIRST:.*]] = nn.binary add %[[ONE_MINUS]], %[[W]]
// CHECK-NEXT: %[[SECOND:.*]] = nn.binary add %[[FIRST]], %[[W]]
// CHECK-NEXT: %[[THIRD:.*]] = nn.binary add %[[SECOND]], %[[EXP]]
// CHECK-NEXT: nn.return %[[LOSS]], %[[THIRD]]
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %tanh = nn.unary tanh %w : tensor<4xf32> -> tensor<4xf32>
  %square = nn.binary mul %w, %w : tensor<4xf32>
  %exp = nn.unary exp %w : tensor<4xf32> -> tensor<4xf32>
  %0 = nn.binary add %tanh, %square : tensor<4xf32>
  %1 = nn.binary add %0, %exp : tensor<4xf32>
  %loss = nn.reduce sum %1 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}

// -----

// A parameter's gradient is complete right after its last contribution, not at
// the end: the sum for the tied %b stands before the backward ops of %a.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: (%[[A:[^:]+]]: tensor<4x4xf32>, %[[B:[^:]+]]: tensor<4x4xf32>
// CHECK: nn.reduce sum
// CHECK: nn.matmul
// CHECK: %[[DB:.*]] = nn.binary add
// CHECK: nn.binary sub
// CHECK: %[[DA:.*]] = nn.binary mul
// CHECK: nn.return %{{.*}}, %[[DA]], %[[DB]]
nn.program @forward(
    %a: tensor<4x4xf32> {nn.parameter = #nn.parameter<"a", module = "", trainable = true, init = normal>},
    %b: tensor<4x4xf32> {nn.parameter = #nn.parameter<"b", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %0 = nn.unary tanh %a : tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = nn.matmul %0, %b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %2 = nn.matmul %1, %b transpose_b : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = nn.reduce sum %2 [0, 1] : tensor<4x4xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %3 : tensor<1x1xf32> -> tensor<f32>
  nn.return %loss : tensor<f32>
}

// -----

// The parts of a split are all of %w: their gradients lie side by side, in the
// order of the parts and not of the uses; so do those of %u, around zeros of what
// no part has. Those of parts that overlap are added.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: (%[[W:[^:]+]]: tensor<2x6xf32>, %[[V:[^:]+]]: tensor<6xf32>, %[[U:[^:]+]]: tensor<6xf32>
// CHECK: %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK-NOT: nn.concat
// CHECK: nn.concat %{{.*}}, %[[ZERO]], %{{.*}} dim 0 : tensor<2xf32>, tensor<1xf32>, tensor<3xf32> -> tensor<6xf32>
// CHECK-NOT: nn.concat
// CHECK: nn.concat %{{.*}}, %{{.*}} dim 1 : tensor<2x2xf32>, tensor<2x4xf32> -> tensor<2x6xf32>
// CHECK-NOT: nn.concat
// CHECK: nn.return
nn.program @forward(
    %w: tensor<2x6xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %v: tensor<6xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = true, init = normal>},
    %u: tensor<6xf32> {nn.parameter = #nn.parameter<"u", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}) {
  %last = nn.slice %w [0, 2] step [1, 1] : tensor<2x6xf32> -> tensor<2x4xf32>
  %first = nn.slice %w [0, 0] step [1, 1] : tensor<2x6xf32> -> tensor<2x2xf32>
  %exp = nn.unary exp %last : tensor<2x4xf32> -> tensor<2x4xf32>
  %tanh = nn.unary tanh %first : tensor<2x2xf32> -> tensor<2x2xf32>
  %a = nn.reduce sum %exp [0, 1] : tensor<2x4xf32> -> tensor<1x1xf32>
  %b = nn.reduce sum %tanh [0, 1] : tensor<2x2xf32> -> tensor<1x1xf32>
  %v0 = nn.slice %v [0] step [1] : tensor<6xf32> -> tensor<4xf32>
  %v1 = nn.slice %v [2] step [1] : tensor<6xf32> -> tensor<4xf32>
  %vv = nn.binary mul %v0, %v1 : tensor<4xf32>
  %u0 = nn.slice %u [0] step [1] : tensor<6xf32> -> tensor<2xf32>
  %u1 = nn.slice %u [3] step [1] : tensor<6xf32> -> tensor<3xf32>
  %uexp = nn.unary exp %u1 : tensor<3xf32> -> tensor<3xf32>
  %c = nn.reduce sum %vv [0] : tensor<4xf32> -> tensor<1xf32>
  %d = nn.reduce sum %u0 [0] : tensor<2xf32> -> tensor<1xf32>
  %e = nn.reduce sum %uexp [0] : tensor<3xf32> -> tensor<1xf32>
  %a1 = nn.reshape %a : tensor<1x1xf32> -> tensor<f32>
  %b1 = nn.reshape %b : tensor<1x1xf32> -> tensor<f32>
  %c1 = nn.reshape %c : tensor<1xf32> -> tensor<f32>
  %d1 = nn.reshape %d : tensor<1xf32> -> tensor<f32>
  %e1 = nn.reshape %e : tensor<1xf32> -> tensor<f32>
  %0 = nn.binary add %a1, %b1 : tensor<f32>
  %1 = nn.binary add %0, %c1 : tensor<f32>
  %2 = nn.binary add %1, %d1 : tensor<f32>
  %loss = nn.binary add %2, %e1 : tensor<f32>
  nn.return %loss : tensor<f32>
}
