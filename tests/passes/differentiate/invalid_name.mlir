// The node of the model is named where an op has no gradient.

// RUN: not zerograph-opt %s --nn-differentiate 2>&1 | FileCheck %s
// CHECK: node '/h/3/Odd' is on the path from a trainable parameter to the loss, but 'nn.kernel' has no gradient
nn.program @forward(
    %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %0 = nn.kernel rows (%a = %w) : (tensor<4xf32>) -> tensor<4xf32> {
    nn.yield %a : tensor<4xf32>
  } loc("/h/3/Odd")
  %1 = nn.reduce sum %0 [0] : tensor<4xf32> -> tensor<1xf32>
  nn.return %1 : tensor<1xf32>
}
