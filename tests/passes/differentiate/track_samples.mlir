// RUN: zerograph-opt %s --nn-track-samples --split-input-file | FileCheck %s

// Heads are folded into the samples' dimension, and come out of it again.

// CHECK-LABEL: nn.program @forward
// CHECK: nn.dropout %{{.*}} ratio 1.000000e-01 number 0 samples [0, 4] : tensor<4x6x8xf32>
// CHECK: nn.dropout %{{.*}} ratio 1.000000e-01 number 1 samples [0, 4] : tensor<8x6x6xf32>
// CHECK: nn.dropout %{{.*}} ratio 1.000000e-01 number 2 samples [1, 4] : tensor<6x4x8xf32>
// CHECK: nn.dropout %{{.*}} ratio 1.000000e-01 number 3 samples [1, 4] : tensor<6x32xf32>
nn.program @forward(
    %ids: tensor<4x6xi64> {nn.input = #nn.input<"ids", per_sample = true>},
    %w: tensor<9x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>}) {
  %e = nn.gather %w, %ids : tensor<9x8xf32>, tensor<4x6xi64> -> tensor<4x6x8xf32>
  %d, %m = nn.dropout %e ratio 0.1 number 0 : tensor<4x6x8xf32> -> tensor<4x6x8xi1>
  %h = nn.reshape %d : tensor<4x6x8xf32> -> tensor<4x6x2x4xf32>
  %t = nn.transpose %h [0, 2, 1, 3] : tensor<4x6x2x4xf32> -> tensor<4x2x6x4xf32>
  %q = nn.reshape %t : tensor<4x2x6x4xf32> -> tensor<8x6x4xf32>
  %s = nn.matmul %q, %q transpose_b : tensor<8x6x4xf32>, tensor<8x6x4xf32> -> tensor<8x6x6xf32>
  %p = nn.softmax %s : tensor<8x6x6xf32>
  %d1, %m1 = nn.dropout %p ratio 0.1 number 1 : tensor<8x6x6xf32> -> tensor<8x6x6xi1>
  %o = nn.matmul %d1, %q : tensor<8x6x6xf32>, tensor<8x6x4xf32> -> tensor<8x6x4xf32>
  %u = nn.reshape %o : tensor<8x6x4xf32> -> tensor<4x2x6x4xf32>
  %v = nn.transpose %u [2, 0, 1, 3] : tensor<4x2x6x4xf32> -> tensor<6x4x2x4xf32>
  %x = nn.reshape %v : tensor<6x4x2x4xf32> -> tensor<6x4x8xf32>
  %d2, %m2 = nn.dropout %x ratio 0.1 number 2 : tensor<6x4x8xf32> -> tensor<6x4x8xi1>
  %y = nn.reshape %d2 : tensor<6x4x8xf32> -> tensor<6x32xf32>
  %d3, %m3 = nn.dropout %y ratio 0.1 number 3 : tensor<6x32xf32> -> tensor<6x32xi1>
  nn.return
}

// -----

// Rows of [sequence * samples, features], as of a layer that is applied to the
// sequence first: samples are a factor of the rows and do not lead them. Random
// numbers get the rows split, and samples come out of them again.

