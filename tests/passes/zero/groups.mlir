// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-layout{ranks=2 zero=3 no-decay=true groups="h.0.c:lr=0.5;*.c:betas=0.5,0.25,eps=1"})' | FileCheck %s
// RUN: not zerograph-opt %s --pass-pipeline='builtin.module(zero-layout{groups="h*:rate=1"})' 2>&1 | FileCheck %s --check-prefix=WRONG

// WRONG: has the group h*:rate=1: 'rate=1': expected lr=, betas=, eps=, weight_decay= or momentum=

// Parameters of one module that are updated with other values are units of
// their own. The first pattern that matches counts; one-dimensional ones that
// none matches are not decayed. Frozen ones are in no group.

// CHECK: zero.layout units [
// CHECK-NEXT: #zero.unit<"h.0", f32
// CHECK-NEXT: "h.0.a"{{.*}}offset = 0>]>
// CHECK-NEXT: #zero.unit<"h.0.group3"
// CHECK-NEXT: "h.0.b"{{.*}}offset = 0, group = 3>] block = "h.0">
// CHECK-NEXT: #zero.unit<"h.0.group1"
// CHECK-NEXT: "h.0.c"{{.*}}offset = 0, group = 1>] block = "h.0">
// CHECK-NEXT: #zero.unit<"h.1"
// CHECK-NEXT: "h.1.c"{{.*}}offset = 0, group = 2>]>
// CHECK-NEXT: #zero.unit<"h.2"{{.*}}trainable = false
// CHECK-NEXT: "h.2.c"{{.*}}offset = 0>]>
// CHECK: ] groups [
// CHECK-NEXT: #zero.group<"default">
// CHECK-NEXT: #zero.group<"h.0.c", {lr = 5.000000e-01 : f64}>
// CHECK-NEXT: #zero.group<"*.c", {beta1 = 5.000000e-01 : f64, beta2 = 2.500000e-01 : f64, eps = 1.000000e+00 : f64}>
// CHECK-NEXT: #zero.group<"no-decay", {weight_decay = 0.000000e+00 : f64}>
nn.program @micro(
    %a: tensor<2x2xf32> {nn.parameter = #nn.parameter<"h.0.a", module = "h.0", trainable = true, init = normal>},
    %b: tensor<4xf32> {nn.parameter = #nn.parameter<"h.0.b", module = "h.0", trainable = true, init = normal>},
    %c: tensor<4xf32> {nn.parameter = #nn.parameter<"h.0.c", module = "h.0", trainable = true, init = normal>},
    %d: tensor<2x2xf32> {nn.parameter = #nn.parameter<"h.1.c", module = "h.1", trainable = true, init = normal>},
    %e: tensor<4xf32> {nn.parameter = #nn.parameter<"h.2.c", module = "h.2", trainable = false, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<2x2xf32> {nn.gradient = "h.0.a"},
        tensor<4xf32> {nn.gradient = "h.0.b"}, tensor<4xf32> {nn.gradient = "h.0.c"},
        tensor<2x2xf32> {nn.gradient = "h.1.c"}) {
  %0 = nn.binary mul %a, %a : tensor<2x2xf32>
  %1 = nn.binary mul %b, %c : tensor<4xf32>
  %2 = nn.binary mul %d, %0 : tensor<2x2xf32>
  %3 = nn.binary mul %1, %e : tensor<4xf32>
  %loss = nn.reduce sum %3 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %loss, %0, %1, %1, %2 : tensor<1xf32>, tensor<2x2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}
