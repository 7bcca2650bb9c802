// RUN: zerograph-opt %s --split-input-file --nn-slice-products --canonicalize | FileCheck %s

// The last row of each sample is dropped before the product; a bias and a
// conversion stand between.

// CHECK-LABEL: nn.program @forward
// CHECK: %[[B:.+]] = nn.broadcast %b : tensor<1x40xf32> -> tensor<14x40xf32>
// CHECK: %[[X3:.+]] = nn.reshape %x : tensor<16x4xf32> -> tensor<2x8x4xf32>
// CHECK: %[[LEFT:.+]] = nn.slice %[[X3]] [0, 0, 0] step [1, 1, 1] : tensor<2x8x4xf32> -> tensor<2x7x4xf32>
// CHECK: %[[ROWS:.+]] = nn.reshape %[[LEFT]] : tensor<2x7x4xf32> -> tensor<14x4xf32>
// CHECK: %[[PRODUCT:.+]] = nn.matmul %[[ROWS]], %w : tensor<14x4xf32>, tensor<4x40xf32> -> tensor<14x40xf32>
// CHECK: %[[SUM:.+]] = nn.binary add %[[PRODUCT]], %[[B]] : tensor<14x40xf32>
// CHECK: %[[Y:.+]] = nn.reshape %[[SUM]] : tensor<14x40xf32> -> tensor<2x7x40xf32>
// CHECK: nn.return %[[Y]]
nn.program @forward(%x: tensor<16x4xf32>, %w: tensor<4x40xf32>, %b: tensor<1x40xf32>) -> tensor<2x7x40xf32> {
  %0 = nn.matmul %x, %w : tensor<16x4xf32>, tensor<4x40xf32> -> tensor<16x40xf32>
  %1 = nn.broadcast %b : tensor<1x40xf32> -> tensor<16x40xf32>
  %2 = nn.binary add %0, %1 : tensor<16x40xf32>
  %3 = nn.reshape %2 : tensor<16x40xf32> -> tensor<2x8x40xf32>
  %4 = nn.slice %3 [0, 0, 0] step [1, 1, 1] : tensor<2x8x40xf32> -> tensor<2x7x40xf32>
  nn.return %4 : tensor<2x7x40xf32>
}

// One row of each sample: as many rows as samples, and as [samples, 1, ...] too.

// CHECK-LABEL: nn.program @first
// CHECK: %[[LEFT:.+]] = nn.slice %x [0, 0, 0] step [1, 1, 1] : tensor<2x8x4xf32> -> tensor<2x1x4xf32>
// CHECK: %[[ROWS:.+]] = nn.reshape %[[LEFT]] : tensor<2x1x4xf32> -> tensor<2x4xf32>
// CHECK: nn.matmul %[[ROWS]], %w : tensor<2x4xf32>, tensor<4x40xf32> -> tensor<2x40xf32>
nn.program @first(%x: tensor<2x8x4xf32>, %w: tensor<4x40xf32>) -> tensor<2x1x40xf32> {
  %0 = nn.reshape %x : tensor<2x8x4xf32> -> tensor<16x4xf32>
  %1 = nn.matmul %0, %w : tensor<16x4xf32>, tensor<4x40xf32> -> tensor<16x40xf32>
  %2 = nn.reshape %1 : tensor<16x40xf32> -> tensor<2x8x40xf32>
  %3 = nn.slice %2 [0, 0, 0] step [1, 1, 1] : tensor<2x8x40xf32> -> tensor<2x1x40xf32>
  nn.return %3 : tensor<2x1x40xf32>
}

// -----

// A product that is read whole too stays, columns are not rows, and nothing is
// gained where rows do not become wider.

// CHECK-LABEL: nn.program @read
// CHECK: nn.matmul %x, %w : tensor<16x4xf32>
// CHECK: nn.slice
nn.program @read(%x: tensor<16x4xf32>, %w: tensor<4x40xf32>) -> (tensor<16x40xf32>, tensor<7x40xf32>) {
  %0 = nn.matmul %x, %w : tensor<16x4xf32>, tensor<4x40xf32> -> tensor<16x40xf32>
  %1 = nn.slice %0 [1, 0] step [1, 1] : tensor<16x40xf32> -> tensor<7x40xf32>
  nn.return %0, %1 : tensor<16x40xf32>, tensor<7x40xf32>
}

// CHECK-LABEL: nn.program @columns
// CHECK: nn.matmul %x, %w : tensor<16x4xf32>
// CHECK: nn.slice
nn.program @columns(%x: tensor<16x4xf32>, %w: tensor<4x40xf32>) -> tensor<7x8xf32> {
  %0 = nn.matmul %x, %w : tensor<16x4xf32>, tensor<4x40xf32> -> tensor<16x40xf32>
  %1 = nn.slice %0 [1, 4] step [1, 1] : tensor<16x40xf32> -> tensor<7x8xf32>
  nn.return %1 : tensor<7x8xf32>
}

// CHECK-LABEL: nn.program @narrow
// CHECK: nn.matmul %x, %w : tensor<16x40xf32>
// CHECK: nn.slice
nn.program @narrow(%x: tensor<16x40xf32>, %w: tensor<40x4xf32>) -> tensor<7x4xf32> {
  %0 = nn.matmul %x, %w : tensor<16x40xf32>, tensor<40x4xf32> -> tensor<16x4xf32>
  %1 = nn.slice %0 [1, 0] step [2, 1] : tensor<16x4xf32> -> tensor<7x4xf32>
  nn.return %1 : tensor<7x4xf32>
}
