// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-prefetch{prefetch=1})' | FileCheck %s
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-prefetch{prefetch=2})' | FileCheck %s --check-prefix=TWO
// RUN: zerograph-opt %s --pass-pipeline='builtin.module(zero-prefetch{prefetch=0})' | FileCheck %s --check-prefix=NONE

// Each gather starts where the one `distance` before it is awaited, so that
// many units more are live; the order of collectives stays.

// CHECK-LABEL: @step
// CHECK: zero.prefetch %a
// CHECK-NEXT: zero.await
// CHECK-NEXT: zero.prefetch %b
// CHECK: zero.release
// CHECK-NEXT: zero.await
// CHECK-NEXT: zero.prefetch %c
// CHECK: zero.await
// TWO-LABEL: @step
// TWO: zero.prefetch %a
// TWO-NEXT: zero.prefetch %b
// TWO-NEXT: zero.await
// TWO-NEXT: zero.prefetch %c
// NONE-LABEL: @step
// NONE-NOT: zero.prefetch
nn.program @step(%a: tensor<256xf32>, %b: tensor<256xf32>, %c: tensor<256xf32>) -> (tensor<512xf32>, tensor<512xf32>, tensor<512xf32>) {
  %0 = zero.all_gather %a unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
  %x = nn.binary add %0, %0 : tensor<512xf32>
  zero.release %0 unit 0 : tensor<512xf32>
  %1 = zero.all_gather %b unit 1 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
  %y = nn.binary add %1, %1 : tensor<512xf32>
  zero.release %1 unit 1 : tensor<512xf32>
  %2 = zero.all_gather %c unit 2 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
  %z = nn.binary add %2, %2 : tensor<512xf32>
  zero.release %2 unit 2 : tensor<512xf32>
  nn.return %x, %y, %z : tensor<512xf32>, tensor<512xf32>, tensor<512xf32>
}