// CHECK-LABEL: nn.program @forward
// CHECK: %[[ROWS:.+]] = nn.matmul
// CHECK: %[[SPLIT:.+]] = nn.reshape %[[ROWS]] : tensor<24x8xf32> -> tensor<6x4x8xf32>
// CHECK: %[[DROPPED:.+]], %{{.+}} = nn.dropout %[[SPLIT]] ratio 1.000000e-01 number 0 samples [1, 4]
// CHECK: %[[BACK:.+]] = nn.reshape %[[DROPPED]] : tensor<6x4x8xf32> -> tensor<24x8xf32>
// CHECK: nn.reshape %[[BACK]] : tensor<24x8xf32> -> tensor<6x4x8xf32>
// CHECK: nn.dropout %{{.*}} number 1 samples [0, 4] : tensor<4x6x8xf32>
nn.program @forward(
    %x: tensor<4x6x8xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<8x8xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>}) {
  %t = nn.transpose %x [1, 0, 2] : tensor<4x6x8xf32> -> tensor<6x4x8xf32>
  %f = nn.reshape %t : tensor<6x4x8xf32> -> tensor<24x8xf32>
  %r = nn.matmul %f, %w : tensor<24x8xf32>, tensor<8x8xf32> -> tensor<24x8xf32>
  %d, %m = nn.dropout %r ratio 0.1 number 0 : tensor<24x8xf32> -> tensor<24x8xi1>
  %u = nn.reshape %d : tensor<24x8xf32> -> tensor<6x4x8xf32>
  %b = nn.transpose %u [1, 0, 2] : tensor<6x4x8xf32> -> tensor<4x6x8xf32>
  %d1, %m1 = nn.dropout %b ratio 0.1 number 1 : tensor<4x6x8xf32> -> tensor<4x6x8xi1>
  nn.return
}

// -----

// A parameter has no samples. What statistics over the samples are taken from,
// they are brought back to.

// CHECK-LABEL: nn.program @forward
// CHECK: nn.dropout %{{.*}} number 0 samples [] : tensor<5x3xf32>
// CHECK: nn.dropout %{{.*}} number 1 samples [0, 4] : tensor<4x3xf32>
// CHECK: nn.dropout %{{.*}} number 2 samples [0, 4] : tensor<4x3xf32>
// CHECK: nn.dropout %{{.*}} number 3 samples [1, 4] : tensor<3x4xf32>
// CHECK: nn.dropout %{{.*}} number 4 samples [0, 4] : tensor<4x3x1xf32>
// CHECK: nn.dropout %{{.*}} number 5 samples [0, 4] : tensor<4x6xf32>
// CHECK: nn.dropout %{{.*}} number 6 samples [1, 4] : tensor<2x4xf32>
// CHECK: nn.dropout %{{.*}} number 7 samples [1, 4] : tensor<9x4xf32>
// CHECK: nn.dropout %{{.*}} number 8 samples [0, 4] : tensor<4x3xf32>
nn.program @forward(
    %x: tensor<4x5xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %c: tensor<2xi64> {nn.input = #nn.input<"c", per_sample = false>},
    %w: tensor<5x3xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>}) {
  %d, %m = nn.dropout %w ratio 0.1 number 0 : tensor<5x3xf32> -> tensor<5x3xi1>
  %h = nn.matmul %x, %d : tensor<4x5xf32>, tensor<5x3xf32> -> tensor<4x3xf32>
  %d1, %m1 = nn.dropout %h ratio 0.1 number 1 : tensor<4x3xf32> -> tensor<4x3xi1>
  %r = nn.reduce sum %d1 [0] : tensor<4x3xf32> -> tensor<1x3xf32>
  %b = nn.broadcast %r : tensor<1x3xf32> -> tensor<4x3xf32>
  %n = nn.binary sub %d1, %b : tensor<4x3xf32>
  %d2, %m2 = nn.dropout %n ratio 0.1 number 2 : tensor<4x3xf32> -> tensor<4x3xi1>
  %t = nn.matmul %d, %x transpose_a transpose_b : tensor<5x3xf32>, tensor<4x5xf32> -> tensor<3x4xf32>
  %d3, %m3 = nn.dropout %t ratio 0.1 number 3 : tensor<3x4xf32> -> tensor<3x4xi1>
  %k = nn.reshape %n : tensor<4x3xf32> -> tensor<4x3x1xf32>
  %d4, %m4 = nn.dropout %k ratio 0.1 number 4 : tensor<4x3x1xf32> -> tensor<4x3x1xi1>
  %j = nn.concat %n, %d2 dim 1 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x6xf32>
  %d5, %m5 = nn.dropout %j ratio 0.1 number 5 : tensor<4x6xf32> -> tensor<4x6xi1>
  %g = nn.gather %t, %c : tensor<3x4xf32>, tensor<2xi64> -> tensor<2x4xf32>
  %d6, %m6 = nn.dropout %g ratio 0.1 number 6 : tensor<2x4xf32> -> tensor<2x4xi1>
  // Within a row; and whatever goes into a table, what is in it stays.
  %s = nn.scatter sum %c, %g : tensor<2xi64>, tensor<2x4xf32> -> tensor<9x4xf32>
  %d7, %m7 = nn.dropout %s ratio 0.1 number 7 : tensor<9x4xf32> -> tensor<9x4xi1>
  %v = nn.slice %n [0, 0] step [1, 1] : tensor<4x3xf32> -> tensor<2x3xf32>
  %q = nn.scatter max %c, %v into %n : tensor<2xi64>, tensor<2x3xf32> -> tensor<4x3xf32>
  %d8, %m8 = nn.dropout %q ratio 0.1 number 8 : tensor<4x3xf32> -> tensor<4x3xi1>
  nn.return
}

