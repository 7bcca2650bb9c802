// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(zero-layout{ranks=2 zero=3 accumulate=4})' | FileCheck %s

// Parameters are views of their unit's whole buffer, one for each op that reads
// one; gradients are a pack, after the last of them; next values update their
// state. What the stage shares out is for later passes.

// CHECK: zero.accumulate = 4 : i64
// CHECK-SAME: zero.mesh = #zero.mesh<["data" = 2]>
// CHECK-SAME: zero.stage = 3 : i64
// CHECK: nn.program @micro(%[[X:[^:]+]]: tensor<4xf32>
// CHECK-SAME: %[[FLAT:[^:]+]]: tensor<512xf32>
// CHECK-SAME: %[[BUFFERS:[^:]+]]: tensor<512xf32>
// CHECK-NEXT: %[[W:.+]] = zero.view %[[FLAT]][0]
// CHECK-NEXT: nn.binary mul %[[W]], %[[X]]
// CHECK-NEXT: %[[B:.+]] = zero.view %[[FLAT]][256]
// CHECK-NEXT: nn.binary add %{{.+}}, %[[B]]
// CHECK-NEXT: %[[LOSS:.+]] = nn.reduce
// CHECK-NEXT: %[[AGAIN:.+]] = zero.view %[[FLAT]][0]
// CHECK-NEXT: %[[G:.+]] = nn.binary mul %[[AGAIN]], %[[AGAIN]]
// CHECK-NEXT: %[[GRADIENTS:.+]] = zero.pack %[[G]], %[[X2:.+]] at [0, 256] unit 0
// CHECK-NEXT: %[[MEAN:.+]] = zero.view %[[BUFFERS]][0]
// CHECK-NEXT: %[[NEXT:.+]] = nn.binary add %[[MEAN]], %[[X]]
// CHECK-NEXT: %[[STATISTICS:.+]] = zero.pack %[[NEXT]] at [0] unit 1
// CHECK-NEXT: nn.return %[[LOSS]], %[[GRADIENTS]], %[[STATISTICS]]
// CHECK: %[[X]] {nn.input = #nn.input<"x", per_sample = true>}
// CHECK: %[[FLAT]] {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// CHECK: %[[BUFFERS]] {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>}
// CHECK: tensor<1xf32> {nn.output = "loss"}
// CHECK: tensor<512xf32> {zero.gradient = 0 : i64}
// CHECK: tensor<512xf32> {zero.updates = #zero.state<unit = 1, segment = -1, "param", sharded = false>}
// CHECK: zero.layout units [
// CHECK-NEXT: #zero.unit<"fc"
// CHECK-SAME: axes = ["data"], segments = [512], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [
// CHECK-NEXT: <<"fc.w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>,
// CHECK-NEXT: <<"fc.b", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 256>]>,
// CHECK-NEXT: #zero.unit<"buffers"
// CHECK-SAME: states = [<"param", f32, sharded = false>]
// CHECK: ] groups [
// CHECK-NEXT: #zero.group<"default">
// CHECK-NEXT: ]
nn.program @micro(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"fc.w", module = "fc", trainable = true, init = normal>},
    %b: tensor<4xf32> {nn.parameter = #nn.parameter<"fc.b", module = "fc", trainable = true, init = normal>},
    %mean: tensor<4xf32> {nn.parameter = #nn.parameter<"bn.mean", module = "bn", trainable = false, init = zeros>},
    %x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<4xf32> {nn.gradient = "fc.w"},
        tensor<4xf32> {nn.gradient = "fc.b"}, tensor<4xf32> {nn.next_value = "bn.mean"}) {
  %0 = nn.binary mul %w, %x : tensor<4xf32>
  %1 = nn.binary add %0, %b : tensor<4xf32>
  %loss = nn.reduce sum %1 [0] : tensor<4xf32> -> tensor<1xf32>
  %g = nn.binary mul %w, %w : tensor<4xf32>
  %m = nn.binary add %mean, %x : tensor<4xf32>
  nn.return %loss, %g, %0, %m : tensor<1xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// A pack comes after what may share a kernel with the last gradient, and before
// a sum of rows, which may be a gradient of the next unit.

// CHECK: nn.program @micro
// CHECK: nn.reduce sum %{{.+}} [0] : tensor<8x4xf32>
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: nn.unary tanh
// CHECK-NEXT: nn.reduce sum %{{.+}} [1]
// CHECK-NEXT: zero.pack
// CHECK-NEXT: nn.reduce sum %{{.+}} [0]
nn.program @micro(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "fc", trainable = true, init = normal>},
    %x: tensor<8x4xf32> {nn.input = #nn.input<"x", per_sample = true>})
    -> (tensor<8x1xf32> {nn.output = "loss"}, tensor<4xf32> {nn.gradient = "w"},
        tensor<1x4xf32>) {
  %0 = nn.reduce sum %x [0] : tensor<8x4xf32> -> tensor<1x4xf32>
  %g = nn.reshape %0 : tensor<1x4xf32> -> tensor<4xf32>
  %1 = nn.unary tanh %x : tensor<8x4xf32> -> tensor<8x4xf32>
  %2 = nn.reduce sum %1 [1] : tensor<8x4xf32> -> tensor<8x1xf32>
  %3 = nn.reduce sum %1 [0] : tensor<8x4xf32> -> tensor<1x4xf32>
  nn.return %2, %g, %3 : tensor<8x1xf32>, tensor<4xf32>, tensor<1x4xf32>
}

// -----

// expected-error @below {{has no function @micro; run nn-differentiate}}
module {
}
