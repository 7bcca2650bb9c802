// RUN: zerograph-opt %s --nn-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s
// RUN: zerograph-opt %s --nn-differentiate=scaled | FileCheck %s --check-prefix=SCALED

// Backward begins with what the runtime says.

// SCALED: %[[SCALE:.+]] = nn.scalar "loss_scale" : tensor<1xf32>
// SCALED: %[[SEED:.+]] = nn.reshape %[[SCALE]] : tensor<1xf32> -> tensor<f32>
// SCALED: nn.{{.*}} %[[SEED]]

// The loss comes first, then one gradient a trainable parameter in argument
// order; the other output is gone. Of the first layer, which is frozen, only
// the bias gets a gradient. Backward ops carry the forward op's name.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: (%[[X:[^:]+]]: tensor<4x8xf32>
// CHECK: %[[H:.*]] = nn.binary max
// CHECK: %[[LOSS:.*]] = nn.reshape {{.*}} -> tensor<f32> loc("loss")
// CHECK-NOT: nn.softmax
// CHECK: %[[DLOGITS:.*]] = nn.softmax_cross_entropy_grad {{.*}} loc("ce.gradient"("ce"))
// CHECK: %[[DH:.*]] = nn.matmul %[[DLOGITS]], %{{.*}} transpose_b {{.*}} loc("fc2.gradient"("fc2"))
// CHECK: %[[DW2:.*]] = nn.matmul %[[H]], %[[DLOGITS]] transpose_a
// CHECK: nn.reduce sum {{.*}} [0]
// CHECK: %[[DB1:.*]] = nn.reshape
// CHECK-NOT: nn.matmul
// CHECK: nn.return %[[LOSS]], %[[DB1]], %[[DW2]]
// CHECK: %[[X]] {nn.input = #nn.input<"x", per_sample = true>}
// CHECK: tensor<f32> {nn.output = "loss"}
// CHECK: tensor<16xf32> {nn.gradient = "fc1.bias"}
// CHECK: tensor<16x3xf32> {nn.gradient = "fc2.weight"}
nn.program @forward(
    %x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %labels: tensor<4x1xi64> {nn.input = #nn.input<"labels", per_sample = true>},
    %w1: tensor<8x16xf32> {nn.parameter = #nn.parameter<"fc1.weight", module = "fc1", trainable = false, init = normal>},
    %b1: tensor<16xf32> {nn.parameter = #nn.parameter<"fc1.bias", module = "fc1", trainable = true, init = zeros>},
    %w2: tensor<16x3xf32> {nn.parameter = #nn.parameter<"fc2.weight", module = "fc2", trainable = true, init = normal>})
    -> (tensor<4x3xf32> {nn.output = "probabilities"}, tensor<f32> {nn.output = "loss"}) {
  %0 = nn.matmul %x, %w1 : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32> loc("fc1")
  %1 = nn.reshape %b1 : tensor<16xf32> -> tensor<1x16xf32> loc("fc1.add")
  %2 = nn.broadcast %1 : tensor<1x16xf32> -> tensor<4x16xf32> loc("fc1.add")
  %3 = nn.binary add %0, %2 : tensor<4x16xf32> loc("fc1.add")
  %zero = nn.constant dense<0.0> : tensor<4x16xf32> loc("relu")
  %h = nn.binary max %3, %zero : tensor<4x16xf32> loc("relu")
  %logits = nn.matmul %h, %w2 : tensor<4x16xf32>, tensor<16x3xf32> -> tensor<4x3xf32> loc("fc2")
  %p = nn.softmax %logits : tensor<4x3xf32> loc("softmax")
  %loss, %max, %log_sum = nn.softmax_cross_entropy %logits, %labels : tensor<4x3xf32>, tensor<4x1xi64> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32> loc("ce")
  %sum = nn.reduce sum %loss [0, 1] : tensor<4x1xf32> -> tensor<1x1xf32> loc("sum")
  %quarter = nn.constant dense<0.25> : tensor<1x1xf32> loc("mean")
  %mean = nn.binary mul %sum, %quarter : tensor<1x1xf32> loc("mean")
  %scalar = nn.reshape %mean : tensor<1x1xf32> -> tensor<f32> loc("loss")
  nn.return %p, %scalar : tensor<4x3xf32>, tensor<f32>
}
