// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=3 units=100000},zero-gathers,zero-reductions,zero-updates{optimizer=sgd lr=0.1})' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=1 units=100000},zero-reductions,zero-updates{optimizer=sgd lr=0.1})' | FileCheck %s --check-prefix=ONE
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=3 units=100000 master-precision=bf16},zero-gathers,zero-reductions,zero-updates{optimizer=sgd lr=0.1 momentum=0.9})' | FileCheck %s --check-prefix=NONE

// All readers round %w: it is kept in 16 bits, with a master in 32. Of %v one
// reads 32 bits, so it keeps them. Gradients have 32.

// CHECK: nn.program @micro
// CHECK: %[[FLAT:.+]] = zero.all_gather {{.*}} -> tensor<512xbf16>
// CHECK: %[[W:.+]] = zero.view %[[FLAT]][0] : tensor<512xbf16> -> tensor<4x8xbf16>
// CHECK: nn.convert %[[W]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK: zero.reduce_scatter {{.*}} : tensor<512xf32>, tensor<256xf32> -> tensor<256xf32>
// CHECK: nn.program @update
// CHECK: %[[NEW:.+]] = nn.binary sub %{{.*}}master
// CHECK: nn.convert %[[NEW]] : tensor<256xf32> -> tensor<256xbf16>
// CHECK: zero.layout
// CHECK: #zero.unit<"group.0.bf16", bf16, elements = 512
// CHECK-SAME: states = [<"param", bf16, sharded = true>, <"grad", f32, sharded = true>, <"master", f32, sharded = true>]
// CHECK: #zero.unit<"group.0.f32", f32
// CHECK-SAME: states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>]

// Stage 1 gathers what was rounded.

// ONE: nn.program @update
// ONE: %[[NEW:.+]] = nn.binary sub %{{.*}}master
// ONE: %[[SHARD:.+]] = nn.convert %[[NEW]] : tensor<256xf32> -> tensor<256xbf16>
// ONE: zero.all_gather %[[SHARD]] {{.*}} in_place : tensor<256xbf16> -> tensor<512xbf16>
// ONE: #zero.unit<"group.0.bf16"
// ONE-SAME: states = [<"param", bf16, sharded = false>, <"grad", f32, sharded = true>, <"master", f32, sharded = true>]

// Without masters the update widens what it reads, and rounds what it made.

// NONE: nn.program @update
// NONE: %[[W:.+]] = nn.convert %{{.*}}shard : tensor<256xbf16> -> tensor<256xf32>
// NONE: nn.convert %{{.*}}momentum_buffer : tensor<256xbf16> -> tensor<256xf32>
// NONE: %[[NEW:.+]] = nn.binary sub %[[W]]
// NONE: nn.convert %[[NEW]] : tensor<256xf32> -> tensor<256xbf16>
// NONE: #zero.unit<"group.0.bf16"
// NONE-SAME: states = [<"param", bf16, sharded = true>, <"grad", f32, sharded = true>, <"momentum_buffer", bf16, sharded = true>]
nn.program @micro(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<4x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %v: tensor<4x8xf32> {nn.parameter = #nn.parameter<"v", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<4x8xf32> {nn.gradient = "w"}, tensor<4x8xf32> {nn.gradient = "v"}) {
  %w16 = nn.convert %w : tensor<4x8xf32> -> tensor<4x8xbf16>
  %wide = nn.convert %w16 : tensor<4x8xbf16> -> tensor<4x8xf32>
  %v16 = nn.convert %v : tensor<4x8xf32> -> tensor<4x8xbf16>
  %vw = nn.convert %v16 : tensor<4x8xbf16> -> tensor<4x8xf32>
  %a = nn.binary mul %wide, %x : tensor<4x8xf32>
  %b = nn.binary mul %vw, %v : tensor<4x8xf32>
  %c = nn.binary add %a, %b : tensor<4x8xf32>
  %s = nn.reduce sum %c [0, 1] : tensor<4x8xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %s : tensor<1x1xf32> -> tensor<f32>
  %dw = nn.binary mul %wide, %x : tensor<4x8xf32>
  %dv = nn.binary add %v, %x : tensor<4x8xf32>
  nn.return %loss, %dw, %dv : tensor<f32>, tensor<4x8xf32>, tensor<4x8xf32>
}
