// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-decompose,canonicalize,cse,nn-form-kernels,cse,nn-verify-kernels))' | FileCheck %s

// A chain of elementwise ops, with the bias it reads through views, is one
// kernel; nothing in between is stored.
// CHECK-LABEL: nn.program @chain
// CHECK-NEXT: nn.kernel rows (%{{.*}} = %x, %{{.*}} = %b)
// CHECK: nn.broadcast
// CHECK: nn.unary tanh
// CHECK: nn.yield
// CHECK-NOT: nn.kernel
nn.program @chain(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %0 = nn.reshape %b : tensor<8xf32> -> tensor<1x8xf32>
  %1 = nn.broadcast %0 : tensor<1x8xf32> -> tensor<4x8xf32>
  %2 = nn.binary add %x, %1 : tensor<4x8xf32>
  %half = nn.constant dense<0.5> : tensor<4x8xf32>
  %3 = nn.unary tanh %2 : tensor<4x8xf32> -> tensor<4x8xf32>
  %4 = nn.binary mul %3, %half : tensor<4x8xf32>
  nn.return %4 : tensor<4x8xf32>
}

// A masked softmax is one kernel that reads nothing but its operand: the mask
// is computed from positions.
// CHECK-LABEL: nn.program @softmax
// CHECK-NEXT: nn.kernel rows (%{{.*}} = %x)
// CHECK: nn.iota
// CHECK: nn.reduce max
// CHECK: nn.reduce sum
// CHECK: nn.yield
// CHECK-NOT: nn.kernel
nn.program @softmax(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %i = nn.iota 2 : tensor<1x1x8x8xi64>
  %j = nn.iota 3 : tensor<1x1x8x8xi64>
  %m = nn.compare ge %i, %j : tensor<1x1x8x8xi64> -> tensor<1x1x8x8xi1>
  %mb = nn.broadcast %m : tensor<1x1x8x8xi1> -> tensor<2x4x8x8xi1>
  %low = nn.constant dense<0xFF800000> : tensor<2x4x8x8xf32>
  %s = nn.select %mb, %x, %low : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
  %r = nn.softmax %s : tensor<2x4x8x8xf32>
  nn.return %r : tensor<2x4x8x8xf32>
}

// A residual sum of one shape and a layer_norm of another one with the same
// elements are one kernel of one shape.
// CHECK-LABEL: nn.program @norm
// CHECK: nn.kernel rows
// CHECK: nn.binary add %{{.*}} : tensor<8x6xf32>
// CHECK: nn.yield %{{.*}}, %{{.*}} : tensor<8x6xf32>, tensor<8x6xf32>
// CHECK-NOT: nn.kernel
nn.program @norm(%x: tensor<2x4x6xf32>, %y: tensor<2x4x6xf32>, %s: tensor<6xf32>,
                %b: tensor<6xf32>) -> (tensor<8x6xf32>, tensor<2x4x6xf32>) {
  %h = nn.binary add %x, %y : tensor<2x4x6xf32>
  %f = nn.reshape %h : tensor<2x4x6xf32> -> tensor<8x6xf32>
  %n, %mean, %rstd = nn.layer_norm %f, %s, %b epsilon 1.0e-5
      : tensor<8x6xf32>, tensor<6xf32> -> tensor<8x1xf32>, tensor<8x1xf32>
  nn.return %n, %h : tensor<8x6xf32>, tensor<2x4x6xf32>
}

// An update of flat shards is one kernel with all its results; the scalar
// arithmetic moves in.
// CHECK-LABEL: nn.program @update
// CHECK-NEXT: nn.kernel rows
// CHECK: nn.yield %{{.*}}, %{{.*}} : tensor<64xf32>, tensor<64xf32>
// CHECK-NOT: nn.kernel
nn.program @update(%p: tensor<64xf32>, %m: tensor<64xf32>, %g: tensor<64xf32>,
                  %lr: tensor<1xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %c = nn.constant dense<0.9> : tensor<64xf32>
  %0 = nn.binary mul %m, %c : tensor<64xf32>
  %1 = nn.binary add %0, %g : tensor<64xf32>
  %ten = nn.constant dense<10.0> : tensor<1xf32>
  %2 = nn.binary mul %lr, %ten : tensor<1xf32>
  %3 = nn.broadcast %2 : tensor<1xf32> -> tensor<64xf32>
  %4 = nn.binary mul %1, %3 : tensor<64xf32>
  %5 = nn.binary sub %p, %4 : tensor<64xf32>
  nn.return %5, %1 : tensor<64xf32>, tensor<64xf32>
}

