// RUN: zerograph-opt %s --canonicalize --split-input-file | FileCheck %s

// Only folds that keep every bit.

// CHECK-LABEL: nn.program @identities
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x8xf32>, %[[N:[^:]+]]: tensor<4xi64>
// CHECK: nn.return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[N]], %[[N]]
nn.program @identities(%x: tensor<4x8xf32>, %n: tensor<4xi64>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
        tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
        tensor<4xi64>, tensor<4xi64>) {
  %one = nn.constant dense<1.0> : tensor<4x8xf32>
  %zero = nn.constant dense<0> : tensor<4xi64>
  %0 = nn.binary mul %x, %one : tensor<4x8xf32>
  %1 = nn.binary mul %one, %x : tensor<4x8xf32>
  %2 = nn.binary div %x, %one : tensor<4x8xf32>
  %3 = nn.convert %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = nn.broadcast %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %5 = nn.slice %x [0, 0] step [1, 1] : tensor<4x8xf32> -> tensor<4x8xf32>
  %6 = nn.concat %x dim 0 : tensor<4x8xf32> -> tensor<4x8xf32>
  %7 = nn.transpose %x [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %8 = nn.transpose %7 [1, 0] : tensor<8x4xf32> -> tensor<4x8xf32>
  %9 = nn.binary add %zero, %n : tensor<4xi64>
  %10 = nn.binary sub %n, %zero : tensor<4xi64>
  nn.return %0, %1, %2, %3, %4, %5, %6, %8, %9, %10
      : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
        tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>,
        tensor<4xi64>, tensor<4xi64>
}

// -----

// f32 holds every number of 16 bits, and these do not hold every one of f32.

// CHECK-LABEL: nn.program @widened
// CHECK-SAME: %[[H:[^:]+]]: tensor<4xbf16>, %[[X:[^:]+]]: tensor<4xf32>
// CHECK: %[[ROUNDED:.+]] = nn.convert %[[X]]
// CHECK: %[[WIDE:.+]] = nn.convert %[[ROUNDED]]
// CHECK: nn.return %[[H]], %[[WIDE]]
nn.program @widened(%h: tensor<4xbf16>, %x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0 = nn.convert %h : tensor<4xbf16> -> tensor<4xf32>
  %1 = nn.convert %0 : tensor<4xf32> -> tensor<4xbf16>
  %2 = nn.convert %x : tensor<4xf32> -> tensor<4xbf16>
  %3 = nn.convert %2 : tensor<4xbf16> -> tensor<4xf32>
  nn.return %1, %3 : tensor<4xbf16>, tensor<4xf32>
}

// -----

// They are widened after a move of all elements, not before it; unless something
// else reads them wide.

// CHECK-LABEL: nn.program @moved
// CHECK-SAME: %[[H:[^:]+]]: tensor<4xbf16>, %[[G:[^:]+]]: tensor<4xf16>
// CHECK: %[[AGAIN:.+]] = nn.reshape %[[H]] : tensor<4xbf16> -> tensor<2x2xbf16>
// CHECK: %[[TURNED:.+]] = nn.transpose %[[AGAIN]] [1, 0] : tensor<2x2xbf16>
// CHECK: %[[WIDE:.+]] = nn.convert %[[G]]
// CHECK: %[[KEPT:.+]] = nn.reshape %[[WIDE]] : tensor<4xf32> -> tensor<2x2xf32>
// CHECK: nn.return %[[TURNED]], %[[KEPT]], %[[WIDE]]
nn.program @moved(%h: tensor<4xbf16>, %g: tensor<4xf16>) -> (tensor<2x2xbf16>, tensor<2x2xf32>, tensor<4xf32>) {
  %0 = nn.convert %h : tensor<4xbf16> -> tensor<4xf32>
  %1 = nn.reshape %0 : tensor<4xf32> -> tensor<2x2xf32>
  %2 = nn.transpose %1 [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  %3 = nn.convert %2 : tensor<2x2xf32> -> tensor<2x2xbf16>
  %4 = nn.convert %g : tensor<4xf16> -> tensor<4xf32>
  %5 = nn.reshape %4 : tensor<4xf32> -> tensor<2x2xf32>
  nn.return %3, %5, %4 : tensor<2x2xbf16>, tensor<2x2xf32>, tensor<4xf32>
}

// -----

// x + 0 is not x where x is -0.

// CHECK-LABEL: nn.program @float_zero
// CHECK: nn.binary add
nn.program @float_zero(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = nn.constant dense<0.0> : tensor<4xf32>
  %0 = nn.binary add %x, %zero : tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// A slice of the whole that turns it around moves elements.

// CHECK-LABEL: nn.program @reversed
// CHECK: nn.slice
nn.program @reversed(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.slice %x [3] step [-1] : tensor<4xf32> -> tensor<4xf32>
  nn.return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: nn.program @reshapes
// CHECK-NEXT: %[[Y:.*]] = nn.reshape %{{.*}} : tensor<4x8xf32> -> tensor<2x16xf32>
// CHECK-NEXT: nn.return %[[Y]]
nn.program @reshapes(%x: tensor<4x8xf32>) -> tensor<2x16xf32> {
  %0 = nn.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  %1 = nn.reshape %0 : tensor<32xf32> -> tensor<2x16xf32>
  nn.return %1 : tensor<2x16xf32>
}

// -----

// Constants move through ops of shape, splats of any size.

// CHECK-LABEL: nn.program @splat
// CHECK-NEXT: %[[C:.*]] = nn.constant dense<2.000000e+00> : tensor<8192x4096xf32>
// CHECK-NEXT: nn.return %[[C]]
nn.program @splat() -> tensor<8192x4096xf32> {
  %0 = nn.constant dense<2.0> : tensor<f32>
  %1 = nn.reshape %0 : tensor<f32> -> tensor<1x1xf32>
  %2 = nn.broadcast %1 : tensor<1x1xf32> -> tensor<4096x8192xf32>
  %3 = nn.transpose %2 [1, 0] : tensor<4096x8192xf32> -> tensor<8192x4096xf32>
  nn.return %3 : tensor<8192x4096xf32>
}
