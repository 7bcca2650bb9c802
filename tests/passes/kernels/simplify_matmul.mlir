// RUN: zerograph-opt %s --pass-pipeline='builtin.module(func.func(nn-simplify-matmul))' | FileCheck %s

// The transposition of a key that also moves its heads leaves the move, with
// the innermost dimension in place, and a flag.
// CHECK-LABEL: func.func @heads
// CHECK: %[[K:.*]] = nn.transpose %arg1 [0, 2, 1, 3]
// CHECK: nn.matmul %arg0, %[[K]] transpose_b
func.func @heads(%q: tensor<2x3x5x4xf32>, %k: tensor<2x5x3x4xf32>) -> tensor<2x3x5x5xf32> {
  %0 = nn.transpose %k [0, 2, 3, 1] : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
  %1 = nn.matmul %q, %0 : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
  return %1 : tensor<2x3x5x5xf32>
}

// A transposition of batches alone stays.
// CHECK-LABEL: func.func @batches
// CHECK: nn.transpose
// CHECK: nn.matmul %{{.*}}, %arg1 :
func.func @batches(%a: tensor<5x3x4xf32>, %b: tensor<3x4x2xf32>) -> tensor<3x5x2xf32> {
  %0 = nn.transpose %a [1, 0, 2] : tensor<5x3x4xf32> -> tensor<3x5x4xf32>
  %1 = nn.matmul %0, %b : tensor<3x5x4xf32>, tensor<3x4x2xf32> -> tensor<3x5x2xf32>
  return %1 : tensor<3x5x2xf32>
}

// A transposed product is the product the other way round.
// CHECK-LABEL: func.func @result
// CHECK-NEXT: nn.matmul %arg1, %arg0 transpose_a transpose_b
// CHECK-NEXT: return
func.func @result(%a: tensor<5x4xf32>, %b: tensor<4x2xf32>) -> tensor<2x5xf32> {
  %0 = nn.matmul %a, %b : tensor<5x4xf32>, tensor<4x2xf32> -> tensor<5x2xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<5x2xf32> -> tensor<2x5xf32>
  return %1 : tensor<2x5xf32>
}

// One right operand for a whole batch makes one product of all rows.
// CHECK-LABEL: func.func @batch
// CHECK: nn.matmul %{{.*}}, %{{.*}} : tensor<15x4xf32>, tensor<4x2xf32> -> tensor<15x2xf32>
func.func @batch(%a: tensor<3x5x4xf32>, %w: tensor<1x4x2xf32>) -> tensor<3x5x2xf32> {
  %0 = nn.broadcast %w : tensor<1x4x2xf32> -> tensor<3x4x2xf32>
  %1 = nn.matmul %a, %0 : tensor<3x5x4xf32>, tensor<3x4x2xf32> -> tensor<3x5x2xf32>
  return %1 : tensor<3x5x2xf32>
}
