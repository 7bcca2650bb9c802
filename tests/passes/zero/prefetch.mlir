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

// A state that the host keeps is brought in front of the gather that needs it.

// CHECK-LABEL: @from_host
// CHECK-NEXT: %[[A:.+]] = zero.fetch %a
// CHECK-NEXT: zero.prefetch %[[A]] unit 0
// CHECK-NEXT: zero.await
// CHECK-NEXT: %[[B:.+]] = zero.fetch %b
// CHECK-NEXT: zero.prefetch %[[B]] unit 1
// CHECK-NEXT: nn.binary
nn.program @from_host(%a: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = zero.fetch %a unit 0 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %1 = zero.all_gather %0 unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
  %x = nn.binary add %1, %1 : tensor<512xf32>
  %2 = zero.fetch %b unit 1 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %3 = zero.all_gather %2 unit 1 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
  %y = nn.binary add %3, %3 : tensor<512xf32>
  nn.return %x, %y : tensor<512xf32>, tensor<512xf32>
}

// One rank gathers nothing; it brings a unit while the one before is used.

// CHECK-LABEL: @of_one_rank
// CHECK-NEXT: %[[A:.+]] = zero.fetch %a
// CHECK-NEXT: nn.binary add %[[A]]
// CHECK-NEXT: %[[B:.+]] = zero.fetch %b
// CHECK-NEXT: nn.unary
// CHECK-NEXT: nn.binary add %[[B]]
// NONE-LABEL: @of_one_rank
// NONE: nn.unary
// NONE-NEXT: zero.fetch %b
nn.program @of_one_rank(%a: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
  %0 = zero.fetch %a unit 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %x = nn.binary add %0, %0 : tensor<256xf32>
  %y = nn.unary neg %x : tensor<256xf32> -> tensor<256xf32>
  %1 = zero.fetch %b unit 1 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %z = nn.binary add %1, %1 : tensor<256xf32>
  nn.return %y, %z : tensor<256xf32>, tensor<256xf32>
}

// A state that lies in the file is read in front of the fetch that needs it, of
// one rank too.

// CHECK-LABEL: @from_file
// CHECK-NEXT: %[[A:.+]] = zero.read %a
// CHECK-NEXT: %[[AF:.+]] = zero.fetch %[[A]]
// CHECK-NEXT: zero.prefetch %[[AF]] unit 0
// CHECK-NEXT: zero.await
// CHECK-NEXT: %[[B:.+]] = zero.read %b
// CHECK-NEXT: %[[BF:.+]] = zero.fetch %[[B]]
// CHECK-NEXT: nn.binary
// CHECK-NEXT: nn.binary add %[[BF]]
// TWO-LABEL: @from_file
// TWO-NEXT: zero.read %a
// TWO-NEXT: zero.fetch
// TWO-NEXT: zero.prefetch
// TWO-NEXT: zero.read %b
// TWO-NEXT: zero.fetch
// TWO-NEXT: zero.await
nn.program @from_file(%a: tensor<256xf32>, %b: tensor<512xf32>) -> (tensor<512xf32>, tensor<512xf32>) {
  %0 = zero.read %a unit 0 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %1 = zero.fetch %0 unit 0 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %2 = zero.all_gather %1 unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
  %x = nn.binary add %2, %2 : tensor<512xf32>
  %3 = zero.read %b unit 1 bytes 2048 reason "r" : tensor<512xf32> -> tensor<512xf32>
  %4 = zero.fetch %3 unit 1 bytes 2048 reason "r" : tensor<512xf32> -> tensor<512xf32>
  %y = nn.binary add %4, %4 : tensor<512xf32>
  nn.return %x, %y : tensor<512xf32>, tensor<512xf32>
}

// A gather that no op reads is not started early.

// CHECK-LABEL: @unused
// CHECK: nn.unary
// CHECK-NEXT: zero.fetch %a
// TWO-LABEL: @unused
nn.program @unused(%x: tensor<256xf32>, %a: tensor<256xf32>) -> (tensor<256xf32>) {
  %y = nn.unary neg %x : tensor<256xf32> -> tensor<256xf32>
  %0 = zero.fetch %a unit 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  nn.return %y : tensor<256xf32>
}
