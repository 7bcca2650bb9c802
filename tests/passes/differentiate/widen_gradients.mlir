// RUN: zerograph-opt %s --nn-widen-gradients | FileCheck %s

// The product, or convolution, that makes a gradient gives f32; what was rounded to be added up
// is not; a value that something else reads too is converted.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[DW:.+]] = nn.matmul %x, %dy transpose_a : tensor<4x8xbf16>, tensor<4x16xbf16> -> tensor<8x16xf32>
// CHECK: %[[DT:.+]] = nn.scatter sum %ids, %rows : tensor<4xi64>, tensor<4x8xf32> -> tensor<32x8xf32>
// CHECK: %[[DU:.+]] = nn.matmul %dy, %dy transpose_a : tensor<4x16xbf16>, tensor<4x16xbf16> -> tensor<16x16xbf16>
// CHECK: %[[WIDE:.+]] = nn.convert %[[DU]]
// CHECK: %[[SUM:.+]] = nn.binary add %[[DW]], %{{.*}} : tensor<8x16xf32>
// CHECK: %[[DK:.+]] = nn.convolution weights %image, %image {{.*}} : tensor<1x2x8xbf16>, tensor<1x2x8xbf16> -> tensor<2x2x1xf32>
// CHECK: nn.return %loss, %[[SUM]], %[[DT]], %[[WIDE]], %[[DU]], %[[DK]]
module attributes {nn.precision = bf16} {
nn.program @micro(%loss: tensor<f32>, %x: tensor<4x8xbf16>, %dy: tensor<4x16xbf16>,
    %ids: tensor<4xi64>, %rows: tensor<4x8xf32>, %image: tensor<1x2x8xbf16>)
    -> (tensor<f32>, tensor<8x16xf32> {nn.gradient = "w"},
        tensor<32x8xf32> {nn.gradient = "table"},
        tensor<16x16xf32> {nn.gradient = "u"}, tensor<16x16xbf16>,
        tensor<2x2x1xf32> {nn.gradient = "k"}) {
  %dw = nn.matmul %x, %dy transpose_a : tensor<4x8xbf16>, tensor<4x16xbf16> -> tensor<8x16xbf16>
  %w1 = nn.convert %dw : tensor<8x16xbf16> -> tensor<8x16xf32>
  %r16 = nn.convert %rows : tensor<4x8xf32> -> tensor<4x8xbf16>
  %dt = nn.scatter sum %ids, %r16 : tensor<4xi64>, tensor<4x8xbf16> -> tensor<32x8xbf16>
  %table = nn.convert %dt : tensor<32x8xbf16> -> tensor<32x8xf32>
  %du = nn.matmul %dy, %dy transpose_a : tensor<4x16xbf16>, tensor<4x16xbf16> -> tensor<16x16xbf16>
  %u = nn.convert %du : tensor<16x16xbf16> -> tensor<16x16xf32>
  %xt = nn.transpose %x [1, 0] : tensor<4x8xbf16> -> tensor<8x4xbf16>
  %dw2 = nn.matmul %xt, %dy : tensor<8x4xbf16>, tensor<4x16xbf16> -> tensor<8x16xbf16>
  %w2 = nn.convert %dw2 : tensor<8x16xbf16> -> tensor<8x16xf32>
  %w = nn.binary add %w1, %w2 : tensor<8x16xf32>
  %dk = nn.convolution weights %image, %image strides [1] low [0] dilations [1] groups 1
      : tensor<1x2x8xbf16>, tensor<1x2x8xbf16> -> tensor<2x2x1xbf16>
  %k = nn.convert %dk : tensor<2x2x1xbf16> -> tensor<2x2x1xf32>
  nn.return %loss, %w, %table, %u, %du, %k : tensor<f32>, tensor<8x16xf32>, tensor<32x8xf32>, tensor<16x16xf32>, tensor<16x16xbf16>, tensor<2x2x1xf32>
}
}
