// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-store-beside-columns,nn-verify-kernels))' | FileCheck %s

// The gradient of an activation, which a product reads, and of a bias: one
// kernel stores the first and adds up its columns.
// CHECK-LABEL: nn.program @bias
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[DY:.*]]: tensor<6x4xf32>, %[[W:.*]]:
// CHECK-NEXT: %[[K:.*]]:2 = nn.kernel columns (%[[A:.*]] = %[[X]], %[[B:.*]] = %[[DY]]) : (tensor<2x3x4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<1x4xf32>) {
// CHECK-NEXT:   %[[R:.*]] = nn.reshape %[[A]]
// CHECK-NEXT:   %[[G:.*]] = nn.binary mul %[[R]], %[[B]]
// CHECK-NEXT:   %[[S:.*]] = nn.reduce sum %[[G]] [0]
// CHECK-NEXT:   nn.yield %[[G]], %[[S]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[P:.*]] = nn.matmul %[[K]]#0, %[[W]]
// CHECK-NEXT: nn.return %[[P]], %[[K]]#1
nn.program @bias(%x: tensor<2x3x4xf32>, %dy: tensor<6x4xf32>, %w: tensor<4x5xf32>) -> (tensor<6x5xf32>, tensor<1x4xf32>) {
  %g = nn.kernel rows (%a = %x, %b = %dy) : (tensor<2x3x4xf32>, tensor<6x4xf32>) -> tensor<6x4xf32> {
    %r = nn.reshape %a : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %m = nn.binary mul %r, %b : tensor<6x4xf32>
    nn.yield %m : tensor<6x4xf32>
  }
  %p = nn.matmul %g, %w : tensor<6x4xf32>, tensor<4x5xf32> -> tensor<6x5xf32>
  %db = nn.kernel columns (%a = %g) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %p, %db : tensor<6x5xf32>, tensor<1x4xf32>
}

