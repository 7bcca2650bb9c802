// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(zero-layout{ranks=2 zero=3 groups="*.s:weight_decay=0"},zero-gathers)' | FileCheck %s

// A unit is gathered again for its backward uses if another unit was used in
// between, and kept if not; what backward does not need is not gathered.

// CHECK-LABEL: nn.program @micro
// CHECK: zero.all_gather {{.*}} unit 0 {{.*}} "forward of first, first needed by a"
// CHECK: zero.release {{.*}} unit 0
// CHECK: zero.all_gather {{.*}} unit 1 {{.*}} "forward of second, first needed by b"
// CHECK: zero.release {{.*}} unit 1
// CHECK: zero.all_gather {{.*}} unit 2 {{.*}} "kept from forward to backward of third, first needed by c"
// CHECK: zero.release {{.*}} unit 2
// CHECK: zero.all_gather {{.*}} unit 1 {{.*}} "backward of second, first needed by e"
// CHECK: zero.release {{.*}} unit 1
// CHECK-NOT: zero.all_gather
nn.program @micro(
    %p: tensor<256xf32> {nn.parameter = #nn.parameter<"first.p", module = "first", trainable = true, init = normal>},
    %q: tensor<256xf32> {nn.parameter = #nn.parameter<"second.q", module = "second", trainable = true, init = normal>},
    %r: tensor<256xf32> {nn.parameter = #nn.parameter<"third.r", module = "third", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<256xf32> {nn.gradient = "first.p"},
        tensor<256xf32> {nn.gradient = "second.q"}, tensor<256xf32> {nn.gradient = "third.r"}) {
  %a = nn.unary exp %p : tensor<256xf32> -> tensor<256xf32> loc("a")
  %b = nn.binary mul %a, %q : tensor<256xf32> loc("b")
  %c = nn.binary mul %b, %r : tensor<256xf32> loc("c")
  %loss = nn.reduce sum %c [0] : tensor<256xf32> -> tensor<1xf32> loc("loss")
  %d = nn.unary neg %r : tensor<256xf32> -> tensor<256xf32> loc("d")
  %e = nn.binary mul %d, %q : tensor<256xf32> loc("e")
  %f = nn.binary mul %d, %a : tensor<256xf32>
  nn.return %loss, %e, %f, %b : tensor<1xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----

// A block that has two units, as its scale is not decayed, stays gathered until
// another block is used; so it is gathered as often as one unit would be.

// CHECK-LABEL: nn.program @micro
// CHECK: zero.all_gather {{.*}} unit 0 {{.*}} "forward of h.0, first needed by a"
// CHECK-NEXT: zero.view
// CHECK: zero.all_gather {{.*}} unit 1 {{.*}} "forward of h.0.group1, first needed by b"
// CHECK: zero.release {{.*}} unit 1
// CHECK: nn.unary neg
// CHECK: zero.release {{.*}} unit 0
// CHECK: zero.all_gather {{.*}} unit 2
// CHECK-NOT: zero.all_gather
nn.program @micro(
    %w: tensor<16x16xf32> {nn.parameter = #nn.parameter<"h.0.w", module = "h.0", trainable = true, init = normal>},
    %s: tensor<16x16xf32> {nn.parameter = #nn.parameter<"h.0.s", module = "h.0", trainable = true, init = normal>},
    %v: tensor<16x16xf32> {nn.parameter = #nn.parameter<"h.0.v", module = "h.0", trainable = true, init = normal>},
    %r: tensor<16x16xf32> {nn.parameter = #nn.parameter<"h.1.w", module = "h.1", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<16x16xf32> {nn.gradient = "h.0.w"},
        tensor<16x16xf32> {nn.gradient = "h.0.s"}, tensor<16x16xf32> {nn.gradient = "h.0.v"},
        tensor<16x16xf32> {nn.gradient = "h.1.w"}) {
  %a = nn.unary exp %w : tensor<16x16xf32> -> tensor<16x16xf32> loc("a")
  %b = nn.binary mul %a, %s : tensor<16x16xf32> loc("b")
  %n = nn.unary neg %v : tensor<16x16xf32> -> tensor<16x16xf32> loc("n")
  %c = nn.binary mul %b, %n : tensor<16x16xf32> loc("c")
  %d = nn.binary mul %c, %r : tensor<16x16xf32> loc("d")
  %flat = nn.reshape %d : tensor<16x16xf32> -> tensor<256xf32>
  %loss = nn.reduce sum %flat [0] : tensor<256xf32> -> tensor<1xf32> loc("loss")
  nn.return %loss, %a, %b, %c, %d : tensor<1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
