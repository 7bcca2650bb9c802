// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-layout{ranks=2 zero=3},zero-gathers)' | FileCheck %s

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
