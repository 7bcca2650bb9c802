// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-share-rows{few=2},canonicalize))' | FileCheck %s

// Steps of a loop take rows of what was computed, and make those of its result.
// CHECK-LABEL: nn.program @loop
// CHECK: %[[G:.*]] = nn.matmul
// CHECK: %[[X0:.*]] = nn.take_rows %[[G]] from 0 : tensor<3x16xf32> -> tensor<1x16xf32>
// CHECK: %[[X1:.*]] = nn.take_rows %[[G]] from 1
// CHECK: %[[X2:.*]] = nn.take_rows %[[G]] from 2
// CHECK: %[[Y:.*]] = nn.join_rows %{{.*}}, %{{.*}}, %{{.*}} : (tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32>) -> tensor<3x16xf32>
// CHECK-NEXT: nn.return %[[Y]]
nn.program @loop(%x: tensor<3x4xf32>, %w: tensor<4x16xf32>) -> tensor<3x16xf32> {
  %g = nn.matmul %x, %w : tensor<3x4xf32>, tensor<4x16xf32> -> tensor<3x16xf32>
  %x0 = nn.slice %g [0, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %x1 = nn.slice %g [1, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %x2 = nn.slice %g [2, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %y0 = nn.unary tanh %x0 : tensor<1x16xf32> -> tensor<1x16xf32>
  %s1 = nn.binary add %x1, %y0 : tensor<1x16xf32>
  %y1 = nn.unary tanh %s1 : tensor<1x16xf32> -> tensor<1x16xf32>
  %s2 = nn.binary add %x2, %y1 : tensor<1x16xf32>
  %y2 = nn.unary tanh %s2 : tensor<1x16xf32> -> tensor<1x16xf32>
  %y = nn.concat %y0, %y1, %y2 dim 0 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32> -> tensor<3x16xf32>
  nn.return %y : tensor<3x16xf32>
}

// A dimension between others is moved in front, of an input too.
// CHECK-LABEL: nn.program @moved
// CHECK: %[[T:.*]] = nn.transpose %x [1, 0, 2] : tensor<4x3x8xf32> -> tensor<3x4x8xf32>
// CHECK: nn.take_rows %[[T]] from 0 : tensor<3x4x8xf32> -> tensor<1x4x8xf32>
// CHECK: nn.take_rows %[[T]] from 1
// CHECK: nn.take_rows %[[T]] from 2
// CHECK: %[[J:.*]] = nn.join_rows {{.*}} -> tensor<3x4x8xf32>
// CHECK: %[[Y:.*]] = nn.transpose %[[J]] [1, 0, 2] : tensor<3x4x8xf32> -> tensor<4x3x8xf32>
// CHECK: nn.return %[[Y]]
nn.program @moved(%x: tensor<4x3x8xf32> {nn.input = #nn.input<"x", per_sample = true>}) -> tensor<4x3x8xf32> {
  %x0 = nn.slice %x [0, 0, 0] step [1, 1, 1] : tensor<4x3x8xf32> -> tensor<4x1x8xf32>
  %x1 = nn.slice %x [0, 1, 0] step [1, 1, 1] : tensor<4x3x8xf32> -> tensor<4x1x8xf32>
  %x2 = nn.slice %x [0, 2, 0] step [1, 1, 1] : tensor<4x3x8xf32> -> tensor<4x1x8xf32>
  %y0 = nn.unary tanh %x0 : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %y1 = nn.unary tanh %x1 : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %y2 = nn.unary tanh %x2 : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %y = nn.concat %y0, %y1, %y2 dim 1 : tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32> -> tensor<4x3x8xf32>
  nn.return %y : tensor<4x3x8xf32>
}

// States that are an output, and all but the last of which are a factor of a
// product, are joined once.
// CHECK-LABEL: nn.program @states
// CHECK: %[[J:.*]] = nn.join_rows
// CHECK-NOT: nn.join_rows
// CHECK: nn.take_rows %{{.*}} from 2 : tensor<6x16xf32> -> tensor<4x16xf32>
nn.program @states(%a: tensor<2x16xf32>, %b: tensor<2x16xf32>, %c: tensor<2x16xf32>, %w: tensor<16x4xf32>) -> (tensor<3x2x16xf32>, tensor<4x4xf32>) {
  %y0 = nn.unary tanh %a : tensor<2x16xf32> -> tensor<2x16xf32>
  %y1 = nn.unary tanh %b : tensor<2x16xf32> -> tensor<2x16xf32>
  %y2 = nn.unary tanh %c : tensor<2x16xf32> -> tensor<2x16xf32>
  %r0 = nn.reshape %y0 : tensor<2x16xf32> -> tensor<1x2x16xf32>
  %r1 = nn.reshape %y1 : tensor<2x16xf32> -> tensor<1x2x16xf32>
  %r2 = nn.reshape %y2 : tensor<2x16xf32> -> tensor<1x2x16xf32>
  %y = nn.concat %r0, %r1, %r2 dim 0 : tensor<1x2x16xf32>, tensor<1x2x16xf32>, tensor<1x2x16xf32> -> tensor<3x2x16xf32>
  %h = nn.join_rows %y1, %y2 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %p = nn.matmul %h, %w : tensor<4x16xf32>, tensor<16x4xf32> -> tensor<4x4xf32>
  nn.return %y, %p : tensor<3x2x16xf32>, tensor<4x4xf32>
}

// The same in another order is joined again.
// CHECK-LABEL: nn.program @order
// CHECK: nn.join_rows
// CHECK: nn.join_rows
nn.program @order(%a: tensor<2x16xf32>, %b: tensor<2x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
  %y0 = nn.unary tanh %a : tensor<2x16xf32> -> tensor<2x16xf32>
  %y1 = nn.unary tanh %b : tensor<2x16xf32> -> tensor<2x16xf32>
  %h = nn.join_rows %y0, %y1 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  %g = nn.join_rows %y1, %y0 : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<4x16xf32>
  nn.return %h, %g : tensor<4x16xf32>, tensor<4x16xf32>
}

// Rows of 12 bytes begin anywhere: three parts are put together by twos.
// CHECK-LABEL: nn.program @apart
// CHECK-NOT: nn.take_rows
// CHECK: %[[P:.*]] = nn.concat %{{.*}}, %{{.*}} dim 0 : tensor<1x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
// CHECK: nn.concat %[[P]], %{{.*}} dim 0 : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<3x3xf32>
nn.program @apart(%x: tensor<3x3xf32> {nn.input = #nn.input<"x", per_sample = true>}) -> tensor<3x3xf32> {
  %x0 = nn.slice %x [0, 0] step [1, 1] : tensor<3x3xf32> -> tensor<1x3xf32>
  %x1 = nn.slice %x [1, 0] step [1, 1] : tensor<3x3xf32> -> tensor<1x3xf32>
  %x2 = nn.slice %x [2, 0] step [1, 1] : tensor<3x3xf32> -> tensor<1x3xf32>
  %y = nn.concat %x2, %x1, %x0 dim 0 : tensor<1x3xf32>, tensor<1x3xf32>, tensor<1x3xf32> -> tensor<3x3xf32>
  nn.return %y : tensor<3x3xf32>
}

// Parameters may be released; few slices and parts stay; and so do slices that
// take every other row.
// CHECK-LABEL: nn.program @stay
// CHECK-NOT: nn.take_rows
// CHECK-NOT: nn.join_rows
nn.program @stay(%w: tensor<3x16xf32>, %x: tensor<4x16xf32>) -> (tensor<3x16xf32>, tensor<4x16xf32>) {
  %w0 = nn.slice %w [0, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %w1 = nn.slice %w [1, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %w2 = nn.slice %w [2, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %s = nn.binary add %w0, %w1 : tensor<1x16xf32>
  %t = nn.binary add %s, %w2 : tensor<1x16xf32>
  %u = nn.broadcast %t : tensor<1x16xf32> -> tensor<3x16xf32>
  %y = nn.unary tanh %x : tensor<4x16xf32> -> tensor<4x16xf32>
  %y0 = nn.slice %y [0, 0] step [2, 1] : tensor<4x16xf32> -> tensor<2x16xf32>
  %y1 = nn.slice %y [1, 0] step [2, 1] : tensor<4x16xf32> -> tensor<2x16xf32>
  %y2 = nn.slice %y [0, 0] step [3, 1] : tensor<4x16xf32> -> tensor<2x16xf32>
  %a = nn.binary add %y0, %y2 : tensor<2x16xf32>
  %z = nn.concat %y1, %a dim 0 : tensor<2x16xf32>, tensor<2x16xf32> -> tensor<4x16xf32>
  nn.return %u, %z : tensor<3x16xf32>, tensor<4x16xf32>
}

// Rows of what is itself such a row.
// CHECK-LABEL: nn.program @nested
// CHECK: %[[R:.*]] = nn.take_rows %{{.*}} from 0 : tensor<3x3x16xf32> -> tensor<1x3x16xf32>
// CHECK: nn.take_rows %{{.*}} from 1 : tensor<3x1x16xf32> -> tensor<1x1x16xf32>
nn.program @nested(%x: tensor<3x3x16xf32> {nn.input = #nn.input<"x", per_sample = true>}) -> (tensor<1x1x16xf32>, tensor<1x3x16xf32>) {
  %a = nn.slice %x [0, 0, 0] step [1, 1, 1] : tensor<3x3x16xf32> -> tensor<1x3x16xf32>
  %b = nn.slice %x [1, 0, 0] step [1, 1, 1] : tensor<3x3x16xf32> -> tensor<1x3x16xf32>
  %c = nn.slice %x [2, 0, 0] step [1, 1, 1] : tensor<3x3x16xf32> -> tensor<1x3x16xf32>
  %a0 = nn.slice %a [0, 0, 0] step [1, 1, 1] : tensor<1x3x16xf32> -> tensor<1x1x16xf32>
  %a1 = nn.slice %a [0, 1, 0] step [1, 1, 1] : tensor<1x3x16xf32> -> tensor<1x1x16xf32>
  %a2 = nn.slice %a [0, 2, 0] step [1, 1, 1] : tensor<1x3x16xf32> -> tensor<1x1x16xf32>
  %s = nn.binary add %a0, %a1 : tensor<1x1x16xf32>
  %t = nn.binary mul %s, %a2 : tensor<1x1x16xf32>
  %u = nn.binary add %b, %c : tensor<1x3x16xf32>
  nn.return %t, %u : tensor<1x1x16xf32>, tensor<1x3x16xf32>
}

// Few rows of many stay where their dimension is not in front, of which all
// would be copied.
// CHECK-LABEL: nn.program @few
// CHECK-NOT: nn.take_rows
nn.program @few(%x: tensor<4x9x8xf32> {nn.input = #nn.input<"x", per_sample = true>}) -> tensor<4x1x8xf32> {
  %x0 = nn.slice %x [0, 0, 0] step [1, 1, 1] : tensor<4x9x8xf32> -> tensor<4x1x8xf32>
  %x1 = nn.slice %x [0, 4, 0] step [1, 1, 1] : tensor<4x9x8xf32> -> tensor<4x1x8xf32>
  %x2 = nn.slice %x [0, 8, 0] step [1, 1, 1] : tensor<4x9x8xf32> -> tensor<4x1x8xf32>
  %s = nn.binary add %x0, %x1 : tensor<4x1x8xf32>
  %t = nn.binary add %s, %x2 : tensor<4x1x8xf32>
  nn.return %t : tensor<4x1x8xf32>
}

// Zeros between are as many rows as they were elements.
// CHECK-LABEL: nn.program @zeros
// CHECK: nn.join_rows %{{.*}} : (tensor<1x4x8xf32>, tensor<5x4x8xf32>, tensor<1x4x8xf32>) -> tensor<7x4x8xf32>
nn.program @zeros(%a: tensor<4x1x8xf32>, %b: tensor<4x1x8xf32>) -> tensor<4x7x8xf32> {
  %zero = nn.constant dense<0.0> : tensor<4x5x8xf32>
  %y0 = nn.unary tanh %a : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %y1 = nn.unary tanh %b : tensor<4x1x8xf32> -> tensor<4x1x8xf32>
  %y = nn.concat %y0, %zero, %y1 dim 1 : tensor<4x1x8xf32>, tensor<4x5x8xf32>, tensor<4x1x8xf32> -> tensor<4x7x8xf32>
  nn.return %y : tensor<4x7x8xf32>
}

// Parts that several concatenations have lie in none of them.
// CHECK-LABEL: nn.program @several
// CHECK-NOT: nn.join_rows
nn.program @several(%a: tensor<1x16xf32>, %b: tensor<1x16xf32>, %c: tensor<1x16xf32>) -> (tensor<3x16xf32>, tensor<3x16xf32>) {
  %y0 = nn.unary tanh %a : tensor<1x16xf32> -> tensor<1x16xf32>
  %y1 = nn.unary tanh %b : tensor<1x16xf32> -> tensor<1x16xf32>
  %y2 = nn.unary tanh %c : tensor<1x16xf32> -> tensor<1x16xf32>
  %y = nn.concat %y0, %y1, %y2 dim 0 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32> -> tensor<3x16xf32>
  %z = nn.concat %y2, %y1, %y0 dim 0 : tensor<1x16xf32>, tensor<1x16xf32>, tensor<1x16xf32> -> tensor<3x16xf32>
  nn.return %y, %z : tensor<3x16xf32>, tensor<3x16xf32>
}

// Scores have no bytes, nor what they are made of: attention reads it by views.
// CHECK-LABEL: nn.program @scores
// CHECK-NOT: nn.take_rows
nn.program @scores(%q: tensor<1x16x1x16xf32>, %bias: tensor<3x16xf32>) -> tensor<1x16x1x16xf32> {
  %o, %m, %i = nn.attention %q, %q, %q with %bias : (tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<1x16x1x16xf32>, tensor<3x16xf32>) -> (tensor<1x16x1x16xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>) {
  ^bb0(%s: tensor<1x1x16x16xf32>, %b: tensor<3x16xf32>):
    %b0 = nn.slice %b [0, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
    %b1 = nn.slice %b [1, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
    %b2 = nn.slice %b [2, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
    %c = nn.binary add %b0, %b1 : tensor<1x16xf32>
    %d = nn.binary add %c, %b2 : tensor<1x16xf32>
    %r = nn.reshape %d : tensor<1x16xf32> -> tensor<1x1x1x16xf32>
    %w = nn.broadcast %r : tensor<1x1x1x16xf32> -> tensor<1x1x16x16xf32>
    %x = nn.binary add %s, %w : tensor<1x1x16x16xf32>
    nn.yield %x : tensor<1x1x16x16xf32>
  }
  nn.return %o : tensor<1x16x1x16xf32>
}

// Rows that repeat a computed one are read there.
// CHECK-LABEL: nn.program @repeated
// CHECK-NOT: nn.take_rows
nn.program @repeated(%x: tensor<1x16xf32>) -> tensor<1x16xf32> {
  %y = nn.unary tanh %x : tensor<1x16xf32> -> tensor<1x16xf32>
  %r = nn.broadcast %y : tensor<1x16xf32> -> tensor<3x16xf32>
  %r0 = nn.slice %r [0, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %r1 = nn.slice %r [1, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %r2 = nn.slice %r [2, 0] step [1, 1] : tensor<3x16xf32> -> tensor<1x16xf32>
  %s = nn.binary mul %r0, %r1 : tensor<1x16xf32>
  %t = nn.binary add %s, %r2 : tensor<1x16xf32>
  nn.return %t : tensor<1x16xf32>
}
