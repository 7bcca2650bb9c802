// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-one-rank | FileCheck %s

// With one rank nothing is moved: a gather gives the shard, which is everything,
// and a reduction is an addition, from +0.0 where there is nothing to add to.
// States that were shards are whole.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: %[[P:[^:]+]]: tensor<256xf32>
// CHECK-SAME: %[[SUM:[^:]+]]: tensor<256xf32>
// CHECK-SAME: %[[L:[^:]+]]: tensor<1xf32>
// CHECK-NEXT: %[[VIEW:.+]] = zero.view %[[P]][0]
// CHECK-NEXT: %[[PACK:.+]] = zero.pack %[[VIEW]]
// CHECK-NEXT: %[[NEW:.+]] = nn.binary add %[[SUM]], %[[PACK]]
// CHECK-NEXT: %[[ZERO:.+]] = nn.constant dense<0.000000e+00> : tensor<256xf32>
// CHECK-NEXT: nn.binary add %[[ZERO]], %[[PACK]]
// CHECK-NEXT: %[[LOSS:.+]] = nn.binary add %[[L]], %[[L]]
// CHECK-NEXT: nn.unary neg %[[P]]
// CHECK-NEXT: nn.return %[[NEW]], %[[LOSS]]
// CHECK: %[[P]] {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// CHECK: %[[SUM]] {zero.state = #zero.state<unit = 0, segment = -1, "grad", sharded = false>}
// CHECK: %[[L]] {zero.state
// CHECK: tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = -1, "grad", sharded = false>}
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 3 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro(%p: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>},
                   %sum: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
                   %l: tensor<1xf32> {zero.state = #zero.state<unit = -1, segment = -1, "loss", sharded = false>})
      -> (tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
          tensor<1xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}) {
    %flat = zero.all_gather %p unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<256xf32>
    %w = zero.view %flat[0] : tensor<256xf32> -> tensor<16x16xf32>
    %g = zero.pack %w at [0] unit 0 : tensor<16x16xf32> -> tensor<256xf32>
    %0 = zero.reduce_scatter %g, %sum unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32>, tensor<256xf32> -> tensor<256xf32>
    %1 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<256xf32>
    %2 = zero.all_reduce %l, %l group ["data"] reason "r" : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
    %3 = zero.shard %flat unit 0 segment 0 : tensor<256xf32> -> tensor<256xf32>
    %4 = nn.unary neg %3 : tensor<256xf32> -> tensor<256xf32>
    zero.release %flat unit 0 : tensor<256xf32>
    nn.return %0, %2 : tensor<256xf32>, tensor<1xf32>
  }
}

// -----

// More ranks keep theirs.

// CHECK-LABEL: nn.program @micro
// CHECK: zero.all_reduce
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64} {
  zero.layout units []
  nn.program @micro(%l: tensor<1xf32>) -> tensor<1xf32> {
    %0 = zero.all_reduce %l group ["data"] reason "r" : tensor<1xf32> -> tensor<1xf32>
    nn.return %0 : tensor<1xf32>
  }
}

// -----

// expected-error @below {{unit "a" has 2 segments; expected one where there is one rank}}
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 3 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256, 256], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// A state that lies in a file is brought to the device for each use.

// CHECK-LABEL: nn.program @micro
// CHECK-NEXT: %[[F:.+]] = zero.fetch %p unit 0 bytes 1024 reason "forward of a"
// CHECK-NEXT: nn.unary neg %[[F]]
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 3 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = true, space = nvme>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro(%p: tensor<256xf32> {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) -> tensor<256xf32> {
    %flat = zero.all_gather %p unit 0 group ["data"] reason "forward of a" : tensor<256xf32> -> tensor<256xf32>
    %0 = nn.unary neg %flat : tensor<256xf32> -> tensor<256xf32>
    zero.release %flat unit 0 : tensor<256xf32>
    nn.return %0 : tensor<256xf32>
  }
}
