// RUN: zerograph-opt %s --nn-differentiate --split-input-file --verify-diagnostics | FileCheck %s

// Next values stay results, behind the gradients, however they were placed; one
// that is a float scalar is no loss.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[NEXT:.+]] = nn.binary add
// CHECK: nn.return %{{.+}}, %{{.+}}, %[[NEXT]] : tensor<1xf32>, tensor<4xf32>, tensor<1xf32>
// CHECK: tensor<1xf32> {nn.output = "cost"}
// CHECK: tensor<4xf32> {nn.gradient = "w"}
// CHECK: tensor<1xf32> {nn.next_value = "s"}
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>},
    %s: tensor<1xf32> {nn.parameter = #nn.parameter<"s", module = "", trainable = false, init = zeros>},
    %x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>})
    -> (tensor<1xf32> {nn.next_value = "s"}, tensor<1xf32> {nn.output = "cost"}) {
  %0 = nn.binary mul %w, %x : tensor<4xf32>
  %sum = nn.reduce sum %0 [0] : tensor<4xf32> -> tensor<1xf32>
  %next = nn.binary add %s, %sum : tensor<1xf32>
  nn.return %next, %sum : tensor<1xf32>, tensor<1xf32>
}

// -----

// expected-error @+1 {{parameter 's' is trained and also changed by every micro-batch, as running statistics are; freeze it (--freeze s)}}
nn.program @forward(
    %s: tensor<1xf32> {nn.parameter = #nn.parameter<"s", module = "", trainable = true, init = zeros>})
    -> (tensor<1xf32> {nn.output = "loss"}, tensor<1xf32> {nn.next_value = "s"}) {
  %square = nn.binary mul %s, %s : tensor<1xf32>
  %next = nn.binary add %s, %s : tensor<1xf32>
  nn.return %square, %next : tensor<1xf32>, tensor<1xf32>
}
