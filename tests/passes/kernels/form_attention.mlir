// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(nn.program(nn-form-attention,nn-form-kernels,nn-verify-kernels))' | FileCheck %s

// Queries, keys and values are read in the product that they lie in; what has 16
// bits is computed with in f32.

// CHECK-LABEL: nn.program @packed
// CHECK-NEXT: %{{.*}}:3 = nn.kernel attention (%[[A:.*]] = %qkv) : (tensor<2x8x18xbf16>) -> (tensor<2x8x3x2xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
// CHECK: nn.slice %[[A]]
// CHECK: nn.convert {{.*}} -> tensor<2x8x3x2xf32>
// CHECK: nn.attention {{.*}} -> (tensor<2x8x3x2xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>)
// CHECK: %[[OUT:.*]] = nn.convert {{.*}} -> tensor<2x8x3x2xbf16>
// CHECK-NEXT: nn.yield %[[OUT]]
nn.program @packed(%qkv: tensor<2x8x18xbf16>) -> tensor<2x8x3x2xbf16> {
  %q = nn.slice %qkv [0, 0, 0] step [1, 1, 1] : tensor<2x8x18xbf16> -> tensor<2x8x6xbf16>
  %k = nn.slice %qkv [0, 0, 6] step [1, 1, 1] : tensor<2x8x18xbf16> -> tensor<2x8x6xbf16>
  %v = nn.slice %qkv [0, 0, 12] step [1, 1, 1] : tensor<2x8x18xbf16> -> tensor<2x8x6xbf16>
  %q1 = nn.reshape %q : tensor<2x8x6xbf16> -> tensor<2x8x3x2xbf16>
  %k1 = nn.reshape %k : tensor<2x8x6xbf16> -> tensor<2x8x3x2xbf16>
  %v1 = nn.reshape %v : tensor<2x8x6xbf16> -> tensor<2x8x3x2xbf16>
  %o, %m, %i = nn.attention %q1, %k1, %v1 : (tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>) -> (tensor<2x8x3x2xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  ^bb0(%s: tensor<2x3x8x8xf32>):
    nn.yield %s : tensor<2x3x8x8xf32>
  }
  nn.return %o : tensor<2x8x3x2xbf16>
}

// -----

// A chain of views in the region that has no address formula is computed before.

