// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(zero-updates{optimizer=lamb lr=0.1 weight-decay=0.5})' | FileCheck %s

// The norms of two parameters and of their steps: each rank adds up the blocks
// that its shards of two segments have, whose numbers follow from its own.

// CHECK-LABEL: nn.program @update
// CHECK: nn.binary mul %a.shard.0
// CHECK: %[[MADE0:.+]] = nn.binary add
// CHECK: %[[U0:.+]] = zero.recall %[[MADE0]] unit 0
// CHECK: nn.binary mul %a.shard.1
// CHECK: %[[MADE1:.+]] = nn.binary add
// CHECK: %[[U1:.+]] = zero.recall %[[MADE1]] unit 0
// CHECK: %[[BEGIN:.+]] = nn.constant dense<1> : tensor<1x1xi64>
// CHECK: nn.binary mul %rank
// CHECK: %[[BEGUN:.+]] = nn.compare ge
// CHECK: nn.reduce sum %{{.+}} [1] : tensor<1x1xi64> -> tensor<1x1xi64>
// CHECK: nn.block_squares %{{.+}} : tensor<256xf32> -> tensor<1x33xf64>
// CHECK: nn.scatter sum %{{.+}} : tensor<1xi64>, tensor<1x33xf64> -> tensor<2x33xf64>
// CHECK: nn.block_squares %[[U0]]
// CHECK: nn.block_squares %[[U1]]
// CHECK: nn.concat %{{.+}} dim 0 : tensor<2x33xf64>, tensor<2x33xf64> -> tensor<4x33xf64>
// CHECK: zero.all_reduce %{{.+}} group ["data"] reason "norms of the parameters of a, and of their steps" : tensor<132xf64> -> tensor<132xf64>
// CHECK: nn.limb_value %{{.+}} : tensor<4x33xf64> -> tensor<4xf64>
// CHECK: nn.unary sqrt
// CHECK: nn.binary div
// CHECK: nn.binary max
// CHECK: nn.binary min
// CHECK: nn.gather %{{.+}} : tensor<2xf32>, tensor<1xi64> -> tensor<1xf32>
// CHECK: %[[P0:.+]] = nn.binary sub %a.shard.0
// CHECK: nn.gather
// CHECK: %[[P1:.+]] = nn.binary sub %a.shard.1
// CHECK: %rank {nn.scalar = #nn.scalar<"rank">}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 1024, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512, 512], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>, <<"b", module = "", trainable = true, init = normal>, tensor<600xf32>, offset = 256>]>] groups [#zero.group<"default">]
  nn.program @micro(%a: tensor<1024xf32>) {
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<1024xf32> -> tensor<256xf32>
    %1 = zero.reduce_scatter %a unit 0 segment 1 group ["data"] reason "r" : tensor<1024xf32> -> tensor<256xf32>
    nn.return
  }
}

// -----

// In stage 0 every rank has all of it, and asks nobody. A unit of one parameter
// has one sum.

// CHECK-LABEL: nn.program @update
// CHECK-NOT: zero.all_reduce
// CHECK: nn.sum_squares
// CHECK-NOT: zero.all_reduce
// CHECK: nn.broadcast %{{.+}} : tensor<1xf32> -> tensor<512xf32>
// CHECK-NOT: %rank
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<300xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%a: tensor<512xf32>) {
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}
