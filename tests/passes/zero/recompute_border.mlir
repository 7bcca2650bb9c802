// RUN: zerograph-opt %s --zero-recompute=recompute=units | FileCheck %s

// The norm %n of %y stands before the first use of the second block's parameter,
// but is made of %y, which the second block reads too. So it is of that block: %y
// is kept and %n computed again, as is %r, which backward alone reads. %f is of
// the first block, since the third reads it.

// CHECK: module attributes {{.*}}zero.recomputed = 4 : i64
// CHECK: %[[Y:.+]] = nn.unary exp
// CHECK: %[[F:.+]] = nn.unary floor
// CHECK: nn.reduce sum {{.*}} -> tensor<1x1xf32>
// CHECK-NOT: zero.recall %{{.+}} unit 2
// CHECK: %[[AGAIN:.+]] = zero.recall %[[Y]] unit 1
// CHECK-NEXT: nn.unary abs %[[AGAIN]]
// CHECK-NOT: zero.recall
// CHECK: nn.unary log
// CHECK: zero.recall %x unit 0
// CHECK-NOT: zero.recall
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<1x256xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<1x256xf32>, offset = 0>]>,
    #zero.unit<"c", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<1x256xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<1x256xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>},
      %c.param: tensor<512xf32> {zero.state = #zero.state<unit = 2, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>) {
    %u = zero.view %a.param[0] : tensor<512xf32> -> tensor<1x256xf32>
    %s = nn.binary mul %x, %u : tensor<1x256xf32>
    %y = nn.unary exp %s : tensor<1x256xf32> -> tensor<1x256xf32>
    %n = nn.unary abs %y : tensor<1x256xf32> -> tensor<1x256xf32>
    %r = nn.unary ceil %n : tensor<1x256xf32> -> tensor<1x256xf32>
    %f = nn.unary floor %y : tensor<1x256xf32> -> tensor<1x256xf32>
    %v = zero.view %b.param[0] : tensor<512xf32> -> tensor<1x256xf32>
    %t = nn.binary mul %n, %v : tensor<1x256xf32>
    %z = nn.binary add %t, %y : tensor<1x256xf32>
    %w = zero.view %c.param[0] : tensor<512xf32> -> tensor<1x256xf32>
    %q = nn.binary mul %z, %w : tensor<1x256xf32>
    %p = nn.binary mul %q, %f : tensor<1x256xf32>
    %loss = nn.reduce sum %p [0, 1] : tensor<1x256xf32> -> tensor<1x1xf32>
    %g4 = nn.unary sqrt %n : tensor<1x256xf32> -> tensor<1x256xf32>
    %g3 = nn.unary neg %t : tensor<1x256xf32> -> tensor<1x256xf32>
    %g2 = nn.unary log %r : tensor<1x256xf32> -> tensor<1x256xf32>
    %g1 = nn.unary sin %f : tensor<1x256xf32> -> tensor<1x256xf32>
    %g0 = nn.unary cos %s : tensor<1x256xf32> -> tensor<1x256xf32>
    nn.return %loss, %g0, %g1, %g2, %g3, %g4 : tensor<1x1xf32>, tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>
  }
}
