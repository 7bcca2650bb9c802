// RUN: zerograph-opt %s --split-input-file --zero-recompute=recompute=units | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --zero-recompute=recompute=units --cse --zero-forget-recalls | FileCheck %s --check-prefix=FORGOTTEN
// RUN: not zerograph-opt %s --split-input-file --zero-recompute=recompute=all 2>&1 | FileCheck %s --check-prefix=WRONG

// Backward alone reads %s of unit 0, and unit 1 reads %y, too: %y is kept, %s
// computed again from the input and the parameter, right before its use. Unit 1
// is the last: nothing of it is computed again. The pack of what is kept for
// the next micro-batch is of the forward pass.

// CHECK: module attributes {{.*}}zero.recomputed = 1 : i64
// CHECK: %[[Y:.+]] = nn.unary exp
// CHECK: %[[LOSS:.+]] = nn.reduce sum
// CHECK-NEXT: nn.unary neg %[[Y]]
// CHECK-NEXT: %[[W:.+]] = zero.view %a.param[0]
// CHECK-NEXT: %[[X:.+]] = zero.recall %x unit 0 : tensor<256xf32>
// CHECK-NEXT: %[[AGAIN:.+]] = nn.binary mul %[[X]], %[[W]]
// CHECK-NEXT: nn.unary tanh %[[AGAIN]]
// CHECK-NEXT: nn.unary sqrt %[[AGAIN]]
// CHECK-NOT: zero.recall
// CHECK: zero.pack

// FORGOTTEN: nn.binary mul %x
// FORGOTTEN: nn.binary mul %x
// FORGOTTEN-NOT: zero.recall

// WRONG: computes again 'all'; there are none, selective and units
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<256xf32>
    %s = nn.binary mul %x, %w : tensor<256xf32>
    %y = nn.unary exp %s : tensor<256xf32> -> tensor<256xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<256xf32>
    %z = nn.binary mul %y, %u : tensor<256xf32>
    %loss = nn.reduce sum %z [0] : tensor<256xf32> -> tensor<1xf32>
    %g0 = nn.unary neg %y : tensor<256xf32> -> tensor<256xf32>
    %g1 = nn.unary tanh %s : tensor<256xf32> -> tensor<256xf32>
    %g2 = nn.unary sqrt %s : tensor<256xf32> -> tensor<256xf32>
    %g3 = nn.unary abs %z : tensor<256xf32> -> tensor<256xf32>
    %next = zero.pack %s at [0] unit 0 : tensor<256xf32> -> tensor<512xf32>
    nn.return %loss, %g0, %g1, %g2, %g3 : tensor<1xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
  }
}

// -----

// An op of backward that reads two values: the second is computed again behind
// the first, which is a view of one use by then.

// CHECK: nn.reduce sum
// CHECK: %[[S:.+]] = nn.binary mul
// CHECK-NEXT: %[[R:.+]] = nn.reshape %[[S]]
// CHECK-NEXT: %[[T:.+]] = nn.unary tanh %[[R]]
// CHECK-NEXT: nn.binary mul %[[R]], %[[T]]
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1xf32>, tensor<16x16xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<256xf32>
    %s = nn.binary mul %x, %w : tensor<256xf32>
    %r = nn.reshape %s : tensor<256xf32> -> tensor<16x16xf32>
    %t = nn.unary tanh %r : tensor<16x16xf32> -> tensor<16x16xf32>
    %y0 = nn.unary exp %t : tensor<16x16xf32> -> tensor<16x16xf32>
    %y = nn.reshape %y0 : tensor<16x16xf32> -> tensor<256xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<256xf32>
    %z = nn.binary mul %y, %u : tensor<256xf32>
    %loss = nn.reduce sum %z [0] : tensor<256xf32> -> tensor<1xf32>
    %g0 = nn.binary mul %r, %t : tensor<16x16xf32>
    nn.return %loss, %g0 : tensor<1xf32>, tensor<16x16xf32>
  }
}

// -----

// A parameter that backward reads in a type of its own: what is computed again
// for the same op stands before the view that its conversion reads. Units 0 and
// 1 are parts of one block, so of one region: %s is not kept for unit 1.

