// RUN: zerograph-opt %s --zero-localize-views | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=3},zero-gathers)' | FileCheck %s --check-prefix=SHARD

// Each user reads the parameter through a chain of its own, next to it, so
// that stage 3 gathers the unit again for a later user.

// CHECK-LABEL: @micro
// CHECK: nn.reshape %p
// CHECK-NEXT: nn.broadcast
// CHECK-NEXT: nn.unary {{ *}}exp
// CHECK: nn.reshape %p
// CHECK-NEXT: nn.broadcast
// CHECK-NEXT: nn.binary {{ *}}mul
// SHARD-COUNT-3: zero.all_gather
// SHARD-NOT: zero.all_gather
nn.program @micro(
    %p: tensor<256xf32> {nn.parameter = #nn.parameter<"a.p", module = "a", trainable = true, init = normal>},
    %q: tensor<4x256xf32> {nn.parameter = #nn.parameter<"b.q", module = "b", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<256xf32> {nn.gradient = "a.p"},
        tensor<4x256xf32> {nn.gradient = "b.q"}) {
  %0 = nn.reshape %p : tensor<256xf32> -> tensor<1x256xf32>
  %1 = nn.broadcast %0 : tensor<1x256xf32> -> tensor<4x256xf32>
  %2 = nn.unary exp %1 : tensor<4x256xf32> -> tensor<4x256xf32>
  %3 = nn.binary mul %2, %q : tensor<4x256xf32>
  %4 = nn.reduce sum %3 [0, 1] : tensor<4x256xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %4 : tensor<1x1xf32> -> tensor<1xf32>
  %5 = nn.binary mul %1, %2 : tensor<4x256xf32>
  %6 = nn.reduce sum %5 [0] : tensor<4x256xf32> -> tensor<1x256xf32>
  %7 = nn.reshape %6 : tensor<1x256xf32> -> tensor<256xf32>
  nn.return %loss, %7, %2 : tensor<1xf32>, tensor<256xf32>, tensor<4x256xf32>
}
