// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-elide-copies))' | FileCheck %s

// The copy of a kernel's result under another shape is a name for its bytes.
// CHECK-LABEL: nn.program @reshape
// CHECK: %[[T:.*]] = nn.kernel rows
// CHECK: %[[R:.*]] = nn.reshape %[[T]] : tensor<4x6xf32> -> tensor<3x8xf32>
// CHECK-NEXT: nn.matmul %[[R]],
nn.program @reshape(%x: tensor<6x4xf32>, %w: tensor<8x2xf32>) -> tensor<3x2xf32> {
  %0 = nn.kernel rows (%a = %x) : (tensor<6x4xf32>) -> tensor<4x6xf32> {
    %t = nn.transpose %a [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
    nn.yield %t : tensor<4x6xf32>
  }
  %1 = nn.kernel rows (%a = %0) : (tensor<4x6xf32>) -> tensor<3x8xf32> {
    %r = nn.reshape %a : tensor<4x6xf32> -> tensor<3x8xf32>
    nn.yield %r : tensor<3x8xf32>
  }
  %2 = nn.matmul %1, %w : tensor<3x8xf32>, tensor<8x2xf32> -> tensor<3x2xf32>
  nn.return %2 : tensor<3x2xf32>
}

// So is one through other views that leave every element in its place: moved
// dimensions of size 1, and padding that is cut off again. Reshapes do not
// nest, and where the type is the same there is none.
// CHECK-LABEL: nn.program @views
// CHECK: %[[M:.*]] = nn.matmul
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[M]] : tensor<4x2xf32> -> tensor<1x4x2xf32>
// CHECK-NEXT: %[[S:.*]] = nn.reshape %[[M]] : tensor<4x2xf32> -> tensor<4x1x2xf32>
// CHECK-NEXT: nn.return %[[M]], %[[R]], %[[S]]
nn.program @views(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> (tensor<4x2xf32>, tensor<1x4x2xf32>, tensor<4x1x2xf32>) {
  %0 = nn.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    %p = nn.pad %a [1, 0] value 0.0 : f32 : tensor<4x2xf32> -> tensor<6x2xf32>
    %s = nn.slice %p [1, 0] step [1, 1] : tensor<6x2xf32> -> tensor<4x2xf32>
    nn.yield %s : tensor<4x2xf32>
  }
  %2 = nn.reshape %0 : tensor<4x2xf32> -> tensor<1x4x2xf32>
  %3 = nn.kernel rows (%a = %2) : (tensor<1x4x2xf32>) -> tensor<4x1x2xf32> {
    %t = nn.transpose %a [1, 0, 2] : tensor<1x4x2xf32> -> tensor<4x1x2xf32>
    nn.yield %t : tensor<4x1x2xf32>
  }
  nn.return %1, %2, %3 : tensor<4x2xf32>, tensor<1x4x2xf32>, tensor<4x1x2xf32>
}

