// RUN: zerograph-opt %s --split-input-file --zero-recompute | FileCheck %s --implicit-check-not=zero.recomputed

// Backward reads the product %h, and %g, which is made of it element by element: %h
// alone is kept. The products of backward that read %g stand after the gradient of
// the function, so that one kernel makes both, but not between a view of parameters
// and its reader. %p is kept as it is, since a reduction is not computed again, and
// %z for the next block.

// CHECK: %[[H:.+]] = nn.matmul %x
// CHECK: %[[ROWS:.+]] = nn.broadcast
// CHECK: %[[P:.+]] = nn.binary mul {{.*}}, %[[ROWS]]
// CHECK: nn.reduce sum {{.*}} [0, 1]
// CHECK-NEXT: %[[DG:.+]] = nn.matmul
// CHECK-NEXT: %[[AGAIN:.+]] = zero.recall %[[H]] unit 0
// CHECK-NEXT: %[[T:.+]] = nn.unary tanh %[[AGAIN]]
// CHECK-NEXT: %[[G:.+]] = nn.binary mul %[[AGAIN]], %[[T]]
// CHECK-NEXT: %[[DT:.+]] = nn.binary mul %[[DG]], %[[AGAIN]]
// CHECK-NEXT: %[[DP:.+]] = nn.binary mul %[[DT]], %[[P]]
// CHECK-NEXT: nn.matmul %[[G]], %[[DG]]
// CHECK-NEXT: nn.matmul %[[DG]], %[[G]]
// CHECK-NEXT: %[[W:.+]] = zero.view
// CHECK-NEXT: nn.matmul %[[DP]], %[[W]]
// CHECK-NEXT: nn.return
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %h = nn.matmul %x, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %t = nn.unary tanh %h : tensor<16x16xf32> -> tensor<16x16xf32>
    %g = nn.binary mul %h, %t : tensor<16x16xf32>
    %q = nn.matmul %g, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %row = nn.reduce sum %q [1] : tensor<16x16xf32> -> tensor<16x1xf32>
    %rows = nn.broadcast %row : tensor<16x1xf32> -> tensor<16x16xf32>
    %p = nn.binary mul %q, %rows : tensor<16x16xf32>
    %z = nn.matmul %p, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %v = nn.binary mul %z, %u : tensor<16x16xf32>
    %loss = nn.reduce sum %v [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %dg = nn.matmul %x, %x : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32> loc("a.gradient")
    %dw = nn.matmul %g, %dg : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %dv = nn.matmul %dg, %g : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %dt = nn.binary mul %dg, %h : tensor<16x16xf32>
    %dp = nn.binary mul %dt, %p : tensor<16x16xf32>
    %again = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %last = nn.matmul %dp, %again : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    nn.return %loss, %dw, %dv, %last : tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
  }
}

// -----

// Backward reads the norm's numbers of rows, and its result in 16 bits: kept are
// those, and not the result in 32 bits, of which they could be made.

// CHECK: %[[N:[^,]+]], %[[MEAN:.+]], %[[RSTD:.+]] = nn.layer_norm
// CHECK-NEXT: %[[HALF:.+]] = nn.convert %[[N]]
// CHECK-NOT: zero.recall
// CHECK: nn.return
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x1xf32>, tensor<16x1xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<16xf32>
    %b = zero.view %a.param[16] : tensor<512xf32> -> tensor<16xf32>
    %n, %mean, %rstd = nn.layer_norm %x, %w, %b epsilon 1.0e-5 : tensor<16x16xf32>, tensor<16xf32> -> tensor<16x1xf32>, tensor<16x1xf32>
    %half = nn.convert %n : tensor<16x16xf32> -> tensor<16x16xbf16>
    %z = nn.matmul %half, %half : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %v = nn.binary mul %z, %u : tensor<16x16xf32>
    %loss = nn.reduce sum %v [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %dw = nn.matmul %half, %half : tensor<16x16xbf16>, tensor<16x16xbf16> -> tensor<16x16xf32> loc("a.gradient")
    %g0 = nn.unary neg %mean : tensor<16x1xf32> -> tensor<16x1xf32>
    %g1 = nn.unary neg %rstd : tensor<16x1xf32> -> tensor<16x1xf32>
    nn.return %loss, %dw, %g0, %g1 : tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x1xf32>, tensor<16x1xf32>
  }
}

// -----

// Rows that are joined are kept: who makes them makes them there.

// CHECK-COUNT-3: nn.binary mul
// CHECK-NOT: zero.recall
// CHECK-NOT: nn.binary mul
// CHECK: nn.join_rows
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<16x16xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1x1xf32>, tensor<16x16xf32>, tensor<32x16xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %h = nn.matmul %x, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %t = nn.unary tanh %h : tensor<16x16xf32> -> tensor<16x16xf32>
    %g = nn.binary mul %h, %t : tensor<16x16xf32>
    %q = nn.matmul %g, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %row = nn.reduce sum %q [1] : tensor<16x16xf32> -> tensor<16x1xf32>
    %rows = nn.broadcast %row : tensor<16x1xf32> -> tensor<16x16xf32>
    %p = nn.binary mul %q, %rows : tensor<16x16xf32>
    %z = nn.matmul %p, %w : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<16x16xf32>
    %v = nn.binary mul %z, %u : tensor<16x16xf32>
    %loss = nn.reduce sum %v [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
    %dg = nn.matmul %x, %x : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32> loc("a.gradient")
    %joined = nn.join_rows %g, %p : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    nn.return %loss, %dg, %joined : tensor<1x1xf32>, tensor<16x16xf32>, tensor<32x16xf32>
  }
}
