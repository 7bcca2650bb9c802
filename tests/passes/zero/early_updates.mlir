// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(nn.program(zero-early-updates))' | FileCheck %s

// An update stands behind the next unit's reduction, beside which its own has
// time to end, and brings the part of the state that it reads. What it wrote is
// gathered at once. The last unit's update waits for its own reduction alone.

// CHECK-LABEL: nn.program @step
// CHECK: %[[B:.+]] = zero.reduce_scatter %{{.+}} unit 1
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: %[[A:.+]] = zero.reduce_scatter %{{.+}} unit 0
// CHECK-NEXT: %[[PART:.+]] = zero.shard %{{.+}} unit 1 segment 0
// CHECK-NEXT: %[[NEW:.+]] = nn.kernel rows (%{{.+}} = %[[PART]], %{{.+}} = %[[B]])
// CHECK: zero.all_gather %[[NEW]] unit 1
// CHECK-NEXT: zero.shard %{{.+}} unit 0 segment 0
// CHECK-NEXT: nn.kernel rows (%{{.+}} = %{{.+}}, %{{.+}} = %[[A]])
// CHECK: zero.all_gather %{{.+}} unit 0
// CHECK-NEXT: zero.all_reduce
// CHECK-NEXT: nn.return
#loss = #zero.state<unit = -1, segment = -1, "loss", sharded = false>
#p0 = #zero.state<unit = 0, segment = -1, "param", sharded = false>
#p1 = #zero.state<unit = 1, segment = -1, "param", sharded = false>
nn.program @step(%l: tensor<1xf32> {zero.state = #loss}, %g: tensor<512xf32>,
                %x: tensor<4x4xf32>, %a: tensor<512xf32> {zero.state = #p0},
                %b: tensor<512xf32> {zero.state = #p1})
    -> (tensor<1xf32> {zero.updates = #loss}, tensor<512xf32> {zero.updates = #p0},
        tensor<512xf32> {zero.updates = #p1}, tensor<4x4xf32>) {
  %0 = zero.reduce_scatter %g unit 1 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %backward = nn.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %1 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %2 = zero.all_reduce %l, %l group ["data"] reason "the mean loss" : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
  %3 = zero.shard %b unit 1 segment 0 : tensor<512xf32> -> tensor<256xf32>
  %4 = nn.kernel rows (%p = %3, %d = %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.binary sub %p, %d : tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %5 = zero.all_gather %4 unit 1 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<512xf32>
  %6 = zero.shard %a unit 0 segment 0 : tensor<512xf32> -> tensor<256xf32>
  %7 = nn.kernel rows (%p = %6, %d = %1) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.binary sub %p, %d : tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %8 = zero.all_gather %7 unit 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<512xf32>
  nn.return %2, %8, %5, %backward : tensor<1xf32>, tensor<512xf32>, tensor<512xf32>, tensor<4x4xf32>
}

// -----

// It passes nothing that still reads the old value, be it a part of it, or a
// gather that has only been started.

// CHECK-LABEL: nn.program @readers
// CHECK: zero.prefetch
// CHECK-NEXT: zero.view
// CHECK-NEXT: zero.await
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.kernel
// CHECK: nn.unary
#p = #zero.state<unit = 0, segment = 0, "param", sharded = true>
nn.program @readers(%g: tensor<16xf32>, %p: tensor<16xf32> {zero.state = #p})
    -> (tensor<16xf32> {zero.updates = #p}, tensor<4x4xf32>, tensor<32xf32>) {
  %0 = zero.prefetch %p unit 0 stay backward group ["data"] reason "r" : tensor<16xf32> -> <tensor<32xf32>>
  %1 = zero.view %p[0] : tensor<16xf32> -> tensor<4x4xf32>
  %2 = zero.await %0 : <tensor<32xf32>> -> tensor<32xf32>
  %3 = nn.matmul %1, %1 : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = nn.unary neg %2 : tensor<32xf32> -> tensor<32xf32>
  %5 = nn.kernel rows (%a = %p, %d = %g) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    %new = nn.binary sub %a, %d : tensor<16xf32>
    nn.yield %new : tensor<16xf32>
  }
  nn.return %5, %3, %4 : tensor<16xf32>, tensor<4x4xf32>, tensor<32xf32>
}
