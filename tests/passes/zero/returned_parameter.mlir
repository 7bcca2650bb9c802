// RUN: zerograph-opt %s --zg-zero="ranks=2 zero=3 optimizer=sgd" | FileCheck %s

// A gradient may be another parameter: that of w1 in sum(w1 * w2) is w2. It is
// gathered for it, and released after it is packed.

// CHECK-LABEL: nn.program @step
// CHECK: %[[B:.+]] = zero.all_gather {{.*}} reason "kept from forward to backward of b
// CHECK: nn.reduce
// CHECK-NEXT: %[[W2:.+]] = zero.view %[[B]][0]
// CHECK-NEXT: %[[G1:.+]] = nn.reshape %[[W2]]
// CHECK-NEXT: zero.pack %[[G1]] at [0] unit 0
// CHECK: zero.release %[[B]] unit 1
// CHECK: %[[A:.+]] = zero.all_gather {{.*}} reason "backward of a
// CHECK: %[[W1:.+]] = zero.view %[[A]][0]
// CHECK: %[[G2:.+]] = nn.reshape %[[W1]]
// CHECK-NEXT: zero.pack %[[G2]] at [0] unit 1
// CHECK: zero.release %[[A]] unit 0
nn.program @micro(
    %w1: tensor<16x16xf32> {nn.parameter = #nn.parameter<"a.w1", module = "a", trainable = true, init = normal>},
    %w2: tensor<16x16xf32> {nn.parameter = #nn.parameter<"b.w2", module = "b", trainable = true, init = normal>})
    -> (tensor<1x1xf32> {nn.output = "loss"},
        tensor<16x16xf32> {nn.gradient = "a.w1"},
        tensor<16x16xf32> {nn.gradient = "b.w2"}) {
  %y = nn.binary mul %w1, %w2 : tensor<16x16xf32>
  %s = nn.reduce sum %y [0, 1] : tensor<16x16xf32> -> tensor<1x1xf32>
  nn.return %s, %w2, %w1 : tensor<1x1xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
