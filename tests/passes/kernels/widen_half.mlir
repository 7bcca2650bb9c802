// RUN: zerograph-opt %s --pass-pipeline='builtin.module(func.func(nn-widen-half))' | FileCheck %s

// What computes does so in f32 and rounds once.
// CHECK-LABEL: func.func @computes
// CHECK: %[[X:.*]] = nn.convert %arg0 : tensor<4xf16> -> tensor<4xf32>
// CHECK: %[[E:.*]] = nn.unary exp %[[X]] : tensor<4xf32> -> tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = nn.convert %[[E]] : tensor<4xf32> -> tensor<4xf16>
// CHECK: %[[R32:.*]] = nn.convert %[[R]]
// CHECK: nn.reduce sum %[[R32]] [0] : tensor<4xf32> -> tensor<1xf32>
// CHECK-NEXT: nn.convert {{.*}} : tensor<1xf32> -> tensor<1xf16>
func.func @computes(%x: tensor<4xf16>) -> tensor<1xf16> {
  %0 = nn.unary exp %x : tensor<4xf16> -> tensor<4xf16>
  %1 = nn.reduce sum %0 [0] : tensor<4xf16> -> tensor<1xf16>
  return %1 : tensor<1xf16>
}

// A comparison gives no half.
// CHECK-LABEL: func.func @compares
// CHECK: nn.compare lt %{{.*}}, %{{.*}} : tensor<4xf32> -> tensor<4xi1>
// CHECK-NEXT: return
func.func @compares(%x: tensor<4xbf16>, %y: tensor<4xbf16>) -> tensor<4xi1> {
  %0 = nn.compare lt %x, %y : tensor<4xbf16> -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// What only moves numbers stays, and so does a product of bf16.
// CHECK-LABEL: func.func @moves
// CHECK-NOT: f32
// CHECK: return
func.func @moves(%x: tensor<4x4xbf16>, %c: tensor<4x4xi1>) -> tensor<4x4xbf16> {
  %0 = nn.transpose %x [1, 0] : tensor<4x4xbf16> -> tensor<4x4xbf16>
  %1 = nn.select %c, %0, %x : tensor<4x4xi1>, tensor<4x4xbf16>
  %2 = nn.matmul %1, %x : tensor<4x4xbf16>, tensor<4x4xbf16> -> tensor<4x4xbf16>
  return %2 : tensor<4x4xbf16>
}

// Libraries take no f16.
// CHECK-LABEL: func.func @product
// CHECK: nn.matmul {{.*}} : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
func.func @product(%x: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %0 = nn.matmul %x, %x : tensor<4x4xf16>, tensor<4x4xf16> -> tensor<4x4xf16>
  return %0 : tensor<4x4xf16>
}

// To and from anything but f32, by way of it.
// CHECK-LABEL: func.func @converts
// CHECK: %[[A:.*]] = nn.convert %arg0 : tensor<4xf16> -> tensor<4xf32>
// CHECK-NEXT: nn.convert %[[A]] : tensor<4xf32> -> tensor<4xi64>
// CHECK-NEXT: %[[B:.*]] = nn.convert %{{.*}} : tensor<4xi64> -> tensor<4xf32>
// CHECK-NEXT: nn.convert %[[B]] : tensor<4xf32> -> tensor<4xbf16>
func.func @converts(%x: tensor<4xf16>) -> tensor<4xbf16> {
  %0 = nn.convert %x : tensor<4xf16> -> tensor<4xi64>
  %1 = nn.convert %0 : tensor<4xi64> -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}