// A copy of a copy.
// CHECK-LABEL: nn.program @chain
// CHECK: %[[M:.*]] = nn.matmul
// CHECK-NEXT: %{{.*}} = nn.reshape %[[M]] : tensor<4x2xf32> -> tensor<8xf32>
// CHECK-NEXT: %[[S:.*]] = nn.reshape %[[M]] : tensor<4x2xf32> -> tensor<2x4xf32>
// CHECK-NEXT: nn.return %[[S]]
nn.program @chain(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> tensor<2x4xf32> {
  %0 = nn.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<8xf32> {
    %r = nn.reshape %a : tensor<4x2xf32> -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %2 = nn.kernel rows (%a = %1) : (tensor<8xf32>) -> tensor<2x4xf32> {
    %r = nn.reshape %a : tensor<8xf32> -> tensor<2x4xf32>
    nn.yield %r : tensor<2x4xf32>
  }
  nn.return %2 : tensor<2x4xf32>
}

// An op that moves, drops, repeats, reverses, pads or chooses elements is a
// copy.
// CHECK-LABEL: nn.program @moves
// CHECK-COUNT-6: nn.kernel rows
// CHECK: nn.return
nn.program @moves(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %i: tensor<4xi64>)
    -> (tensor<2x4xf32>, tensor<3x2xf32>, tensor<2x4x2xf32>, tensor<4x2xf32>, tensor<5x2xf32>, tensor<4x2xf32>) {
  %0 = nn.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<2x4xf32> {
    %t = nn.transpose %a [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
    nn.yield %t : tensor<2x4xf32>
  }
  %2 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<3x2xf32> {
    %s = nn.slice %a [0, 0] step [1, 1] : tensor<4x2xf32> -> tensor<3x2xf32>
    nn.yield %s : tensor<3x2xf32>
  }
  %3 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<2x4x2xf32> {
    %r = nn.reshape %a : tensor<4x2xf32> -> tensor<1x4x2xf32>
    %b = nn.broadcast %r : tensor<1x4x2xf32> -> tensor<2x4x2xf32>
    nn.yield %b : tensor<2x4x2xf32>
  }
  %4 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    %s = nn.slice %a [3, 0] step [-1, 1] : tensor<4x2xf32> -> tensor<4x2xf32>
    nn.yield %s : tensor<4x2xf32>
  }
  %5 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<5x2xf32> {
    %p = nn.pad %a [0, 0] value 0.0 : f32 : tensor<4x2xf32> -> tensor<5x2xf32>
    nn.yield %p : tensor<5x2xf32>
  }
  %6 = nn.kernel rows (%a = %0, %k = %i) : (tensor<4x2xf32>, tensor<4xi64>) -> tensor<4x2xf32> {
    %g = nn.gather %a, %k : tensor<4x2xf32>, tensor<4xi64> -> tensor<4x2xf32>
    nn.yield %g : tensor<4x2xf32>
  }
  nn.return %1, %2, %3, %4, %5, %6 : tensor<2x4xf32>, tensor<3x2xf32>, tensor<2x4x2xf32>, tensor<4x2xf32>, tensor<5x2xf32>, tensor<4x2xf32>
}

// As many elements as there are, but not those, or not in their order: the first
// row cut off and one put behind, the last one made zeros, half of them twice,
// all from the last to the first. And where only one row can be chosen, the
// index is still looked at.
// CHECK-LABEL: nn.program @same_count
// CHECK-COUNT-5: nn.kernel rows
// CHECK: nn.return
nn.program @same_count(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>, %i: tensor<1xi64>)
    -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2x2xf32>, tensor<8xf32>, tensor<1x8xf32>) {
  %0 = nn.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    %p = nn.pad %a [0, 0] value 0.0 : f32 : tensor<4x2xf32> -> tensor<5x2xf32>
    %s = nn.slice %p [1, 0] step [1, 1] : tensor<5x2xf32> -> tensor<4x2xf32>
    nn.yield %s : tensor<4x2xf32>
  }
  %2 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<2x2x2xf32> {
    %s = nn.slice %a [0, 0] step [1, 1] : tensor<4x2xf32> -> tensor<2x2xf32>
    %r = nn.reshape %s : tensor<2x2xf32> -> tensor<1x2x2xf32>
    %b = nn.broadcast %r : tensor<1x2x2xf32> -> tensor<2x2x2xf32>
    nn.yield %b : tensor<2x2x2xf32>
  }
  %3 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<4x2xf32> {
    %s = nn.slice %a [0, 0] step [1, 1] : tensor<4x2xf32> -> tensor<3x2xf32>
    %p = nn.pad %s [0, 0] value 0.0 : f32 : tensor<3x2xf32> -> tensor<4x2xf32>
    nn.yield %p : tensor<4x2xf32>
  }
  %4 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<8xf32> {
    %r = nn.reshape %a : tensor<4x2xf32> -> tensor<8xf32>
    %s = nn.slice %r [7] step [-1] : tensor<8xf32> -> tensor<8xf32>
    nn.yield %s : tensor<8xf32>
  }
  %5 = nn.kernel rows (%a = %0, %k = %i) : (tensor<4x2xf32>, tensor<1xi64>) -> tensor<1x8xf32> {
    %r = nn.reshape %a : tensor<4x2xf32> -> tensor<1x8xf32>
    %g = nn.gather %r, %k : tensor<1x8xf32>, tensor<1xi64> -> tensor<1x8xf32>
    nn.yield %g : tensor<1x8xf32>
  }
  nn.return %1, %3, %2, %4, %5 : tensor<4x2xf32>, tensor<4x2xf32>, tensor<2x2x2xf32>, tensor<8xf32>, tensor<1x8xf32>
}

