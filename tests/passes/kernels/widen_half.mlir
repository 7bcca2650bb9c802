// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-widen-half))' | FileCheck %s

// An op that computes does so in f32 and rounds once.
// CHECK-LABEL: nn.program @computes
// CHECK: %[[X:.*]] = nn.convert %x : tensor<4xf16> -> tensor<4xf32>
// CHECK: %[[E:.*]] = nn.unary exp %[[X]] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = nn.convert %[[E]] : tensor<4xf32> -> tensor<4xf16>
// CHECK: %[[R32:.*]] = nn.convert %[[R]]
// CHECK: nn.reduce sum %[[R32]] [0] : tensor<4xf32> -> tensor<1xf32>
// CHECK-NEXT: nn.convert {{.*}} : tensor<1xf32> -> tensor<1xf16>
nn.program @computes(%x: tensor<4xf16>) -> tensor<1xf16> {
  %0 = nn.unary exp %x : tensor<4xf16> -> tensor<4xf16>
  %1 = nn.reduce sum %0 [0] : tensor<4xf16> -> tensor<1xf16>
  nn.return %1 : tensor<1xf16>
}

// A comparison gives no half.
// CHECK-LABEL: nn.program @compares
// CHECK: nn.compare lt %{{.*}}, %{{.*}} : tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT: nn.return
nn.program @compares(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xi1> {
  %0 = nn.compare lt %x, %y : tensor<4xbf16> -> tensor<4xi1>
  nn.return %0 : tensor<4xi1>
}

// An op that only moves numbers stays, and so does a product: of bf16 for the
// library, of f16 for nn-widen-products.
// CHECK-LABEL: nn.program @moves
// CHECK-NOT: f32
// CHECK: nn.return
nn.program @moves(%x: tensor<4x4xbf16>, %c: tensor<4x4xi1>) -> tensor<4x4xbf16> {
  %0 = nn.transpose %x [1, 0] : tensor<4x4xbf16> -> tensor<4x4xbf16>
  %1 = nn.select %c, %0, %x : tensor<4x4xi1>, tensor<4x4xbf16>
  %2 = nn.matmul %1, %x : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xbf16>
  nn.return %2 : tensor<4x4xbf16>
}

// CHECK-LABEL: nn.program @product
// CHECK-NEXT: nn.matmul %x, %x : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
nn.program @product(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %0 = nn.matmul %x, %x : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  nn.return %0 : tensor<4x4xf16>
}

// The library rounds the gradient of a convolution's weights, whose sums it does
// not give.
// CHECK-LABEL: nn.program @convolves
// CHECK: %[[DW:.*]] = nn.convolution weights %x, %x {{.*}} -> tensor<2x2x1xbf16>
// CHECK-NEXT: %[[WIDE:.*]] = nn.convert %[[DW]] : tensor<2x2x1xbf16> -> tensor<2x2x1xf32>
// CHECK-NEXT: %[[DX:.*]] = nn.convolution input %x, %w {{.*}} -> tensor<1x2x8xbf16>
// CHECK-NEXT: nn.return %[[WIDE]], %[[DX]]
nn.program @convolves(%x: tensor<1x2x8xbf16>, %w: tensor<2x2x1xbf16>) -> (tensor<2x2x1xf32>, tensor<1x2x8xbf16>) {
  %0 = nn.convolution weights %x, %x strides [1] low [0] dilations [1] groups 1 : tensor<1x2x8xbf16>, tensor<1x2x8xbf16> -> tensor<2x2x1xf32>
  %1 = nn.convolution input %x, %w strides [1] low [0] dilations [1] groups 1 : tensor<1x2x8xbf16>, tensor<2x2x1xbf16> -> tensor<1x2x8xbf16>
  nn.return %0, %1 : tensor<2x2x1xf32>, tensor<1x2x8xbf16>
}

// To and from anything but f32, by way of it.
// CHECK-LABEL: nn.program @converts
// CHECK: %[[A:.*]] = nn.convert %x : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT: nn.convert %[[A]] : tensor<4xf32> -> tensor<4xi64>
// CHECK-NEXT: %[[B:.*]] = nn.convert %{{.*}} : tensor<4xi64> -> tensor<4xf32>
// CHECK-NEXT: nn.convert %[[B]] : tensor<4xf32> -> tensor<4xbf16>
nn.program @converts(%x: tensor<4xf16>) -> tensor<4xbf16> {
  %0 = nn.convert %x : tensor<4xf16> -> tensor<4xi64>
  %1 = nn.convert %0 : tensor<4xi64> -> tensor<4xbf16>
  nn.return %1 : tensor<4xbf16>
}