// CHECK-LABEL: nn.program @hoisted
// CHECK-NEXT: %[[COPY:.*]] = nn.kernel rows
// CHECK: %[[FLAT:.*]] = nn.reshape %[[COPY]] : tensor<2x3xf32> -> tensor<1x1x6x1xf32>
// CHECK: nn.kernel attention (%{{.*}} = %q, %[[A:.*]] = %[[FLAT]], %[[B:.*]] = %{{.*}})
// CHECK-NEXT: nn.attention {{.*}} with %[[A]], %[[B]]
nn.program @hoisted(%q: tensor<1x6x1x2xf32>, %bias: tensor<3x2xf32>) -> tensor<1x6x1x2xf32> {
  %o, %m, %i = nn.attention %q, %q, %q with %bias : (tensor<1x6x1x2xf32>, tensor<1x6x1x2xf32>, tensor<1x6x1x2xf32>, tensor<3x2xf32>) -> (tensor<1x6x1x2xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>) {
  ^bb0(%s: tensor<1x1x6x6xf32>, %b: tensor<3x2xf32>):
    %t = nn.transpose %b [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
    %r = nn.reshape %t : tensor<2x3xf32> -> tensor<1x1x6x1xf32>
    %w = nn.broadcast %r : tensor<1x1x6x1xf32> -> tensor<1x1x6x6xf32>
    %r2 = nn.reshape %w : tensor<1x1x6x6xf32> -> tensor<1x1x6x6xf32>
    %flat = nn.reshape %t : tensor<2x3xf32> -> tensor<6xf32>
    %p = nn.pad %flat [0] value 0.0 : f32 : tensor<6xf32> -> tensor<36xf32>
    %p2 = nn.reshape %p : tensor<36xf32> -> tensor<1x1x6x6xf32>
    %x = nn.binary add %s, %r2 : tensor<1x1x6x6xf32>
    %y = nn.binary add %x, %p2 : tensor<1x1x6x6xf32>
    nn.yield %y : tensor<1x1x6x6xf32>
  }
  nn.return %o : tensor<1x6x1x2xf32>
}

// -----

// A bias that rises with the distance (ALiBi), with heads and samples as one
// dimension: what is computed before leaves a chain of ops that nothing reads.

// CHECK-LABEL: nn.program @alibi
// CHECK-NEXT: nn.kernel rows (%{{.*}} = %mask)
// CHECK: %[[BIAS:.*]] = nn.reshape %{{.*}} : tensor<2x4x16xf32> -> tensor<8x16x1xf32>
// CHECK-NEXT: nn.kernel attention (%{{.*}} = %q, %[[B:.*]] = %[[BIAS]])
// CHECK-NEXT: nn.attention {{.*}} with %[[B]]
// CHECK-NOT: tensor<2x16xi64>
// CHECK: nn.return
nn.program @alibi(%q: tensor<2x16x4x16xf32>, %mask: tensor<2x16xi64>) -> tensor<2x16x4x16xf32> {
  %o, %m, %i = nn.attention %q, %q, %q with %mask : (tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16x4x16xf32>, tensor<2x16xi64>) -> (tensor<2x16x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x16xf32>) {
  ^bb0(%s: tensor<2x4x16x16xf32>, %k: tensor<2x16xi64>):
    %slopes = nn.constant dense<[[[0.25], [0.0625], [0.015625], [0.00390625]]]> : tensor<1x4x1xf32>
    %one = nn.constant dense<1> : tensor<2x16xi64>
    %flat = nn.reshape %s : tensor<2x4x16x16xf32> -> tensor<8x16x16xf32>
    %0 = nn.binary sub %k, %one : tensor<2x16xi64>
    %1 = nn.binary mul %0, %k : tensor<2x16xi64>
    %2 = nn.reshape %1 : tensor<2x16xi64> -> tensor<2x1x16xi64>
    %3 = nn.convert %2 : tensor<2x1x16xi64> -> tensor<2x1x16xf32>
    %4 = nn.broadcast %slopes : tensor<1x4x1xf32> -> tensor<2x4x16xf32>
    %5 = nn.broadcast %3 : tensor<2x1x16xf32> -> tensor<2x4x16xf32>
    %6 = nn.binary mul %4, %5 : tensor<2x4x16xf32>
    %7 = nn.reshape %6 : tensor<2x4x16xf32> -> tensor<8x16x1xf32>
    %8 = nn.broadcast %7 : tensor<8x16x1xf32> -> tensor<8x16x16xf32>
    %9 = nn.binary add %flat, %8 : tensor<8x16x16xf32>
    %x = nn.reshape %9 : tensor<8x16x16xf32> -> tensor<2x4x16x16xf32>
    nn.yield %x : tensor<2x4x16x16xf32>
  }
  nn.return %o : tensor<2x16x4x16xf32>
}

// -----

// The gradient of a bias is a result of the kernel.

// CHECK-LABEL: nn.program @bias
// CHECK-NEXT: %[[ALL:.*]]:4 = nn.kernel attention ({{.*}} = %bias) {{.*}} -> (tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<3x8x8xf32>)
// CHECK: %{{.*}}, %{{.*}}, %{{.*}}, %[[OWN:.*]] = nn.attention_grad
// CHECK: nn.yield %{{.*}}, %{{.*}}, %{{.*}}, %[[OWN]]
// CHECK: nn.return %[[ALL]]#3
nn.program @bias(%q: tensor<2x8x3x2xbf16>, %m: tensor<2x3x8xf32>, %bias: tensor<3x8x8xf32>) -> tensor<3x8x8xf32> {
  %dq, %dk, %dv, %db = nn.attention_grad %q, %q, %q, %m, %m, %q, %m with %bias : (tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x2xbf16>, tensor<2x3x8xf32>, tensor<3x8x8xf32>) -> (tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<2x8x3x2xbf16>, tensor<3x8x8xf32>) {
  ^bb0(%s: tensor<2x3x8x8xf32>, %g: tensor<2x3x8x8xf32>, %b: tensor<3x8x8xf32>):
    %once = nn.reshape %b : tensor<3x8x8xf32> -> tensor<1x3x8x8xf32>
    %each = nn.broadcast %once : tensor<1x3x8x8xf32> -> tensor<2x3x8x8xf32>
    %x = nn.binary add %s, %each : tensor<2x3x8x8xf32>
    nn.yield %x, %g, %g : tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>
  }
  nn.return %db : tensor<3x8x8xf32>
}

// -----

// Gradients that lie side by side in rows are one result; those that are read
// besides are not.

// CHECK-LABEL: nn.program @packed_gradients
// CHECK-NEXT: %[[ALL:.*]] = nn.kernel attention {{.*}} -> tensor<2x8x144xbf16> {
// CHECK: %[[D:.*]]:3 = nn.attention_grad
// CHECK: nn.concat %{{.*}}, %{{.*}}, %{{.*}} dim 2
// CHECK-NEXT: nn.yield
// CHECK: nn.return %[[ALL]]
nn.program @packed_gradients(%q: tensor<2x8x3x16xbf16>, %m: tensor<2x3x8xf32>) -> tensor<2x8x144xbf16> {
  %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %m, %m, %q, %m : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x16xbf16>, tensor<2x3x8xf32>) -> (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) {
  ^bb0(%s: tensor<2x3x8x8xf32>, %g: tensor<2x3x8x8xf32>):
    nn.yield %s, %g : tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>
  }
  %0 = nn.reshape %dq : tensor<2x8x3x16xbf16> -> tensor<2x8x48xbf16>
  %1 = nn.reshape %dk : tensor<2x8x3x16xbf16> -> tensor<2x8x48xbf16>
  %2 = nn.reshape %dv : tensor<2x8x3x16xbf16> -> tensor<2x8x48xbf16>
  %all = nn.concat %1, %0, %2 dim 2 : tensor<2x8x48xbf16>, tensor<2x8x48xbf16>, tensor<2x8x48xbf16> -> tensor<2x8x144xbf16>
  nn.return %all : tensor<2x8x144xbf16>
}

