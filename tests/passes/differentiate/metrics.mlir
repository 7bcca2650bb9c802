// RUN: zerograph-opt %s --nn-differentiate | FileCheck %s

// A metric is kept beside the loss, though it is the first float, and has no
// gradient; another output goes.

// CHECK: nn.program @micro
// CHECK: %[[LOSS:.+]] = nn.unary tanh %w
// CHECK: %[[METRIC:.+]] = nn.unary exp %w
// CHECK-NOT: nn.binary mul %[[METRIC]]
// CHECK: nn.return %[[LOSS]], %{{.+}}, %[[METRIC]] : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>
// CHECK: tensor<1xf32> {nn.output = "score"}
// CHECK: tensor<1xf32> {nn.gradient = "w"}
// CHECK: tensor<1xf32> {nn.metric = 0 : i64, nn.output = "size"}
// CHECK-NOT: other
nn.program @forward(
    %w: tensor<1xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.metric = 0 : i64, nn.output = "size"}, tensor<4xf32> {nn.output = "other"}, tensor<1xf32> {nn.output = "score"}) {
  %0 = nn.unary tanh %w : tensor<1xf32> -> tensor<1xf32>
  %1 = nn.unary exp %w : tensor<1xf32> -> tensor<1xf32>
  %2 = nn.broadcast %w : tensor<1xf32> -> tensor<4xf32>
  nn.return %1, %2, %0 : tensor<1xf32>, tensor<4xf32>, tensor<1xf32>
}
