// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-join-columns,nn-verify-kernels))' | FileCheck %s

// The second finds what it reads already there: both stand in the place of the first,
// and a matrix that both read is read once.
// CHECK-LABEL: nn.program @ready
// CHECK-SAME: (%[[X:.*]]: tensor<6x4xf32>, %[[DY:.*]]: tensor<6x4xf32>, %{{.*}}: tensor<4x5xf32>)
// CHECK-NEXT: %[[K:.*]]:2 = nn.kernel columns (%[[A:.*]] = %[[X]], %[[B:.*]] = %[[DY]]) : (tensor<6x4xf32>, tensor<6x4xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
// CHECK-NEXT:   %[[M:.*]] = nn.binary mul %[[A]], %[[B]]
// CHECK-NEXT:   %[[S:.*]] = nn.reduce sum %[[M]] [0]
// CHECK-NEXT:   %[[T:.*]] = nn.reduce sum %[[B]] [0]
// CHECK-NEXT:   nn.yield %[[S]], %[[T]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[P:.*]] = nn.matmul
// CHECK-NEXT: nn.return %[[P]], %[[K]]#0, %[[K]]#1
nn.program @ready(%x: tensor<6x4xf32>, %dy: tensor<6x4xf32>, %w: tensor<4x5xf32>) -> (tensor<6x5xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %ds = nn.kernel columns (%a = %x, %b = %dy) : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<1x4xf32> {
    %m = nn.binary mul %a, %b : tensor<6x4xf32>
    %s = nn.reduce sum %m [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %p = nn.matmul %dy, %w : tensor<6x4xf32>, tensor<4x5xf32> -> tensor<6x5xf32>
  %db = nn.kernel columns (%a = %dy) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %p, %ds, %db : tensor<6x5xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// The second reads what is made after the first, which can wait; a name of its
// result comes along. A third joins too.
// CHECK-LABEL: nn.program @waits
// CHECK-NEXT: %[[E:.*]] = nn.kernel rows
// CHECK:      }
// CHECK-NEXT: %[[K:.*]]:3 = nn.kernel columns (%{{.*}} = %x, %{{.*}} = %[[E]])
// CHECK:      }
// CHECK-NEXT: %[[N:.*]] = nn.reshape %[[K]]#0 : tensor<1x4xf32> -> tensor<4xf32>
// CHECK-NEXT: nn.return %[[N]], %[[K]]#1, %[[K]]#2
nn.program @waits(%x: tensor<6x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %ds = nn.kernel columns (%a = %x) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %n = nn.reshape %ds : tensor<1x4xf32> -> tensor<4xf32>
  %e = nn.kernel rows (%a = %x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
    %r = nn.unary exp %a : tensor<6x4xf32> -> tensor<6x4xf32>
    nn.yield %r : tensor<6x4xf32>
  }
  %db = nn.kernel columns (%a = %e) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %dc = nn.kernel columns (%a = %e) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce max %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %n, %db, %dc : tensor<4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// The first is read before what the second reads is there.
// CHECK-LABEL: nn.program @between
// CHECK: nn.kernel columns
// CHECK: nn.kernel rows
// CHECK: nn.kernel columns
nn.program @between(%x: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<1x4xf32>) {
  %m = nn.kernel columns (%a = %x) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce max %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %e = nn.kernel rows (%a = %x, %b = %m) : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32> {
    %c = nn.broadcast %b : tensor<1x4xf32> -> tensor<6x4xf32>
    %r = nn.binary sub %a, %c : tensor<6x4xf32>
    nn.yield %r : tensor<6x4xf32>
  }
  %t = nn.kernel columns (%a = %e) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %e, %t : tensor<6x4xf32>, tensor<1x4xf32>
}

// The first might read what is released.
// CHECK-LABEL: nn.program @released
// CHECK: nn.kernel columns
// CHECK: nn.kernel rows
// CHECK: zero.release
// CHECK: nn.kernel columns
nn.program @released(%x: tensor<6x4xf32>, %flat: tensor<4096xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>) {
  %a = nn.kernel columns (%a_0 = %x) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a_0 [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %e = nn.kernel rows (%e_0 = %x) : (tensor<6x4xf32>) -> tensor<6x4xf32> {
    %r = nn.unary exp %e_0 : tensor<6x4xf32> -> tensor<6x4xf32>
    nn.yield %r : tensor<6x4xf32>
  }
  zero.release %flat unit 0 : tensor<4096xf32>
  %b = nn.kernel columns (%b_0 = %e) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %b_0 [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %a, %b : tensor<1x4xf32>, tensor<1x4xf32>
}

// The memory of what the first reads is for a product, and what a transposition
// reads does not lie side by side.
// CHECK-LABEL: nn.program @product
// CHECK: nn.kernel columns
// CHECK: nn.matmul
// CHECK: nn.kernel columns
// CHECK: nn.kernel columns
nn.program @product(%x: tensor<6x4xf32>, %w: tensor<4x4xf32>, %t: tensor<4x6xf32>) -> (tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %a = nn.kernel columns (%a_0 = %x) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a_0 [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %p = nn.matmul %x, %w : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
  %b = nn.kernel columns (%b_0 = %p) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %b_0 [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %c = nn.kernel columns (%c_0 = %t) : (tensor<4x6xf32>) -> tensor<1x4xf32> {
    %r = nn.transpose %c_0 [1, 0] : tensor<4x6xf32> -> tensor<6x4xf32>
    %s = nn.reduce sum %r [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %a, %b, %c : tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}

// Columns of another matrix, of one that is stored too, and of a fifth one stay
// apart.
// CHECK-LABEL: nn.program @apart
// CHECK: nn.kernel columns {{.*}} : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>)
// CHECK: nn.kernel columns {{.*}} : (tensor<6x5xf32>)
// CHECK: nn.kernel columns {{.*}} -> (tensor<6x4xf32>, tensor<1x4xf32>)
// CHECK: nn.kernel columns {{.*}} : (tensor<6x4xf32>) -> tensor<1x4xf32>
nn.program @apart(%x: tensor<6x4xf32>, %y: tensor<6x4xf32>, %z: tensor<6x4xf32>, %u: tensor<6x4xf32>, %v: tensor<6x4xf32>, %w: tensor<6x5xf32>) -> (tensor<1x4xf32>, tensor<1x5xf32>, tensor<6x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>) {
  %ka = nn.kernel columns (%a = %x, %b = %y, %c = %z, %d = %u) : (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<1x4xf32> {
    %m = nn.binary mul %a, %b : tensor<6x4xf32>
    %n = nn.binary mul %m, %c : tensor<6x4xf32>
    %o = nn.binary mul %n, %d : tensor<6x4xf32>
    %s = nn.reduce sum %o [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  %kb = nn.kernel columns (%a = %w) : (tensor<6x5xf32>) -> tensor<1x5xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x5xf32> -> tensor<1x5xf32>
    nn.yield %s : tensor<1x5xf32>
  }
  %kc:2 = nn.kernel columns (%a = %x) : (tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<1x4xf32>) {
    %e = nn.unary exp %a : tensor<6x4xf32> -> tensor<6x4xf32>
    %s = nn.reduce sum %e [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %e, %s : tensor<6x4xf32>, tensor<1x4xf32>
  }
  %kd = nn.kernel columns (%a = %v) : (tensor<6x4xf32>) -> tensor<1x4xf32> {
    %s = nn.reduce sum %a [0] : tensor<6x4xf32> -> tensor<1x4xf32>
    nn.yield %s : tensor<1x4xf32>
  }
  nn.return %ka, %kb, %kc#0, %kc#1, %kd : tensor<1x4xf32>, tensor<1x5xf32>, tensor<6x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>
}