// CHECK: nn.reduce sum
// CHECK-NEXT: zero.view
// CHECK-NEXT: zero.recall %x unit 0
// CHECK-NEXT: nn.binary mul
// CHECK-NEXT: nn.unary exp
// CHECK-NEXT: %[[W:.+]] = zero.view
// CHECK-NEXT: %[[C:.+]] = nn.convert %[[W]]
// CHECK-NEXT: nn.binary mul {{.*}}, %[[C]]
// CHECK-NOT: zero.recall
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>,
    #zero.unit<"a.bf16", bf16, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", bf16, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<256xbf16>, offset = 0>] block = "a">,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %v.param: tensor<512xbf16> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 2, segment = -1, "param", sharded = false>})
      -> (tensor<1xf32>, tensor<256xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<256xf32>
    %s = nn.binary mul %x, %w : tensor<256xf32>
    %t = nn.unary exp %s : tensor<256xf32> -> tensor<256xf32>
    %v0 = zero.view %v.param[0] : tensor<512xbf16> -> tensor<256xbf16>
    %v = nn.convert %v0 : tensor<256xbf16> -> tensor<256xf32>
    %y = nn.binary mul %t, %v : tensor<256xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<256xf32>
    %z = nn.binary mul %y, %u : tensor<256xf32>
    %loss = nn.reduce sum %z [0] : tensor<256xf32> -> tensor<1xf32>
    %v1 = zero.view %v.param[0] : tensor<512xbf16> -> tensor<256xbf16>
    %again = nn.convert %v1 : tensor<256xbf16> -> tensor<256xf32>
    %g0 = nn.binary mul %t, %again : tensor<256xf32>
    nn.return %loss, %g0 : tensor<1xf32>, tensor<256xf32>
  }
}

// -----

// A value that is made of literals is no tensor that is kept: both blocks read
// the same mask and half, and so does what is computed again, which no recall
// hides.

// CHECK: %[[HALF:.+]] = nn.constant dense<5.000000e-01>
// CHECK: %[[MASK:.+]] = nn.compare le
// CHECK: nn.reduce sum
// CHECK: %[[X:.+]] = zero.recall %x unit 0
// CHECK-NOT: zero.recall
// CHECK: %[[AGAIN:.+]] = nn.binary mul %[[X]]
// CHECK-NEXT: %[[HALVED:.+]] = nn.binary mul %[[AGAIN]], %[[HALF]]
// CHECK-NEXT: %[[MASKED:.+]] = nn.select %[[MASK]], %[[HALVED]], %[[HALF]]
// CHECK-NEXT: nn.unary tanh %[[MASKED]]
// CHECK-NOT: zero.recall
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<256xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%x: tensor<256xf32> {nn.input = #nn.input<"x", per_sample = true>},
      %a.param: tensor<512xf32> {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>},
      %b.param: tensor<512xf32> {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>})
      -> (tensor<1xf32>, tensor<256xf32>) {
    %w = zero.view %a.param[0] : tensor<512xf32> -> tensor<256xf32>
    %half = nn.constant dense<0.5> : tensor<256xf32>
    %place = nn.iota 0 : tensor<256xi64>
    %bound = nn.constant dense<100> : tensor<256xi64>
    %mask = nn.compare le %place, %bound : tensor<256xi64> -> tensor<256xi1>
    %s = nn.binary mul %x, %w : tensor<256xf32>
    %h = nn.binary mul %s, %half : tensor<256xf32>
    %m = nn.select %mask, %h, %half : tensor<256xi1>, tensor<256xf32>
    %y = nn.unary exp %m : tensor<256xf32> -> tensor<256xf32>
    %u = zero.view %b.param[0] : tensor<512xf32> -> tensor<256xf32>
    %v = nn.binary mul %y, %u : tensor<256xf32>
    %z = nn.select %mask, %v, %half : tensor<256xi1>, tensor<256xf32>
    %loss = nn.reduce sum %z [0] : tensor<256xf32> -> tensor<1xf32>
    %g0 = nn.unary tanh %m : tensor<256xf32> -> tensor<256xf32>
    nn.return %loss, %g0 : tensor<1xf32>, tensor<256xf32>
  }
}