// A concatenation is one kernel of selects of padded operands.
// CHECK-LABEL: nn.program @concat
// CHECK-NEXT: nn.kernel rows
// CHECK: nn.pad
// CHECK: nn.select
// CHECK-NOT: nn.kernel
nn.program @concat(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>) -> tensor<4x10xf32> {
  %0 = nn.concat %x, %y dim 1 : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x10xf32>
  nn.return %0 : tensor<4x10xf32>
}

// -----

// Windows along the last dimension jump within the rows that are summed. What
// is added up is stored once; no slice is copied.

// CHECK-LABEL: nn.program @windows_before_sum
// CHECK: %[[Y:.*]] = nn.kernel rows
// CHECK-COUNT-2: nn.slice
// CHECK: nn.yield %{{.*}} : tensor<3x4x8xf32>
// CHECK: nn.kernel rows (%{{.*}} = %[[Y]])
// CHECK: nn.reduce sum
// CHECK-NOT: nn.kernel
nn.program @windows_before_sum(%x: tensor<3x4x9xf32>) -> tensor<3x1xf32> {
  %a = nn.slice %x [0, 0, 0] step [1, 1, 1] : tensor<3x4x9xf32> -> tensor<3x4x8xf32>
  %b = nn.slice %x [0, 0, 1] step [1, 1, 1] : tensor<3x4x9xf32> -> tensor<3x4x8xf32>
  %y = nn.binary add %a, %b : tensor<3x4x8xf32>
  %rows = nn.reshape %y : tensor<3x4x8xf32> -> tensor<3x32xf32>
  %sum = nn.reduce sum %rows [1] : tensor<3x32xf32> -> tensor<3x1xf32>
  nn.return %sum : tensor<3x1xf32>
}

// Zeros that a program returns, or writes to a file, are filled in there and in
// no kernel; those that something else takes are made by one.

// CHECK-LABEL: nn.program @zeros
// CHECK: %[[ZERO:.+]] = nn.constant dense<0.0
// CHECK: %[[FILE:.+]] = zero.write %[[ZERO]]
// CHECK: %[[MADE:.+]] = nn.kernel rows ()
// CHECK: zero.offload %[[MADE]]
// CHECK: nn.return %[[FILE]], %[[ZERO]]
nn.program @zeros() -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %zero = nn.constant dense<0.0> : tensor<8xf32>
  %file = zero.write %zero unit 0 segment 0 bytes 32 reason "r" : tensor<8xf32> -> tensor<8xf32>
  %down = zero.offload %zero unit 0 segment 0 bytes 32 reason "r" : tensor<8xf32> -> tensor<8xf32>
  nn.return %file, %zero, %down : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// A value that costs much and follows from places alone is made again by each
// kernel that reads it, where it would be a large tensor.
// CHECK-LABEL: nn.program @angles
// CHECK-NEXT: nn.kernel rows (%{{[^,]*}} = %x) :
// CHECK-NEXT: nn.iota
// CHECK-NEXT: nn.unary cos
// CHECK: nn.kernel rows (%{{[^,]*}} = %y) :
// CHECK-NEXT: nn.iota
// CHECK-NEXT: nn.unary cos
// CHECK-NOT: nn.kernel
nn.program @angles(%x: tensor<32768xf32>, %y: tensor<4x32768xf32>) -> (tensor<32768xf32>, tensor<4x32768xf32>) {
  %0 = nn.iota 0 : tensor<32768xf32>
  %1 = nn.unary cos %0 : tensor<32768xf32> -> tensor<32768xf32>
  %2 = nn.binary mul %x, %1 : tensor<32768xf32>
  %3 = nn.reshape %1 : tensor<32768xf32> -> tensor<1x32768xf32>
  %4 = nn.broadcast %3 : tensor<1x32768xf32> -> tensor<4x32768xf32>
  %5 = nn.binary mul %y, %4 : tensor<4x32768xf32>
  nn.return %2, %5 : tensor<32768xf32>, tensor<4x32768xf32>
}

// A costly value that another kernel needs is computed again, and no buffer has
// it; a chain of more than four is stored.
// CHECK-LABEL: nn.program @again
// CHECK: %[[Y:.+]] = nn.kernel rows (%{{.*}} = %x) : (tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK: %[[P:.+]] = nn.matmul %[[Y]], %w
// CHECK: nn.kernel rows (%{{.*}} = %x, %{{.*}} = %[[P]])
// CHECK: nn.unary tanh
// CHECK: nn.yield
nn.program @again(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %t = nn.unary tanh %x : tensor<8x8xf32> -> tensor<8x8xf32>
  %y = nn.binary mul %t, %x : tensor<8x8xf32>
  %p = nn.matmul %y, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %r = nn.binary mul %t, %p : tensor<8x8xf32>
  nn.return %r : tensor<8x8xf32>
}

