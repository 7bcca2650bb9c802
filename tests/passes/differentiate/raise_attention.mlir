// RUN: zerograph-opt %s --split-input-file --nn-raise-attention --canonicalize --cse | FileCheck %s

// Heads are read where the product that made them left them; factors of queries
// and keys multiply scores; a softmax that is zero where it is not a number
// leaves queries zero of which everything is masked.

// CHECK-LABEL: nn.program @scaled(
// CHECK: %[[Q:.*]] = nn.slice %qkv [0, 0, 0]
// CHECK: %[[QH:.*]] = nn.reshape %[[Q]] : tensor<2x8x6xf32> -> tensor<2x8x3x2xf32>
// CHECK: %[[KH:.*]] = nn.reshape %{{.*}} : tensor<2x8x6xf32> -> tensor<2x8x3x2xf32>
// CHECK: %[[VH:.*]] = nn.reshape %{{.*}} : tensor<2x8x6xf32> -> tensor<2x8x3x2xf32>
// CHECK-NEXT: %[[OUT:.*]], %{{.*}}, %{{.*}} = nn.attention %[[QH]], %[[KH]], %[[VH]] zero_masked
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<2x3x8x8xf32>):
// CHECK: nn.constant dense<2.500000e-01>
// CHECK: nn.compare le
// CHECK: nn.select
// CHECK: nn.yield
// CHECK: nn.reshape %[[OUT]] : tensor<2x8x3x2xf32> -> tensor<2x8x6xf32>
// CHECK-NOT: nn.softmax
nn.program @scaled(%qkv: tensor<2x8x18xf32>) -> tensor<2x8x6xf32> {
  %q = nn.slice %qkv [0, 0, 0] step [1, 1, 1] : tensor<2x8x18xf32> -> tensor<2x8x6xf32>
  %k = nn.slice %qkv [0, 0, 6] step [1, 1, 1] : tensor<2x8x18xf32> -> tensor<2x8x6xf32>
  %v = nn.slice %qkv [0, 0, 12] step [1, 1, 1] : tensor<2x8x18xf32> -> tensor<2x8x6xf32>
  %q1 = nn.reshape %q : tensor<2x8x6xf32> -> tensor<2x8x3x2xf32>
  %q2 = nn.transpose %q1 [0, 2, 1, 3] : tensor<2x8x3x2xf32> -> tensor<2x3x8x2xf32>
  %k1 = nn.reshape %k : tensor<2x8x6xf32> -> tensor<2x8x3x2xf32>
  %k2 = nn.transpose %k1 [0, 2, 1, 3] : tensor<2x8x3x2xf32> -> tensor<2x3x8x2xf32>
  // Batch and heads are merged and split again, as an exporter does.
  %k3 = nn.reshape %k2 : tensor<2x3x8x2xf32> -> tensor<6x8x2xf32>
  %k4 = nn.transpose %k3 [0, 2, 1] : tensor<6x8x2xf32> -> tensor<6x2x8xf32>
  %k5 = nn.reshape %k4 : tensor<6x2x8xf32> -> tensor<2x3x2x8xf32>
  %v1 = nn.reshape %v : tensor<2x8x6xf32> -> tensor<2x8x3x2xf32>
  %v2 = nn.transpose %v1 [0, 2, 1, 3] : tensor<2x8x3x2xf32> -> tensor<2x3x8x2xf32>
  %half = nn.constant dense<0.5> : tensor<2x3x8x2xf32>
  %half2 = nn.constant dense<0.5> : tensor<2x3x2x8xf32>
  %q3 = nn.binary mul %q2, %half : tensor<2x3x8x2xf32>
  %k6 = nn.binary mul %k5, %half2 : tensor<2x3x2x8xf32>
  %s = nn.matmul %q3, %k6 : tensor<2x3x8x2xf32>, tensor<2x3x2x8xf32> -> tensor<2x3x8x8xf32>
  %i = nn.iota 2 : tensor<2x3x8x8xi64>
  %j = nn.iota 3 : tensor<2x3x8x8xi64>
  %seen = nn.compare le %j, %i : tensor<2x3x8x8xi64> -> tensor<2x3x8x8xi1>
  %masked = nn.constant dense<-3.0e38> : tensor<2x3x8x8xf32>
  %x = nn.select %seen, %s, %masked : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %p = nn.softmax %x : tensor<2x3x8x8xf32>
  %bad = nn.unary is_nan %p : tensor<2x3x8x8xf32> -> tensor<2x3x8x8xi1>
  %zero = nn.constant dense<0.0> : tensor<2x3x8x8xf32>
  %y = nn.select %bad, %zero, %p : tensor<2x3x8x8xi1>, tensor<2x3x8x8xf32>
  %o = nn.matmul %y, %v2 : tensor<2x3x8x8xf32>, tensor<2x3x8x2xf32> -> tensor<2x3x8x2xf32>
  %o1 = nn.transpose %o [0, 2, 1, 3] : tensor<2x3x8x2xf32> -> tensor<2x8x3x2xf32>
  %o2 = nn.reshape %o1 : tensor<2x8x3x2xf32> -> tensor<2x8x6xf32>
  nn.return %o2 : tensor<2x8x6xf32>
}