// -----

// One sample cannot be mixed.

// CHECK-LABEL: nn.program @forward
// CHECK: nn.dropout %{{.*}} number 0 samples [0, 1] : tensor<15xf32>
nn.program @forward(
    %x: tensor<1x3x5xf32> {nn.input = #nn.input<"x", per_sample = true>}) {
  %t = nn.transpose %x [2, 0, 1] : tensor<1x3x5xf32> -> tensor<5x1x3xf32>
  %r = nn.reshape %t : tensor<5x1x3xf32> -> tensor<15xf32>
  %d, %m = nn.dropout %r ratio 0.1 number 0 : tensor<15xf32> -> tensor<15xi1>
  nn.return
}

// -----

// Random numbers: where the samples are, where a shape begins with as many, and
// else one for all of a micro-batch. What is like a value of mixed samples does
// not have them mixed.

// CHECK-LABEL: nn.program @forward
// CHECK: nn.random_like %{{.*}} number 0 samples [1, 4] : tensor<5x4xf32>
// CHECK: nn.random_like %{{.*}} number 1 samples [0, 4] : tensor<8x1xf32>
// CHECK: nn.random_like %{{.*}} number 2 samples [0, 1] : tensor<5x3xf32>
// CHECK: nn.random_like %{{.*}} number 3 samples [] : tensor<f32>
// CHECK: nn.random_like %{{.*}} number 4 samples [0, 1] : tensor<2x10xf32>
// CHECK: nn.dropout %{{.*}} number 5 samples [1, 4] : tensor<5x4xf32>
// CHECK: nn.dropout %{{.*}} number 6 samples [] : tensor<2x10xf32>
nn.program @forward(
    %x: tensor<4x5xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %w: tensor<5x3xf32> {nn.parameter = #nn.parameter<"w", module = "", trainable = true, init = normal>}) {
  %t = nn.transpose %x [1, 0] : tensor<4x5xf32> -> tensor<5x4xf32>
  %u0 = nn.random_like %t number 0 : tensor<5x4xf32> -> tensor<5x4xf32>
  %c = nn.constant dense<0.0> : tensor<8x1xf32>
  %u1 = nn.random_like %c number 1 : tensor<8x1xf32> -> tensor<8x1xf32>
  %u2 = nn.random_like %w number 2 : tensor<5x3xf32> -> tensor<5x3xf32>
  %s = nn.constant dense<0.0> : tensor<f32>
  %u3 = nn.random_like %s number 3 : tensor<f32> -> tensor<f32>
  %r = nn.reshape %t : tensor<5x4xf32> -> tensor<2x10xf32>
  %u4 = nn.random_like %r number 4 : tensor<2x10xf32> -> tensor<2x10xf32>
  %d5, %m5 = nn.dropout %u0 ratio 0.1 number 5 : tensor<5x4xf32> -> tensor<5x4xi1>
  %d6, %m6 = nn.dropout %u4 ratio 0.1 number 6 : tensor<2x10xf32> -> tensor<2x10xi1>
  nn.return
}

// -----

// Each sample reads and writes rows of its own, by an index that begins with
// its place.

// CHECK-LABEL: nn.program @forward
// CHECK: nn.dropout %{{.*}} number 0 samples [0, 4] : tensor<4x3xf32>
// CHECK: nn.dropout %{{.*}} number 1 samples [0, 4] : tensor<20x3xf32>
// CHECK: nn.dropout %{{.*}} number 2 samples [0, 4] : tensor<4x3xf32>
// CHECK: nn.dropout %{{.*}} number 3 samples [0, 4] : tensor<4x3xf32>
// CHECK: nn.dropout %{{.*}} number 4 samples [0, 4] : tensor<4x3xf32>
nn.program @forward(
    %x: tensor<4x5x3xf32> {nn.input = #nn.input<"x", per_sample = true>},
    %i: tensor<4xi64> {nn.input = #nn.input<"i", per_sample = true>}) {
  %t = nn.reshape %x : tensor<4x5x3xf32> -> tensor<20x3xf32>
  %n = nn.iota 0 : tensor<4xi64>
  %five = nn.constant dense<5> : tensor<4xi64>
  %b = nn.binary mul %n, %five : tensor<4xi64>
  %r = nn.binary add %b, %i : tensor<4xi64>
  %g = nn.gather %t, %r : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  %d0, %m0 = nn.dropout %g ratio 0.1 number 0 : tensor<4x3xf32> -> tensor<4x3xi1>
  %s = nn.scatter sum %r, %d0 : tensor<4xi64>, tensor<4x3xf32> -> tensor<20x3xf32>
  %d1, %m1 = nn.dropout %s ratio 0.1 number 1 : tensor<20x3xf32> -> tensor<20x3xi1>
  // The places as literal data, put beside the index and taken out again.
  %p = nn.constant dense<[[0], [5], [10], [15]]> : tensor<4x1xi64>
  %c = nn.reshape %i : tensor<4xi64> -> tensor<4x1xi64>
  %j = nn.concat %p, %c dim 1 : tensor<4x1xi64>, tensor<4x1xi64> -> tensor<4x2xi64>
  %p1 = nn.slice %j [0, 0] step [1, 1] : tensor<4x2xi64> -> tensor<4x1xi64>
  %p2 = nn.reshape %p1 : tensor<4x1xi64> -> tensor<4xi64>
  %r2 = nn.binary add %i, %p2 : tensor<4xi64>
  %g2 = nn.gather %t, %r2 : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  %d2, %m2 = nn.dropout %g2 ratio 0.1 number 2 : tensor<4x3xf32> -> tensor<4x3xi1>
  %last = nn.constant dense<[4, 0, 1, 4]> : tensor<4xi64>
  %r3 = nn.binary add %b, %last : tensor<4xi64>
  %g3 = nn.gather %t, %r3 : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  %d3, %m3 = nn.dropout %g3 ratio 0.1 number 3 : tensor<4x3xf32> -> tensor<4x3xi1>
  // Places and rows beside each other in one literal.
  %both = nn.constant dense<[[0, 4], [1, 0], [2, 1], [3, 4]]> : tensor<4x2xi64>
  %both0 = nn.slice %both [0, 0] step [1, 1] : tensor<4x2xi64> -> tensor<4x1xi64>
  %place = nn.reshape %both0 : tensor<4x1xi64> -> tensor<4xi64>
  %begin = nn.binary mul %place, %five : tensor<4xi64>
  %both1 = nn.slice %both [0, 1] step [1, 1] : tensor<4x2xi64> -> tensor<4x1xi64>
  %row = nn.reshape %both1 : tensor<4x1xi64> -> tensor<4xi64>
  %r4 = nn.binary add %begin, %row : tensor<4xi64>
  %g4 = nn.gather %t, %r4 : tensor<20x3xf32>, tensor<4xi64> -> tensor<4x3xf32>
  %d4, %m4 = nn.dropout %g4 ratio 0.1 number 4 : tensor<4x3xf32> -> tensor<4x3xi1>
  nn.return
}
