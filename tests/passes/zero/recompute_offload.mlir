// RUN: zerograph-opt %s --zero-recompute="recompute=units offload-activations=cpu" | FileCheck %s
// RUN: zerograph-opt %s --zero-recompute="recompute=selective recompute-ratio=0.5" | FileCheck %s --check-prefix=HALF

// There are three blocks. %y goes from the first to the second: it is offloaded,
// and comes back before backward begins, since the second block is the first whose
// backward pass needs it. %z is read by the last block, and stays.

// CHECK: %[[Y:.+]] = nn.unary exp %{{.+}} : tensor<256xf32>
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %[[Y]] bytes 1024 reason "kept for backward" : tensor<256xf32> -> tensor<256xf32, #zero<space host>>
// CHECK: %[[Z:.+]] = nn.unary exp
// CHECK-NOT: zero.offload
// CHECK: nn.reduce sum
// CHECK-NEXT: %[[UP:.+]] = zero.fetch %[[DOWN]] bytes 1024 reason "backward of b"
// CHECK-NEXT: nn.unary sqrt %[[Z]]
// CHECK: zero.recall %[[UP]] unit 1
// CHECK: zero.recall %x unit 0
// CHECK-NOT: zero.fetch

// The first of two blocks is computed again.

// HALF-NOT: zero.offload
// HALF: nn.reduce sum
// HALF-NOT: zero.recall {{.+}} unit 1
// HALF: zero.recall %x unit 0
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>,
    #zero.unit<"c", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>},
      %c.param: tensor<512xf32> {zero.state = #zero.state<unit = 2, segment = -1, "param", sharded = false>})
      -> (tensor<1xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
    %u = zero.view %a.param[0] : tensor<512xf32> -> tensor<256xf32>
    %s = nn.binary mul %x, %u : tensor<256xf32>
    %y = nn.unary exp %s : tensor<256xf32> -> tensor<256xf32>
    %v = zero.view %b.param[0] : tensor<512xf32> -> tensor<256xf32>
    %t = nn.binary mul %y, %v : tensor<256xf32>
    %z = nn.unary exp %t : tensor<256xf32> -> tensor<256xf32>
    %w = zero.view %c.param[0] : tensor<512xf32> -> tensor<256xf32>
    %r = nn.binary mul %z, %w : tensor<256xf32>
    %loss = nn.reduce sum %r [0] : tensor<256xf32> -> tensor<1xf32>
    %g2 = nn.unary sqrt %z : tensor<256xf32> -> tensor<256xf32> loc("c.gradient")
    %g1 = nn.unary neg %t : tensor<256xf32> -> tensor<256xf32>
    %g0 = nn.unary abs %s : tensor<256xf32> -> tensor<256xf32>
    nn.return %loss, %g0, %g1, %g2 : tensor<1xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
  }
}
