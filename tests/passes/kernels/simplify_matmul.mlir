// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-simplify-matmul))' | FileCheck %s

// The transposition of a key that also moves its heads leaves the move, with
// the innermost dimension in place, and a flag.
// CHECK-LABEL: nn.program @heads
// CHECK: %[[K:.*]] = nn.transpose %k [0, 2, 1, 3]
// CHECK: nn.matmul %q, %[[K]] transpose_b
nn.program @heads(%q: tensor<2x3x5x4xf32>, %k: tensor<2x5x3x4xf32>) -> tensor<2x3x5x5xf32> {
  %0 = nn.transpose %k [0, 2, 3, 1] : tensor<2x5x3x4xf32> -> tensor<2x3x4x5xf32>
  %1 = nn.matmul %q, %0 : tensor<2x3x5x4xf32>, tensor<2x3x4x5xf32> -> tensor<2x3x5x5xf32>
  nn.return %1 : tensor<2x3x5x5xf32>
}

// A transposition of batches alone stays.
// CHECK-LABEL: nn.program @batches
// CHECK: nn.transpose
// CHECK: nn.matmul %{{.*}}, %b :
nn.program @batches(%a: tensor<5x3x4xf32>, %b: tensor<3x4x2xf32>) -> tensor<3x5x2xf32> {
  %0 = nn.transpose %a [1, 0, 2] : tensor<5x3x4xf32> -> tensor<3x5x4xf32>
  %1 = nn.matmul %0, %b : tensor<3x5x4xf32>, tensor<3x4x2xf32> -> tensor<3x5x2xf32>
  nn.return %1 : tensor<3x5x2xf32>
}

// A transposed product is the product the other way round.
// CHECK-LABEL: nn.program @result
// CHECK-NEXT: nn.matmul %b, %a transpose_a transpose_b
// CHECK-NEXT: nn.return
nn.program @result(%a: tensor<5x4xf32>, %b: tensor<4x2xf32>) -> tensor<2x5xf32> {
  %0 = nn.matmul %a, %b : tensor<5x4xf32>, tensor<4x2xf32> -> tensor<5x2xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<5x2xf32> -> tensor<2x5xf32>
  nn.return %1 : tensor<2x5xf32>
}

// One right operand for a whole batch makes one product of all rows.
// CHECK-LABEL: nn.program @batch
// CHECK: nn.matmul %{{.*}}, %{{.*}} : tensor<15x4xf32>, tensor<4x2xf32> -> tensor<15x2xf32>
nn.program @batch(%a: tensor<3x5x4xf32>, %w: tensor<1x4x2xf32>) -> tensor<3x5x2xf32> {
  %0 = nn.broadcast %w : tensor<1x4x2xf32> -> tensor<3x4x2xf32>
  %1 = nn.matmul %a, %0 : tensor<3x5x4xf32>, tensor<3x4x2xf32> -> tensor<3x5x2xf32>
  nn.return %1 : tensor<3x5x2xf32>
}