// CHECK-LABEL: nn.program @stored
// CHECK: %[[Y:.+]]:2 = nn.kernel rows (%{{.*}} = %x)
// CHECK: %[[P:.+]] = nn.matmul
// CHECK: nn.kernel rows (%{{.*}} = %[[Y]]#{{.}}, %{{.*}} = %[[P]])
// CHECK-NOT: nn.unary
// CHECK: nn.yield
nn.program @stored(%x: tensor<8x8xf32>, %w: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.unary tanh %x : tensor<8x8xf32> -> tensor<8x8xf32>
  %1 = nn.unary exp %0 : tensor<8x8xf32> -> tensor<8x8xf32>
  %2 = nn.unary tanh %1 : tensor<8x8xf32> -> tensor<8x8xf32>
  %3 = nn.unary exp %2 : tensor<8x8xf32> -> tensor<8x8xf32>
  %t = nn.unary tanh %3 : tensor<8x8xf32> -> tensor<8x8xf32>
  %y = nn.binary mul %t, %x : tensor<8x8xf32>
  %p = nn.matmul %y, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %r = nn.binary mul %t, %p : tensor<8x8xf32>
  nn.return %r : tensor<8x8xf32>
}

// A costly value that is repeated is stored: it would be computed for every row.
// CHECK-LABEL: nn.program @repeated
// CHECK: %[[E:.+]] = nn.kernel rows (%{{.*}} = %b)
// CHECK: nn.unary exp
// CHECK: nn.kernel rows (%{{.*}} = %[[E]], %{{.*}} = %x)
// CHECK-NOT: nn.unary
// CHECK: nn.yield
nn.program @repeated(%x: tensor<8x8xf32>, %b: tensor<1x8xf32>, %w: tensor<8x8xf32>)
    -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %e = nn.unary exp %b : tensor<1x8xf32> -> tensor<1x8xf32>
  %wide = nn.broadcast %e : tensor<1x8xf32> -> tensor<8x8xf32>
  %y = nn.binary mul %wide, %x : tensor<8x8xf32>
  %p = nn.matmul %y, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %r = nn.binary mul %wide, %p : tensor<8x8xf32>
  nn.return %r, %y : tensor<8x8xf32>, tensor<8x8xf32>
}

// Two kernels make a value of what is there, in place of reading it: so of a norm
// its operand is kept, and not its result too.
// CHECK-LABEL: nn.program @norm_again
// CHECK: %[[X:.+]]:3 = nn.kernel rows (%{{.*}} = %a, %{{.*}} = %b)
// CHECK: nn.kernel rows (%{{.*}} = %[[X]]#0, %{{.*}} = %{{.*}}) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: nn.kernel rows (%{{.*}} = %{{.*}}, %{{.*}} = %[[X]]#0, %{{.*}} = %[[X]]#1) : {{.*}} -> tensor<4x1xf32>
// CHECK: nn.kernel columns (%{{.*}} = %{{.*}}, %{{.*}} = %[[X]]#0, %{{.*}} = %[[X]]#1) : {{.*}} -> tensor<1x8xf32>
nn.program @norm_again(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>) {
  %x = nn.binary add %a, %b : tensor<4x8xf32>
  %m = nn.reduce max %x [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %mb = nn.broadcast %m : tensor<4x1xf32> -> tensor<4x8xf32>
  %y = nn.binary sub %x, %mb : tensor<4x8xf32>
  %e = nn.binary mul %y, %y : tensor<4x8xf32>
  %d = nn.matmul %e, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %x2 = nn.binary add %x, %d : tensor<4x8xf32>
  %d2 = nn.matmul %x2, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %dy = nn.binary mul %d2, %y : tensor<4x8xf32>
  %c = nn.reduce sum %dy [0] : tensor<4x8xf32> -> tensor<1x8xf32>
  %c1 = nn.reshape %c : tensor<1x8xf32> -> tensor<8xf32>
  %r = nn.reduce sum %dy [1] : tensor<4x8xf32> -> tensor<4x1xf32>
  %r1 = nn.reshape %r : tensor<4x1xf32> -> tensor<4xf32>
  nn.return %x2, %c1, %r1 : tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>
}