// A kernel that computes, fills, or has a result besides.
// CHECK-LABEL: nn.program @kernels
// CHECK-COUNT-3: nn.kernel rows
// CHECK: nn.return
nn.program @kernels(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %0 = nn.matmul %x, %w : tensor<4x3xf32>, tensor<3x2xf32> -> tensor<4x2xf32>
  %1 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> tensor<8xf32> {
    %r = nn.reshape %a : tensor<4x2xf32> -> tensor<8xf32>
    %e = nn.unary exp %r : tensor<8xf32> -> tensor<8xf32>
    nn.yield %e : tensor<8xf32>
  }
  %2 = nn.kernel rows () : () -> tensor<8xf32> {
    %c = nn.constant dense<1.0> : tensor<8xf32>
    nn.yield %c : tensor<8xf32>
  }
  %3:2 = nn.kernel rows (%a = %0) : (tensor<4x2xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %r = nn.reshape %a : tensor<4x2xf32> -> tensor<8xf32>
    %e = nn.unary log %r : tensor<8xf32> -> tensor<8xf32>
    nn.yield %r, %e : tensor<8xf32>, tensor<8xf32>
  }
  nn.return %1, %2, %3#0, %3#1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// An argument may be a state that is updated, and a gathered parameter is
// released: what was copied of them outlives them.
// CHECK-LABEL: nn.program @others
// CHECK-COUNT-2: nn.kernel rows
// CHECK: zero.release
nn.program @others(%x: tensor<4x3xf32>, %shard: tensor<256xf32>) -> (tensor<12xf32>, tensor<16x16xf32>) {
  %0 = nn.kernel rows (%a = %x) : (tensor<4x3xf32>) -> tensor<12xf32> {
    %r = nn.reshape %a : tensor<4x3xf32> -> tensor<12xf32>
    nn.yield %r : tensor<12xf32>
  }
  %flat = zero.all_gather %shard unit 0 group ["data"] reason "forward of m" : tensor<256xf32> -> tensor<512xf32>
  %w = zero.view %flat[256] : tensor<512xf32> -> tensor<256xf32>
  %1 = nn.kernel rows (%a = %w) : (tensor<256xf32>) -> tensor<16x16xf32> {
    %r = nn.reshape %a : tensor<256xf32> -> tensor<16x16xf32>
    nn.yield %r : tensor<16x16xf32>
  }
  zero.release %flat unit 0 : tensor<512xf32>
  nn.return %0, %1 : tensor<12xf32>, tensor<16x16xf32>
}

// A reduction in place writes over what the copy kept.
// CHECK-LABEL: nn.program @overwritten
// CHECK-COUNT-2: nn.kernel rows
// CHECK: zero.reduce_scatter
nn.program @overwritten(%x: tensor<512xf32>) -> (tensor<32x16xf32>, tensor<256xf32>) {
  %0 = nn.kernel rows (%a = %x) : (tensor<512xf32>) -> tensor<16x32xf32> {
    %r = nn.reshape %a : tensor<512xf32> -> tensor<16x32xf32>
    %e = nn.unary exp %r : tensor<16x32xf32> -> tensor<16x32xf32>
    nn.yield %e : tensor<16x32xf32>
  }
  %1 = nn.kernel rows (%a = %0) : (tensor<16x32xf32>) -> tensor<32x16xf32> {
    %r = nn.reshape %a : tensor<16x32xf32> -> tensor<32x16xf32>
    nn.yield %r : tensor<32x16xf32>
  }
  %2 = nn.reshape %0 : tensor<16x32xf32> -> tensor<512xf32>
  %3 = zero.reduce_scatter %2 unit 0 segment 0 group ["data"] reason "gradients of m" in_place : tensor<512xf32> -> tensor<256xf32>
  nn.return %1, %3 : tensor<32x16xf32>, tensor<256xf32>
}
