// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=1 accumulate=2 reduce=last},zero-gathers,zero-reductions,zero-updates{optimizer=sgd lr=0.1})' | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=1 accumulate=2 reduce=last reduce-precision=bf16},zero-gathers,zero-reductions,zero-updates{optimizer=sgd lr=0.1 reduce-precision=bf16})' | FileCheck %s --check-prefixes=CHECK,HALF

// A micro-batch adds to a whole sum of the rank's own, of 32 bits whatever
// travels, and no rank sends anything.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[PACK:.+]] = zero.pack %{{.*}}tensor<512xf32>
// CHECK: nn.binary add %{{.+}}, %[[PACK]] : tensor<512xf32>
// CHECK-NOT: zero.reduce_scatter

// An update sends it, and leaves it zero.

// CHECK-LABEL: nn.program @update
// HALF: %[[SENT:.+]] = nn.convert %group.0.grad : tensor<512xf32> -> tensor<512xbf16>
// HALF: zero.reduce_scatter %[[SENT]] unit 0 segment 0 group ["data"] reason "each rank has added up
// HALF-SAME: : tensor<512xbf16> -> tensor<256xf32>
// WIDE: zero.reduce_scatter %group.0.grad unit 0 segment 0 group ["data"] reason "each rank has added up
// WIDE-SAME: : tensor<512xf32> -> tensor<256xf32>
// CHECK: %[[ZERO:.+]] = nn.constant dense<0.000000e+00> : tensor<512xf32>
// CHECK: nn.return {{.*}}%[[ZERO]]
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