// -----

// Keys that a broadcast repeats for each head of a group are read once. A mask
// that is data is an extra.

// CHECK-LABEL: nn.program @grouped(
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} with %mask
// CHECK-SAME: (tensor<1x8x4x2xf32>, tensor<1x8x2x2xf32>, tensor<1x8x2x2xf32>, tensor<1x8xi1>)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x4x8x8xf32>, %{{.*}}: tensor<1x8xi1>):
// CHECK-NOT: nn.softmax
nn.program @grouped(%q: tensor<1x4x8x2xf32>, %k: tensor<1x2x8x2xf32>, %v: tensor<1x2x8x2xf32>, %mask: tensor<1x8xi1>) -> tensor<1x4x8x2xf32> {
  %k1 = nn.reshape %k : tensor<1x2x8x2xf32> -> tensor<1x2x1x8x2xf32>
  %k2 = nn.broadcast %k1 : tensor<1x2x1x8x2xf32> -> tensor<1x2x2x8x2xf32>
  %k3 = nn.reshape %k2 : tensor<1x2x2x8x2xf32> -> tensor<1x4x8x2xf32>
  %v1 = nn.reshape %v : tensor<1x2x8x2xf32> -> tensor<1x2x1x8x2xf32>
  %v2 = nn.broadcast %v1 : tensor<1x2x1x8x2xf32> -> tensor<1x2x2x8x2xf32>
  %v3 = nn.reshape %v2 : tensor<1x2x2x8x2xf32> -> tensor<1x4x8x2xf32>
  %s = nn.matmul %q, %k3 transpose_b : tensor<1x4x8x2xf32>, tensor<1x4x8x2xf32> -> tensor<1x4x8x8xf32>
  %m1 = nn.reshape %mask : tensor<1x8xi1> -> tensor<1x1x1x8xi1>
  %m2 = nn.broadcast %m1 : tensor<1x1x1x8xi1> -> tensor<1x4x8x8xi1>
  %masked = nn.constant dense<-3.0e38> : tensor<1x4x8x8xf32>
  %x = nn.select %m2, %s, %masked : tensor<1x4x8x8xi1>, tensor<1x4x8x8xf32>
  %p = nn.softmax %x : tensor<1x4x8x8xf32>
  %o = nn.matmul %p, %v3 : tensor<1x4x8x8xf32>, tensor<1x4x8x2xf32> -> tensor<1x4x8x2xf32>
  nn.return %o : tensor<1x4x8x2xf32>
}

// -----

// A trained bias that all samples have is an extra before it is repeated for
// them, with keys before queries. What is computed of it is in the region.

