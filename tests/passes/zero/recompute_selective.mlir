// RUN: zerograph-opt %s --split-input-file --zero-recompute=recompute=selective | FileCheck %s

// Backward reads %h, %t and %y, which are made of the product %h by cheap
// functions: %h alone is kept. %z is read by the next block, and kept for it; so
// is the product %p, which is not computed again.

// CHECK: module attributes {{.*}}zero.recomputed = 2 : i64
// CHECK: %[[H:.+]] = nn.matmul %x
// CHECK: %[[P:.+]] = nn.matmul
// CHECK: %[[Z:.+]] = nn.binary add
// CHECK: %{{.+}} = nn.reduce sum
// CHECK-NOT: nn.matmul
// CHECK: %[[AGAIN:.+]] = zero.recall %[[H]] unit 0
// CHECK: %[[T:.+]] = nn.unary tanh %[[AGAIN]]
// CHECK: nn.unary neg %[[T]]
// CHECK: %[[Y:.+]] = nn.binary mul %[[AGAIN]], %[[T]]
// CHECK: nn.unary abs %[[Y]]
// CHECK: nn.unary sqrt %[[AGAIN]]
// CHECK: nn.unary exp %[[P]]
// CHECK: nn.unary log %[[Z]]
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %h = nn.matmul %x, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %t = nn.unary tanh %h : tensor<16x16xf32> -> tensor<16x16xf32>
    %y = nn.binary mul %h, %t : tensor<16x16xf32>
    %p = nn.matmul %y, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %z = nn.binary add %x, %p : tensor<16x16xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %v = nn.binary mul %z, %u : tensor<16x16xf32>
    %loss = nn.reduce sum %v [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %g0 = nn.unary neg %t : tensor<16x16xf32> -> tensor<16x16xf32>
    %g1 = nn.unary abs %y : tensor<16x16xf32> -> tensor<16x16xf32>
    %g2 = nn.unary sqrt %h : tensor<16x16xf32> -> tensor<16x16xf32>
    %g3 = nn.unary exp %p : tensor<16x16xf32> -> tensor<16x16xf32>
    %g4 = nn.unary log %z : tensor<16x16xf32> -> tensor<16x16xf32>
    nn.return %loss, %g0, %g1, %g2, %g3, %g4 : tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  }
}

// -----

// Backward reads the sum of two products: it is kept itself, as nothing is gained
// by keeping the products.

// CHECK-NOT: zero.recomputed
// CHECK-NOT: zero.recall
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %p = nn.matmul %x, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %q = nn.matmul %p, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %s = nn.binary add %p, %q : tensor<16x16xf32>
    %c = nn.matmul %s, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %v = nn.binary mul %c, %u : tensor<16x16xf32>
    %loss = nn.reduce sum %v [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %g = nn.unary abs %s : tensor<16x16xf32> -> tensor<16x16xf32>
    nn.return %loss, %g : tensor<1x1xf32>, tensor<16x16xf32>
  }
}
