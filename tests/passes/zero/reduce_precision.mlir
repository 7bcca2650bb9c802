// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=2 reduce-precision=bf16},zero-gathers,zero-reductions,zero-updates{optimizer=sgd lr=0.1},zero-fuse-step,zero-one-rank,zero-reduce-in-place)' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=1 zero=2 reduce-precision=fp16},zero-gathers,zero-reductions,zero-updates{optimizer=sgd lr=0.1},zero-one-rank)' | FileCheck %s --check-prefix=ALONE

// Gradients are rounded before they are packed, and travel so; the sum has 32
// bits and so does not lie among them.

// CHECK: %[[DW:.+]] = nn.binary mul %{{.+}} : tensor<4x8xf32>
// CHECK: %[[SENT:.+]] = nn.convert %[[DW]] : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK: %[[PACK:.+]] = zero.pack %[[SENT]] {{.*}}tensor<512xbf16>
// CHECK: zero.reduce_scatter %[[PACK]] unit 0 segment 0 group ["data"]
// CHECK-NOT: in_place
// CHECK-SAME: : tensor<512xbf16> -> tensor<256xf32>
// CHECK: #zero.unit<
// CHECK-SAME: states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>]

// One rank rounds what would have travelled.

// ALONE: %[[SENT:.+]] = nn.convert %{{.+}} : tensor<4x8xf32> -> tensor<4x8xf16>
// ALONE: %[[PACK:.+]] = zero.pack %[[SENT]]
// ALONE: %[[WIDE:.+]] = nn.convert %[[PACK]] : tensor<256xf16> -> tensor<256xf32>
// ALONE: nn.binary add %{{.+}}, %[[WIDE]] : tensor<256xf32>
nn.program @micro(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<4x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<4x8xf32> {nn.gradient = "w"}) {
  %a = nn.binary add %w, %x : tensor<4x8xf32>
  %s = nn.reduce sum %a [0, 1] : tensor<4x8xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %s : tensor<1x1xf32> -> tensor<f32>
  %dw = nn.binary mul %w, %x : tensor<4x8xf32>
  nn.return %loss, %dw : tensor<f32>, tensor<4x8xf32>
}