// -----

// The kernel follows what a permutation makes of a concatenation, and rounds
// once on the way.

// CHECK-LABEL: nn.program @permuted_gradients
// CHECK-NEXT: %[[ALL:.*]] = nn.kernel attention {{.*}} -> tensor<8x2x3x48xbf16> {
// CHECK: nn.concat
// CHECK-NEXT: %[[TURNED:.*]] = nn.transpose
// CHECK-NEXT: nn.yield %[[TURNED]]
// CHECK: nn.return %[[ALL]]
nn.program @permuted_gradients(%q: tensor<2x8x3x16xf32>, %m: tensor<2x3x8xf32>) -> tensor<8x2x3x48xbf16> {
  %dq, %dk, %dv = nn.attention_grad %q, %q, %q, %m, %m, %q, %m : (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x8x3x16xf32>, tensor<2x3x8xf32>) -> (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) {
  ^bb0(%s: tensor<2x3x8x8xf32>, %g: tensor<2x3x8x8xf32>):
    nn.yield %s, %g : tensor<2x3x8x8xf32>, tensor<2x3x8x8xf32>
  }
  %0 = nn.convert %dq : tensor<2x8x3x16xf32> -> tensor<2x8x3x16xbf16>
  %1 = nn.convert %dk : tensor<2x8x3x16xf32> -> tensor<2x8x3x16xbf16>
  %2 = nn.convert %dv : tensor<2x8x3x16xf32> -> tensor<2x8x3x16xbf16>
  %3 = nn.reshape %0 : tensor<2x8x3x16xbf16> -> tensor<1x2x8x48xbf16>
  %4 = nn.reshape %1 : tensor<2x8x3x16xbf16> -> tensor<1x2x8x48xbf16>
  %5 = nn.reshape %2 : tensor<2x8x3x16xbf16> -> tensor<1x2x8x48xbf16>
  %6 = nn.concat %3, %4, %5 dim 0 : tensor<1x2x8x48xbf16>, tensor<1x2x8x48xbf16>, tensor<1x2x8x48xbf16> -> tensor<3x2x8x48xbf16>
  %all = nn.transpose %6 [2, 1, 0, 3] : tensor<3x2x8x48xbf16> -> tensor<8x2x3x48xbf16>
  nn.return %all : tensor<8x2x3x48xbf16>
}