// CHECK-LABEL: nn.program @relative(
// CHECK: %[[BIAS:.*]] = nn.gather %table, %places
// CHECK: %[[TURNED:.*]] = nn.transpose %[[BIAS]] [2, 1, 0] : tensor<4x8x3xf32> -> tensor<3x8x4xf32>
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} with %mask, %[[TURNED]] :
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x3x8x4xf32>, %{{.*}}: tensor<2x8xf32>, %[[B:.*]]: tensor<3x8x4xf32>):
// CHECK-NEXT: %[[ONCE:.*]] = nn.reshape %[[B]] : tensor<3x8x4xf32> -> tensor<1x3x8x4xf32>
// CHECK-NEXT: %[[EACH:.*]] = nn.broadcast %[[ONCE]] : tensor<1x3x8x4xf32> -> tensor<2x3x8x4xf32>
// CHECK-NEXT: nn.transpose %[[EACH]] [0, 1, 3, 2]
// CHECK-NOT: nn.softmax
nn.program @relative(%q: tensor<2x3x4x2xf32>, %k: tensor<2x3x8x2xf32>, %mask: tensor<2x8xf32>, %table: tensor<5x3xf32> {nn.parameter = #nn.parameter<"table", module = "", trainable = true, init = normal>} loc("table"), %places: tensor<4x8xi64>) -> tensor<2x3x4x2xf32> {
  %s = nn.matmul %q, %k transpose_b : tensor<2x3x4x2xf32>, tensor<2x3x8x2xf32> -> tensor<2x3x4x8xf32>
  %g = nn.gather %table, %places : tensor<5x3xf32>, tensor<4x8xi64> -> tensor<4x8x3xf32>
  %t = nn.transpose %g [2, 0, 1] : tensor<4x8x3xf32> -> tensor<3x4x8xf32>
  %u = nn.reshape %t : tensor<3x4x8xf32> -> tensor<1x3x4x8xf32>
  %m1 = nn.reshape %mask : tensor<2x8xf32> -> tensor<2x1x1x8xf32>
  %m2 = nn.broadcast %m1 : tensor<2x1x1x8xf32> -> tensor<2x3x4x8xf32>
  %b = nn.broadcast %u : tensor<1x3x4x8xf32> -> tensor<2x3x4x8xf32>
  %both = nn.binary add %m2, %b : tensor<2x3x4x8xf32>
  %x = nn.binary add %s, %both : tensor<2x3x4x8xf32>
  %p = nn.softmax %x : tensor<2x3x4x8xf32>
  %o = nn.matmul %p, %k : tensor<2x3x4x8xf32>, tensor<2x3x8x2xf32> -> tensor<2x3x4x2xf32>
  nn.return %o : tensor<2x3x4x2xf32>
}

// -----

// A mask is added to scores of samples and heads, which are merged for the
// softmax: the region has them apart, and nothing there is merged.

// CHECK-LABEL: nn.program @viewed(
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} with %mask : (tensor<2x8x3x2xf32>,
// CHECK-NEXT: ^bb0(%[[S:.*]]: tensor<2x3x8x8xf32>, %[[M:.*]]: tensor<2x1x8x8xf32>):
// CHECK-NOT: nn.reshape
// CHECK: nn.yield
nn.program @viewed(%q: tensor<6x8x2xf32>, %k: tensor<6x8x2xf32>, %mask: tensor<2x1x8x8xf32>) -> tensor<6x8x2xf32> {
  %s = nn.matmul %q, %k transpose_b : tensor<6x8x2xf32>, tensor<6x8x2xf32> -> tensor<6x8x8xf32>
  %s1 = nn.reshape %s : tensor<6x8x8xf32> -> tensor<2x3x8x8xf32>
  %m = nn.broadcast %mask : tensor<2x1x8x8xf32> -> tensor<2x3x8x8xf32>
  %x = nn.binary add %s1, %m : tensor<2x3x8x8xf32>
  %x1 = nn.reshape %x : tensor<2x3x8x8xf32> -> tensor<6x8x8xf32>
  %p = nn.softmax %x1 : tensor<6x8x8xf32>
  %o = nn.matmul %p, %k : tensor<6x8x8xf32>, tensor<6x8x2xf32> -> tensor<6x8x2xf32>
  nn.return %o : tensor<6x8x2xf32>
}

// -----

// A bias that is trained says what samples and heads are.

// CHECK-LABEL: nn.program @biased(
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} with %mask, %{{.*}} : (tensor<6x256x1x2xf32>, {{.*}} tensor<2x1x256x256xf32>, tensor<1x256x256xf32>)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<6x1x256x256xf32>,
nn.program @biased(%q: tensor<6x256x2xf32>, %mask: tensor<2x1x256x256xf32>, %bias: tensor<1x256x256xf32> {nn.parameter = #nn.parameter<"bias", module = "", trainable = true, init = normal>} loc("bias")) -> tensor<6x256x2xf32> {
  %s = nn.matmul %q, %q transpose_b : tensor<6x256x2xf32>, tensor<6x256x2xf32> -> tensor<6x256x256xf32>
  %b = nn.broadcast %bias : tensor<1x256x256xf32> -> tensor<6x256x256xf32>
  %s1 = nn.binary add %s, %b : tensor<6x256x256xf32>
  %s2 = nn.reshape %s1 : tensor<6x256x256xf32> -> tensor<2x3x256x256xf32>
  %m = nn.broadcast %mask : tensor<2x1x256x256xf32> -> tensor<2x3x256x256xf32>
  %x = nn.binary add %s2, %m : tensor<2x3x256x256xf32>
  %x1 = nn.reshape %x : tensor<2x3x256x256xf32> -> tensor<6x256x256xf32>
  %p = nn.softmax %x1 : tensor<6x256x256xf32>
  %o = nn.matmul %p, %q : tensor<6x256x256xf32>, tensor<6x256x2xf32> -> tensor<6x256x2xf32>
  nn.return %o : tensor<6x256x2xf32>
}

// -----

// Windows of a sample have masks of their own: samples and windows merge before
// the mask is repeated for heads, so no more than that is in memory.

// CHECK-LABEL: nn.program @shifted(
// CHECK: nn.attention
// CHECK: %[[EACH:.*]] = nn.broadcast %{{.*}} : tensor<1x4x1x8x8xf32> -> tensor<2x4x1x8x8xf32>
// CHECK-NEXT: %[[MERGED:.*]] = nn.reshape %[[EACH]] : tensor<2x4x1x8x8xf32> -> tensor<8x1x8x8xf32>
// CHECK-NEXT: nn.broadcast %[[MERGED]] : tensor<8x1x8x8xf32> -> tensor<8x3x8x8xf32>
// CHECK: nn.yield
nn.program @shifted(%q: tensor<8x3x8x2xf32>, %mask: tensor<4x8x8xf32>) -> tensor<8x3x8x2xf32> {
  %s = nn.matmul %q, %q transpose_b : tensor<8x3x8x2xf32>, tensor<8x3x8x2xf32> -> tensor<8x3x8x8xf32>
  %s1 = nn.reshape %s : tensor<8x3x8x8xf32> -> tensor<2x4x3x8x8xf32>
  %m1 = nn.reshape %mask : tensor<4x8x8xf32> -> tensor<1x4x1x8x8xf32>
  %m2 = nn.broadcast %m1 : tensor<1x4x1x8x8xf32> -> tensor<2x4x3x8x8xf32>
  %x = nn.binary add %s1, %m2 : tensor<2x4x3x8x8xf32>
  %x1 = nn.reshape %x : tensor<2x4x3x8x8xf32> -> tensor<8x3x8x8xf32>
  %p = nn.softmax %x1 : tensor<8x3x8x8xf32>
  %o = nn.matmul %p, %q : tensor<8x3x8x8xf32>, tensor<8x3x8x2xf32> -> tensor<8x3x8x2xf32>
  nn.return %o : tensor<8x3x8x2xf32>
}

// -----

// A bias without samples says what is a head of merged matrices. One that all
// heads and queries have is repeated for these before.

// CHECK-LABEL: nn.program @merged(
// CHECK: %[[ALL:.*]] = nn.broadcast %{{.*}} : tensor<1x1x8xf32> -> tensor<3x8x8xf32>
// CHECK-NEXT: %[[TURNED:.*]] = nn.transpose %[[ALL]] [0, 2, 1] : tensor<3x8x8xf32> -> tensor<3x8x8xf32>
// CHECK: nn.attention %{{.*}}, %{{.*}}, %{{.*}} with %[[TURNED]] : (tensor<2x8x3x2xf32>,
// CHECK-NOT: nn.softmax
nn.program @merged(%q: tensor<6x8x2xf32>, %k: tensor<6x8x2xf32>, %bias: tensor<8xf32> {nn.parameter = #nn.parameter<"bias", module = "", trainable = true, init = normal>} loc("bias")) -> tensor<6x8x2xf32> {
  %s = nn.matmul %q, %k transpose_b : tensor<6x8x2xf32>, tensor<6x8x2xf32> -> tensor<6x8x8xf32>
  %u = nn.reshape %bias : tensor<8xf32> -> tensor<1x1x1x8xf32>
  %b = nn.broadcast %u : tensor<1x1x1x8xf32> -> tensor<2x3x8x8xf32>
  %b1 = nn.reshape %b : tensor<2x3x8x8xf32> -> tensor<6x8x8xf32>
  %x = nn.binary add %s, %b1 : tensor<6x8x8xf32>
  %p = nn.softmax %x : tensor<6x8x8xf32>
  %o = nn.matmul %p, %k : tensor<6x8x8xf32>, tensor<6x8x2xf32> -> tensor<6x8x2xf32>
  nn.return %o : tensor<6x8x2xf32>
}

// -----

// A bias of many samples and few scores is left alone.

// CHECK-LABEL: nn.program @windows(
// CHECK: nn.softmax {{.*}}nn.unfused = "a bias of its scores, 'bias', is trained, with fewer blocks of scores (2) than samples (3)"
nn.program @windows(%q: tensor<3x2x4x2xf32>, %k: tensor<3x2x4x2xf32>, %bias: tensor<1x2x4x4xf32> {nn.parameter = #nn.parameter<"bias", module = "", trainable = true, init = normal>} loc("bias")) -> tensor<3x2x4x2xf32> {
  %s = nn.matmul %q, %k transpose_b : tensor<3x2x4x2xf32>, tensor<3x2x4x2xf32> -> tensor<3x2x4x4xf32>
  %b = nn.broadcast %bias : tensor<1x2x4x4xf32> -> tensor<3x2x4x4xf32>
  %x = nn.binary add %s, %b : tensor<3x2x4x4xf32>
  %p = nn.softmax %x : tensor<3x2x4x4xf32>
  %o = nn.matmul %p, %k : tensor<3x2x4x4xf32>, tensor<3x2x4x2xf32> -> tensor<3x2x4x2xf32>
  nn.return %o : tensor<3x2x4x2xf32>
}

// -----

// What looks like attention and is none says why.

// CHECK-LABEL: nn.program @others(
// CHECK: nn.softmax {{.*}}nn.unfused = "a bias of its scores, 'bias', is trained and not the same for all samples"
// CHECK: nn.softmax {{.*}}nn.unfused = "two biases of its scores, 'once' and 'other', are trained"
// CHECK: nn.softmax {{.*}}nn.unfused = "something else reads its probabilities"
// CHECK: nn.softmax {{.*}}nn.unfused = "its scores are a sum of several products"
nn.program @others(%q: tensor<2x8x2xf32>, %k: tensor<2x8x2xf32>, %v: tensor<2x8x2xf32>, %bias: tensor<2x8x8xf32> {nn.parameter = #nn.parameter<"bias", module = "", trainable = true, init = normal>} loc("bias"), %once: tensor<1x8x8xf32> {nn.parameter = #nn.parameter<"once", module = "", trainable = true, init = normal>} loc("once"), %other: tensor<1x8x8xf32> {nn.parameter = #nn.parameter<"other", module = "", trainable = true, init = normal>} loc("other")) -> (tensor<2x8x2xf32>, tensor<2x8x2xf32>, tensor<2x8x2xf32>, tensor<2x8x8xf32>, tensor<2x8x2xf32>) {
  %s = nn.matmul %q, %k transpose_b : tensor<2x8x2xf32>, tensor<2x8x2xf32> -> tensor<2x8x8xf32>
  %x = nn.binary add %s, %bias : tensor<2x8x8xf32>
  %p = nn.softmax %x : tensor<2x8x8xf32>
  %o = nn.matmul %p, %v : tensor<2x8x8xf32>, tensor<2x8x2xf32> -> tensor<2x8x2xf32>
  %b1 = nn.broadcast %once : tensor<1x8x8xf32> -> tensor<2x8x8xf32>
  %b2 = nn.broadcast %other : tensor<1x8x8xf32> -> tensor<2x8x8xf32>
  %y1 = nn.binary add %s, %b1 : tensor<2x8x8xf32>
  %y2 = nn.binary add %y1, %b2 : tensor<2x8x8xf32>
  %p3 = nn.softmax %y2 : tensor<2x8x8xf32>
  %o3 = nn.matmul %p3, %v : tensor<2x8x8xf32>, tensor<2x8x2xf32> -> tensor<2x8x2xf32>
  %p1 = nn.softmax %s : tensor<2x8x8xf32>
  %o1 = nn.matmul %p1, %v : tensor<2x8x8xf32>, tensor<2x8x2xf32> -> tensor<2x8x2xf32>
  %s1 = nn.matmul %k, %q transpose_b : tensor<2x8x2xf32>, tensor<2x8x2xf32> -> tensor<2x8x8xf32>
  %x1 = nn.binary add %s, %s1 : tensor<2x8x8xf32>
  %p2 = nn.softmax %x1 : tensor<2x8x8xf32>
  %o2 = nn.matmul %p2, %v : tensor<2x8x8xf32>, tensor<2x8x2xf32> -> tensor<2x8x2xf32>
  nn.return %o, %o3, %o1, %p1, %o2 : tensor<2x8x2xf32>, tensor<2x8x2xf32>, tensor<2x8x2xf32>, tensor<2x8x8xf32>, tensor<2x8x2xf32>
}
