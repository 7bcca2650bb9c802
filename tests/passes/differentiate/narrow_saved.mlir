// RUN: zerograph-opt %s --split-input-file --nn-narrow-saved | FileCheck %s

// Backward reads %t rounded and forward as it is. The row's mean, what depends
// on no parameter, and what is compared stay f32.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[T:.+]] = nn.unary tanh %w
// CHECK: %[[T16:.+]] = nn.convert %[[T]] : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK: %[[AGAIN:.+]] = nn.convert %[[T16]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK: %[[M:.+]] = nn.reduce sum %[[T]] [1] : tensor<4x8xf32> -> tensor<4x1xf32>
// CHECK-NOT: bf16
// CHECK: %[[TABLE:.+]] = nn.unary cos %x
// CHECK-NOT: bf16
// CHECK: %[[A:.+]] = nn.binary mul %[[AGAIN]], %[[TABLE]]
// CHECK: nn.broadcast %[[M]]
// CHECK: nn.compare lt %[[T]], %{{.*}}
module attributes {nn.precision = bf16} {
nn.program @micro(%x: tensor<4x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<4x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<4x8xf32> {nn.gradient = "w"}) {
  %t = nn.unary tanh %w : tensor<4x8xf32> -> tensor<4x8xf32>
  %m = nn.reduce sum %t [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %table = nn.unary cos %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %s = nn.reduce sum %m [0] : tensor<4x1xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %s : tensor<1x1xf32> -> tensor<f32>
  %a = nn.binary mul %t, %table : tensor<4x8xf32>
  %wide = nn.broadcast %m : tensor<4x1xf32> -> tensor<4x8xf32>
  %c = nn.compare lt %t, %wide : tensor<4x8xf32> -> tensor<4x8xi1>
  %g = nn.select %c, %a, %wide : tensor<4x8xi1>, tensor<4x8xf32>
  nn.return %loss, %g : tensor<f32>, tensor<4x8xf32>
}
}

// -----

// A cross entropy and its gradient read the same logits.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[T:.+]] = nn.unary tanh %w
// CHECK: %[[T16:.+]] = nn.convert %[[T]] : tensor<4x8xf32> -> tensor<4x8xbf16>
// CHECK: %[[AGAIN:.+]] = nn.convert %[[T16]] : tensor<4x8xbf16> -> tensor<4x8xf32>
// CHECK: %{{.+}}, %[[MAX:.+]], %[[SUM:.+]] = nn.softmax_cross_entropy %[[AGAIN]], %labels
// CHECK: nn.softmax_cross_entropy_grad %[[AGAIN]], %labels, %[[MAX]], %[[SUM]]
module attributes {nn.precision = bf16} {
nn.program @micro(%labels: tensor<4x1xi64> {nn.input = #nn.input<"labels", per_sample = true>},
    %w: tensor<4x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<4x8xf32> {nn.gradient = "w"}) {
  %x = nn.unary tanh %w : tensor<4x8xf32> -> tensor<4x8xf32>
  %rows, %max, %log_sum = nn.softmax_cross_entropy %x, %labels : tensor<4x8xf32>, tensor<4x1xi64> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<4x1xf32>
  %s = nn.reduce sum %rows [0] : tensor<4x1xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %s : tensor<1x1xf32> -> tensor<f32>
  %one = nn.constant dense<1.0> : tensor<4x1xf32>
  %g = nn.softmax_cross_entropy_grad %x, %labels, %max, %log_sum, %one : tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>
  nn.return %loss, %g : tensor<f32>, tensor<4x8xf32>
}
}

// -----

// A probability is not rounded: near 1 its gradient divides by 1 - p.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[P:.+]] = nn.unary tanh %w
// CHECK-NOT: bf16>
// CHECK: nn.binary cross_entropy %[[P]], %t
// CHECK: nn.binary sub %[[P]], %t
module attributes {nn.precision = bf16} {
nn.program @micro(%t: tensor<4x8xf32> {nn.input = #nn.input<"t", per_sample = true>},
    %w: tensor<4x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<4x8xf32> {nn.gradient = "w"}) {
  %p = nn.unary tanh %w : tensor<4x8xf32> -> tensor<4x8xf32>
  %each = nn.binary cross_entropy %p, %t : tensor<4x8xf32>
  %rows = nn.reduce sum %each [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %s = nn.reduce sum %rows [0] : tensor<4x1xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %s : tensor<1x1xf32> -> tensor<f32>
  %g = nn.binary sub %p, %t : tensor<4x8xf32>
  nn.return %loss, %g : tensor<f32>, tensor<4x8xf32>
}
}

// -----

// A sum over rows adds up what a product reads rounded. One along rows does not,
// nor one of what no product reads.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[G:.+]] = nn.binary mul %x, %x
// CHECK: nn.matmul
// CHECK: %[[G16:.+]] = nn.convert %[[G]] : tensor<8x8xf32> -> tensor<8x8xbf16>
// CHECK: %[[AGAIN:.+]] = nn.convert %[[G16]] : tensor<8x8xbf16> -> tensor<8x8xf32>
// CHECK: nn.reduce sum %[[AGAIN]] [0]
// CHECK: nn.reduce sum %[[G]] [1]
// CHECK: %[[C:.+]] = nn.unary cos %[[G]]
// CHECK: nn.reduce sum %[[C]] [0]
module attributes {nn.precision = bf16} {
nn.program @micro(%x: tensor<8x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<f32> {nn.output = "loss"}, tensor<8x8xf32> {nn.gradient = "w"},
        tensor<1x8xf32> {nn.output = "a"}, tensor<8x1xf32> {nn.output = "b"},
        tensor<1x8xf32> {nn.output = "c"}) {
  %m = nn.reduce sum %w [0, 1] : tensor<8x8xf32> -> tensor<1x1xf32>
  %loss = nn.reshape %m : tensor<1x1xf32> -> tensor<f32>
  %g = nn.binary mul %x, %x : tensor<8x8xf32>
  %g16 = nn.convert %g : tensor<8x8xf32> -> tensor<8x8xbf16>
  %w16 = nn.convert %w : tensor<8x8xf32> -> tensor<8x8xbf16>
  %p = nn.matmul %g16, %w16 : tensor<8x8xbf16>, tensor<8x8xbf16> -> tensor<8x8xf32>
  %a = nn.reduce sum %g [0] : tensor<8x8xf32> -> tensor<1x8xf32>
  %b = nn.reduce sum %g [1] : tensor<8x8xf32> -> tensor<8x1xf32>
  %other = nn.unary cos %g : tensor<8x8xf32> -> tensor<8x8xf32>
  %c = nn.reduce sum %other [0] : tensor<8x8xf32> -> tensor<1x8xf32>
  nn.return %loss, %p, %a, %b, %c : tensor<f32>, tensor<8x8xf32>, tensor<1x8xf32>, tensor<8x1xf32>, tensor<1x8xf32>
}
}
