// RUN: zerograph-opt %s --nn-differentiate --canonicalize | FileCheck %s

// Ties of float16 are counted in float32, since float16 has no number above
// 65504; the share is then rounded.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[TIES:.*]] = nn.convert %{{.*}} : tensor<70000xi1> -> tensor<70000xf32>
// CHECK: %[[COUNT:.*]] = nn.reduce sum %[[TIES]] [0] : tensor<70000xf32> -> tensor<1xf32>
// CHECK: %[[SHARE:.*]] = nn.binary div %{{.*}}, %[[COUNT]] : tensor<1xf32>
// CHECK: nn.convert %[[SHARE]] : tensor<1xf32> -> tensor<1xf16>
nn.program @forward(
    %w: tensor<70000xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>})
    -> (tensor<1xf32> {nn.output = "loss"}) {
  %half = nn.convert %w : tensor<70000xf32> -> tensor<70000xf16>
  %max = nn.reduce max %half [0] : tensor<70000xf16> -> tensor<1xf16>
  %square = nn.binary mul %max, %max : tensor<1xf16>
  %loss = nn.convert %square : tensor<1xf16> -> tensor<1xf32>
  nn.return %loss : tensor<1xf32>
}
