// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=3},zero-recompute{recompute=units},zero-gathers)' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=3},zero-recompute{recompute=units},zero-gathers,nn.program(zero-forget-recalls))' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-localize-views,zero-layout{ranks=2 zero=2},zero-recompute{recompute=units},zero-gathers)' | FileCheck %s --check-prefix=WHOLE

// Two blocks read the positions, of a third, together with a parameter of their
// own: one view of each such op is of another block than the op. What backward
// computes again reads views of its own gathers: forward's are released by then.

// CHECK-LABEL: nn.program @micro
// CHECK: zero.all_gather {{.*}} unit 0 {{.*}} "forward of h.0, first needed by a"
// CHECK: zero.all_gather {{.*}} unit 1 {{.*}} "forward of pos, first needed by a"
// CHECK: nn.binary mul
// CHECK-NEXT: zero.release {{.*}} unit 0
// CHECK: zero.all_gather {{.*}} unit 2 {{.*}} "forward of h.1, first needed by b"
// CHECK: nn.binary mul
// CHECK-NEXT: zero.release {{.*}} unit 2
// CHECK-NEXT: zero.release {{.*}} unit 1
// CHECK: zero.all_gather {{.*}} unit 3
// CHECK: nn.reduce sum
// CHECK: %[[P1:.+]] = zero.all_gather {{.*}} unit 1 {{.*}} "backward of pos, first needed by b"
// CHECK-NEXT: %[[V1:.+]] = zero.view %[[P1]]
// CHECK-NEXT: %[[R1:.+]] = nn.reshape %[[V1]]
// CHECK-NEXT: %[[H1:.+]] = zero.all_gather {{.*}} unit 2 {{.*}} "backward of h.1, first needed by b"
// CHECK-NEXT: %[[W1:.+]] = zero.view %[[H1]]
// CHECK-NEXT: nn.binary mul %[[R1]], %[[W1]]
// CHECK-NEXT: zero.release %[[H1]] unit 2
// CHECK: %[[H0:.+]] = zero.all_gather {{.*}} unit 0 {{.*}} "backward of h.0, first needed by a"
// CHECK-NEXT: %[[W0:.+]] = zero.view %[[H0]]
// CHECK-NEXT: %[[V0:.+]] = zero.view %[[P1]]
// CHECK-NEXT: nn.binary mul %[[V0]], %[[W0]]
// CHECK-NEXT: zero.release %[[H0]] unit 0
// CHECK-NEXT: zero.release %[[P1]] unit 1
// CHECK-NOT: zero.all_gather

// A value that no one gathers is called again: else both times were the same
// op.

// WHOLE-LABEL: nn.program @micro
// WHOLE: nn.reduce sum
// WHOLE: %[[R1:.+]] = zero.recall {{.*}} : tensor<256xf32>
// WHOLE: nn.binary mul %[[R1]]
// WHOLE: %[[W0:.+]] = zero.recall {{.*}} : tensor<16x16xf32>
// WHOLE: nn.binary mul {{.*}}, %[[W0]]
nn.program @micro(
    %x: tensor<16x16xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<16x16xf32> {nn.parameter = #nn.parameter<"h.0.w", module = "h.0", trainable = true, init = normal>},
    %p: tensor<16x16xf32> {nn.parameter = #nn.parameter<"pos", module = "pos", trainable = true, init = normal>},
    %v: tensor<256xf32> {nn.parameter = #nn.parameter<"h.1.v", module = "h.1", trainable = true, init = normal>},
    %o: tensor<256xf32> {nn.parameter = #nn.parameter<"o", module = "o", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<16x16xf32> {nn.gradient = "h.0.w"},
        tensor<16x16xf32> {nn.gradient = "pos"}, tensor<256xf32> {nn.gradient = "h.1.v"},
        tensor<256xf32> {nn.gradient = "o"}) {
  %a = nn.binary mul %p, %w : tensor<16x16xf32> loc("a")
  %s = nn.binary add %x, %a : tensor<16x16xf32> loc("s")
  %r = nn.reshape %s : tensor<16x16xf32> -> tensor<256xf32> loc("r")
  %q = nn.reshape %p : tensor<16x16xf32> -> tensor<256xf32> loc("q")
  %b = nn.binary mul %q, %v : tensor<256xf32> loc("b")
  %t = nn.binary add %r, %b : tensor<256xf32> loc("t")
  %c = nn.binary mul %t, %o : tensor<256xf32> loc("c")
  %loss = nn.reduce sum %c [0] : tensor<256xf32> -> tensor<1xf32> loc("loss")
  %d = nn.unary neg %b : tensor<256xf32> -> tensor<256xf32> loc("d")
  %e = nn.unary neg %a : tensor<16x16xf32> -> tensor<16x16xf32> loc("e")
  nn.return %loss, %e, %e, %d, %d : tensor<1xf32>, tensor<16x16xf32>, tensor<16x16xf32>, tensor<256xf32>, tensor<256xf32>
}