// A buffer that is read by another name has that shape within the kernel too, and
// one that both read is read once. No name is left over.
// CHECK-LABEL: nn.program @names
// CHECK-NEXT: nn.kernel columns (%[[A:.*]] = %x) : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x4xf32>) {
// CHECK-NEXT:   %[[G:.*]] = nn.unary exp %[[A]]
// CHECK-NEXT:   %[[GR:.*]] = nn.reshape %[[G]] : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT:   %[[XR:.*]] = nn.reshape %[[A]] : tensor<2x3x4xf32> -> tensor<6x4xf32>
// CHECK-NEXT:   nn.binary mul %[[GR]], %[[XR]]
// CHECK:      }
// CHECK-NEXT: nn.return
nn.program @names(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<1x4xf32>) {
  %g = nn.kernel rows (%a = %x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
    %e = nn.unary exp %a : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    nn.yield %e : tensor<2x3x4xf32>
  }
  %gr = nn.reshape %g : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %xr = nn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %db = nn.kernel columns (%a = %gr, %b = %xr) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<1x4xf32> {
    %m = nn.binary mul %a, %b : tensor<6x4xf32>
    %s = nn.reduce sum %m [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %g, %db : tensor<2x3x4xf32>, tensor<1x4xf32>
}

// A kernel with a number of each row stays, and so does one that makes less
// than the other goes over.
// CHECK-LABEL: nn.program @rows
// CHECK: nn.kernel rows
// CHECK: nn.kernel columns
// CHECK: nn.kernel rows
// CHECK: nn.kernel columns
nn.program @rows(%x: tensor<6x4xf32>, %y: tensor<4xf32>) -> (tensor<6x4xf32>, tensor<1x4xf32>, tensor<4xf32>, tensor<1x4xf32>) {
  %g = nn.kernel rows (%a = %x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
    %t = nn.reduce max %a [1] : tensor<6x4xf32> -> tensor<6x1xf32>
    %u = nn.broadcast %t : tensor<6x1xf32> -> tensor<6x4xf32>
    %v = nn.binary sub %a, %u : tensor<6x4xf32>
    nn.yield %v : tensor<6x4xf32>
  }
  %dg = nn.kernel columns (%a = %g) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %h = nn.kernel rows (%a = %y) : (tensor<4xf32>) -> tensor<4xf32> {
    %e = nn.unary exp %a : tensor<4xf32> -> tensor<4xf32>
    nn.yield %e : tensor<4xf32>
  }
  %dh = nn.kernel columns (%a = %x, %b = %h) : (tensor<6x4xf32>, tensor<4xf32>) -> tensor<1x4xf32> {
    %r = nn.reshape %b : tensor<4xf32> -> tensor<1x4xf32>
    %w = nn.broadcast %r : tensor<1x4xf32> -> tensor<6x4xf32>
    %m = nn.binary mul %a, %w : tensor<6x4xf32>
    %s = nn.reduce sum %m [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %g, %dg, %h, %dh : tensor<6x4xf32>, tensor<1x4xf32>, tensor<4xf32>, tensor<1x4xf32>
}

// The other matrix that is added up is not there yet where the first kernel
// stands.
// CHECK-LABEL: nn.program @late
// CHECK: nn.kernel rows
// CHECK: nn.matmul
// CHECK: nn.kernel columns
nn.program @late(%x: tensor<6x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x4xf32> {
  %g = nn.kernel rows (%a = %x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
    %e = nn.unary exp %a : tensor<6x4xf32> -> tensor<6x4xf32>
    nn.yield %e : tensor<6x4xf32>
  }
  %p = nn.matmul %g, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  %db = nn.kernel columns (%a = %g, %b = %p) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<1x4xf32> {
    %m = nn.binary mul %a, %b : tensor<6x4xf32>
    %s = nn.reduce sum %m [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %db : tensor<1x4xf32>
}

// Several runs of rows stay, and what is one row.
// CHECK-LABEL: nn.program @runs
// CHECK: nn.kernel rows
// CHECK: nn.kernel columns
nn.program @runs(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x1x4xf32>) {
  %g = nn.kernel rows (%a = %x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
    %e = nn.unary exp %a : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    nn.yield %e : tensor<2x3x4xf32>
  }
  %db = nn.kernel columns (%a = %g) : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32> {
    %s = nn.reduce sum %a [1] : tensor<2x3x4xf32> -> tensor<2x1x4xf32>
    nn.yield %s : tensor<2x1x4xf32>
  }
  nn.return %g, %db : tensor<2x3x4xf32>, tensor<2x1x4xf32>
}

// Rows of zeros between those that are read, by another name: their places have
// no one formula, so the sum reads what was stored.
// CHECK-LABEL: nn.program @padded
// CHECK: nn.kernel rows
// CHECK: nn.kernel columns
nn.program @padded(%x: tensor<5x2x4xf32>) -> (tensor<5x3x4xf32>, tensor<1x4xf32>) {
  %g = nn.kernel rows (%a = %x) : (tensor<5x2x4xf32>) -> tensor<5x3x4xf32> {
    %p = nn.pad %a [0, 1, 0] value 0.000000e+00 : f32 : tensor<5x2x4xf32> -> tensor<5x3x4xf32>
    %e = nn.unary exp %p : tensor<5x3x4xf32> -> tensor<5x3x4xf32>
    nn.yield %e : tensor<5x3x4xf32>
  }
  %gr = nn.reshape %g : tensor<5x3x4xf32> -> tensor<15x4xf32>
  %db = nn.kernel columns (%a = %gr) : (tensor<15x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<15x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %g, %db : tensor<5x3x4xf32>, tensor<1x4xf32>
}

// An element that is read in another place would be computed a second time.
// CHECK-LABEL: nn.program @transposed
// CHECK: nn.kernel rows
// CHECK: nn.kernel columns
nn.program @transposed(%x: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<1x6xf32>) {
  %g = nn.kernel rows (%a = %x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
    %e = nn.unary exp %a : tensor<6x4xf32> -> tensor<6x4xf32>
    nn.yield %e : tensor<6x4xf32>
  }
  %db = nn.kernel columns (%a = %g) : (tensor<6x4xf32>) -> tensor<1x6xf32> {
    %n = nn.unary neg %a : tensor<6x4xf32> -> tensor<6x4xf32>
    %t = nn.transpose %n [1, 0] : tensor<6x4xf32> -> tensor<4x6xf32>
    %s = nn.reduce sum %t [0] : tensor<4x6xf32> -> tensor<1x6xf32>
    nn.yield %s : tensor<1x6xf32>
  }
  nn.return %g, %db : tensor<6x4xf32>, tensor<1x6xf32>
}

// A name that the second kernel reads twice goes once.
// CHECK-LABEL: nn.program @twice
// CHECK-NEXT: nn.kernel columns
// CHECK: nn.yield
// CHECK-NEXT: }
// CHECK-NEXT: nn.return
nn.program @twice(%x: tensor<2x3x4xf32>) -> (tensor<6x4xf32>, tensor<1x4xf32>) {
  %g = nn.kernel rows (%a = %x) : (tensor<2x3x4xf32>) -> tensor<6x4xf32> {
    %r = nn.reshape %a : tensor<2x3x4xf32> -> tensor<6x4xf32>
    %e = nn.unary exp %r : tensor<6x4xf32> -> tensor<6x4xf32>
    nn.yield %e : tensor<6x4xf32>
  }
  %xr = nn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %db = nn.kernel columns (%a = %g, %b = %xr, %c = %xr) : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<1x4xf32> {
    %m = nn.binary mul %a, %b : tensor<6x4xf32>
    %n = nn.binary mul %m, %c : tensor<6x4xf32>
    %s = nn.reduce sum %n [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %g, %db : tensor<6x4xf32>, tensor<1x4xf32>
}
