// RUN: zerograph-opt %s --pass-pipeline='builtin.module(nn.program(nn-decompose,canonicalize,cse,nn-form-kernels,cse,nn-verify-kernels))' | FileCheck %s

// Two products apart, the mask is made twice and kept nowhere: kernels read the
// run's numbers, and store nothing but the products' operands.

// CHECK-LABEL: nn.program @mask
// CHECK: nn.kernel rows (%{{.*}} = %seed, %{{.*}} = %step, %{{.*}} = %x) : (tensor<1xi64>, tensor<1xi64>, tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: nn.random_uniform
// CHECK: nn.select
// CHECK: nn.matmul
// CHECK-NEXT: nn.kernel rows ({{.*}}) : ({{.*}}) -> tensor<4x8xf32>
// CHECK: nn.random_uniform
// CHECK: nn.select
// CHECK-NOT: nn.kernel
nn.program @mask(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>,
                %seed: tensor<1xi64> {nn.scalar = #nn.scalar<"seed">},
                %step: tensor<1xi64> {nn.scalar = #nn.scalar<"step">}) -> tensor<4x8xf32> {
  %r = nn.iota 0 : tensor<32xi64>
  %index = nn.reshape %r : tensor<32xi64> -> tensor<4x8xi64>
  %s0 = nn.reshape %seed : tensor<1xi64> -> tensor<1x1xi64>
  %s = nn.broadcast %s0 : tensor<1x1xi64> -> tensor<4x8xi64>
  %t0 = nn.reshape %step : tensor<1xi64> -> tensor<1x1xi64>
  %t = nn.broadcast %t0 : tensor<1x1xi64> -> tensor<4x8xi64>
  %u = nn.random_uniform %s, %t, %index number 0 : tensor<4x8xi64> -> tensor<4x8xf32>
  %ratio = nn.constant dense<0.5> : tensor<4x8xf32>
  %zero = nn.constant dense<0.0> : tensor<4x8xf32>
  %keep = nn.compare ge %u, %ratio : tensor<4x8xf32> -> tensor<4x8xi1>
  %y = nn.select %keep, %x, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  %z = nn.matmul %y, %w : tensor<4x8xf32>, tensor<8x8xf32> -> tensor<4x8xf32>
  %b = nn.select %keep, %z, %zero : tensor<4x8xi1>, tensor<4x8xf32>
  nn.return %b : tensor<4x8xf32>
}
