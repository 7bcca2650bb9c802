// RUN: zerograph-opt %s --split-input-file --zero-recompute="recompute=units offload-activations=cpu" | FileCheck %s

// The product %p is the operand of a norm, of which its result %n is made. Backward
// reads %p, so it goes to the second block in place of %n, and no product is
// computed again. It comes back when half of the products of the last block are done
// backward.

// CHECK: %[[P:.+]] = nn.matmul %x
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %[[P]]
// CHECK: nn.reduce sum {{.*}} [0, 1]
// CHECK-NOT: zero.fetch
// CHECK: nn.matmul
// CHECK-NEXT: %[[UP:.+]] = zero.fetch %[[DOWN]]
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.matmul
// CHECK: %[[P2:.+]] = zero.recall %[[UP]] unit 1
// CHECK-NOT: nn.matmul
// CHECK: nn.unary cos %[[P2]]
// CHECK: nn.return
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"c", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>},
      %c.param: tensor<512xf32> {zero.state = #zero.state<unit = 2, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
    %u = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %p = nn.matmul %x, %u : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %row = nn.reduce sum %p [1] : tensor<16x16xf32> -> tensor<16x1xf32>
    %rows = nn.broadcast %row : tensor<16x1xf32> -> tensor<16x16xf32>
    %n = nn.binary mul %p, %rows : tensor<16x16xf32>
    %v = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %t = nn.binary mul %n, %v : tensor<16x16xf32>
    %z = nn.unary exp %t : tensor<16x16xf32> -> tensor<16x16xf32>
    %w = zero.view %c.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %r = nn.binary mul %z, %w : tensor<16x16xf32>
    %loss = nn.reduce sum %r [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %d = nn.matmul %z, %r : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32> loc("c.gradient")
    %f = nn.matmul %d, %r : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %e = nn.matmul %f, %r : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %g1 = nn.unary neg %t : tensor<16x16xf32> -> tensor<16x16xf32>
    %g0 = nn.unary cos %p : tensor<16x16xf32> -> tensor<16x16xf32>
    nn.return %loss, %g0, %g1, %e : tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  }
}

// -----

// Two blocks and backward read a broadcast: what is broadcast is kept for them.

// CHECK: %[[ROW:.+]] = nn.reduce max %x
// CHECK: nn.reduce sum
// CHECK: %[[UP:.+]] = zero.recall %[[ROW]] unit 1
// CHECK-NEXT: nn.broadcast %[[UP]]
// CHECK: %[[UP0:.+]] = zero.recall %[[ROW]] unit 0
// CHECK-NEXT: nn.broadcast %[[UP0]]
// CHECK: nn.return
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"c", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>},
      %c.param: tensor<512xf32> {zero.state = #zero.state<unit = 2, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
    %row = nn.reduce max %x [1] : tensor<16x16xf32> -> tensor<16x1xf32>
    %rows = nn.broadcast %row : tensor<16x1xf32> -> tensor<16x16xf32>
    %u = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %p = nn.matmul %x, %u : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %n = nn.binary mul %p, %rows : tensor<16x16xf32>
    %y = nn.matmul %n, %x : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %v = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %t = nn.matmul %y, %v : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %s = nn.binary mul %t, %rows : tensor<16x16xf32>
    %z = nn.matmul %s, %x : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %w = zero.view %c.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %r = nn.binary mul %z, %w : tensor<16x16xf32>
    %loss = nn.reduce sum %r [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %g1 = nn.unary neg %s : tensor<16x16xf32> -> tensor<16x16xf32>
    %g0 = nn.unary cos %n : tensor<16x16xf32> -> tensor<16x16xf32>
    nn.return %loss, %g0, %g1 : tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  }
}
