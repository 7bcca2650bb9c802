// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-widen-products,nn-verify-kernels))' | FileCheck %s

// Each product has conversions of its own, so that none lives from one product
// to the next.
// CHECK-LABEL: nn.program @twice
// CHECK: %[[X:.*]] = nn.kernel rows ({{.*}} = %x) : (tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK-NEXT: nn.convert
// CHECK: %[[Y:.*]] = nn.kernel rows ({{.*}} = %y) : (tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK: %[[P:.*]] = nn.matmul %[[X]], %[[Y]] transpose_b : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x4xf32>
// CHECK-NEXT: %[[H:.*]] = nn.kernel rows ({{.*}} = %[[P]]) : (tensor<4x4xf32>) -> tensor<4x4xf16>
// CHECK: %[[H2:.*]] = nn.kernel rows ({{.*}} = %[[H]]) : (tensor<4x4xf16>) -> tensor<4x4xf32>
// CHECK: %[[X2:.*]] = nn.kernel rows ({{.*}} = %x) : (tensor<4x8xf16>) -> tensor<4x8xf32>
// CHECK: nn.matmul %[[H2]], %[[X2]] : tensor<4x4xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
// CHECK-NEXT: nn.return
nn.program @twice(%x: tensor<4x8xf16>, %y: tensor<4x8xf16>) -> tensor<4x8xf32> {
  %0 = nn.matmul %x, %y transpose_b : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x4xf16>
  %1 = nn.matmul %0, %x : tensor<4x4xf16>, tensor<4x8xf16> -> tensor<4x8xf32>
  nn.return %1 : tensor<4x8xf32>
}

// A matrix that is multiplied by itself is converted once.
// CHECK-LABEL: nn.program @square
// CHECK: %[[X:.*]] = nn.kernel rows
// CHECK-NOT: nn.kernel
// CHECK: nn.matmul %[[X]], %[[X]] transpose_b
nn.program @square(%x: tensor<4x8xf16>) -> tensor<4x4xf32> {
  %0 = nn.matmul %x, %x transpose_b : tensor<4x8xf16>, tensor<4x8xf16> -> tensor<4x4xf32>
  nn.return %0 : tensor<4x4xf32>
}

// A library that takes bf16, or f32 as it is, needs nothing.
// CHECK-LABEL: nn.program @taken
// CHECK-NOT: nn.kernel
// CHECK: nn.return
nn.program @taken(%x: tensor<4x4xbf16>, %y: tensor<4x4xf32>) -> (tensor<4x4xbf16>, tensor<4x4xf32>) {
  %0 = nn.matmul %x, %x : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xbf16>
  %1 = nn.matmul %y, %y : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  nn.return %0, %1 : tensor<4x4xbf16>, tensor<4x4xf32>
}

// A bias of 16 bits is added where the sum is rounded, one of f32 by the product.
// CHECK-LABEL: nn.program @biased
// CHECK: %[[P:.*]] = nn.matmul %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x4xf32> -> tensor<4x4xf32>
// CHECK-NEXT: nn.kernel rows ({{.*}} = %[[P]], {{.*}} = %b) : (tensor<4x4xf32>, tensor<4xf16>) -> tensor<4x4xf16>
// CHECK: nn.binary add
// CHECK: nn.convert
// CHECK: nn.matmul %{{.*}}, %{{.*}} bias %c : tensor<4xf32>
nn.program @biased(%x: tensor<4x8xf16>, %y: tensor<8x4xf16>, %b: tensor<4xf16>, %c: tensor<4xf32>) -> (tensor<4x4xf16>, tensor<4x4xf32>) {
  %0 = nn.matmul %x, %y bias %b : tensor<4xf16> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf16>
  %1 = nn.matmul %x, %y bias %c : tensor<4xf32> : tensor<4x8xf16>, tensor<8x4xf16> -> tensor<4x4xf32>
  nn.return %0, %1 : tensor<4x4xf16>, tensor<4x4xf32>
}

// A convolution is a product too. The sums of its weights' gradient are not
// rounded.
// CHECK-LABEL: nn.program @convolves
// CHECK: %[[X:.*]] = nn.kernel rows ({{.*}} = %x) : (tensor<1x2x8xf16>) -> tensor<1x2x8xf32>
// CHECK: %[[W:.*]] = nn.kernel rows ({{.*}} = %w) : (tensor<2x2x1xf16>) -> tensor<2x2x1xf32>
// CHECK: %[[Y:.*]] = nn.convolution forward %[[X]], %[[W]] {{.*}} -> tensor<1x2x8xf32>
// CHECK-NEXT: nn.kernel rows ({{.*}} = %[[Y]]) : (tensor<1x2x8xf32>) -> tensor<1x2x8xf16>
// CHECK: %[[DW:.*]] = nn.convolution weights %{{.*}} -> tensor<2x2x1xf32>
// CHECK-NEXT: nn.return %{{.*}}, %[[DW]]
nn.program @convolves(%x: tensor<1x2x8xf16>, %w: tensor<2x2x1xf16>) -> (tensor<1x2x8xf16>, tensor<2x2x1xf32>) {
  %0 = nn.convolution forward %x, %w strides [1] low [0] dilations [1] groups 1 : tensor<1x2x8xf16>, tensor<2x2x1xf16> -> tensor<1x2x8xf16>
  %1 = nn.convolution weights %x, %0 strides [1] low [0] dilations [1] groups 1 : tensor<1x2x8xf16>, tensor<1x2x8xf16> -> tensor<2x2x1xf32>
  nn.return %0, %1 : tensor<1x2x8xf16>, tensor<2x2x1xf32>
}
