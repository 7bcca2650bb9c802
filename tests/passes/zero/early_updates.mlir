// RUN: zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(nn.program(zero-hoist-updates))' | FileCheck %s

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

// -----

// Each segment's update reads its own shard in a unit of several segments, so
// none of them waits for another; what they wrote is gathered behind the last.

// CHECK-LABEL: nn.program @segments
// CHECK: %[[A:.+]] = zero.reduce_scatter %{{.+}} segment 0
// CHECK-NEXT: %[[B:.+]] = zero.reduce_scatter %{{.+}} segment 1
// CHECK-NEXT: zero.shard %{{.+}} segment 0
// CHECK-NEXT: %[[X:.+]] = nn.kernel rows (%{{.+}} = %{{.+}}, %{{.+}} = %[[A]])
// CHECK: zero.shard %{{.+}} segment 1
// CHECK-NEXT: %[[Y:.+]] = nn.kernel rows (%{{.+}} = %{{.+}}, %{{.+}} = %[[B]])
// CHECK: zero.all_gather %[[X]], %[[Y]]
// CHECK-NEXT: nn.matmul
#p = #zero.state<unit = 0, segment = -1, "param", sharded = false>
nn.program @segments(%g: tensor<1024xf32>, %x: tensor<4x4xf32>, %p: tensor<1024xf32> {zero.state = #p})
    -> (tensor<1024xf32> {zero.updates = #p}, tensor<4x4xf32>) {
  %0 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<1024xf32> -> tensor<256xf32>
  %1 = zero.reduce_scatter %g unit 0 segment 1 group ["data"] reason "r" : tensor<1024xf32> -> tensor<256xf32>
  %backward = nn.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = zero.shard %p unit 0 segment 0 : tensor<1024xf32> -> tensor<256xf32>
  %4 = nn.kernel rows (%a = %3, %d = %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.binary sub %a, %d : tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %5 = zero.shard %p unit 0 segment 1 : tensor<1024xf32> -> tensor<256xf32>
  %6 = nn.kernel rows (%a = %5, %d = %1) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.binary sub %a, %d : tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %7 = zero.all_gather %4, %6 unit 0 group ["data"] reason "r" in_place : tensor<256xf32>, tensor<256xf32> -> tensor<1024xf32>
  nn.return %7, %backward : tensor<1024xf32>, tensor<4x4xf32>
}

// -----

// A small unit gives a large one no time: its update stands behind more of
// backward.

// CHECK-LABEL: nn.program @small
// CHECK: zero.reduce_scatter %{{.+}} unit 2
// CHECK-NEXT: zero.reduce_scatter %{{.+}} unit 1
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: zero.reduce_scatter %{{.+}} unit 0
// CHECK-NEXT: nn.kernel
// CHECK: nn.unary
#p = #zero.state<unit = 2, segment = 0, "param", sharded = true>
nn.program @small(%g: tensor<512xf32>, %h: tensor<64xf32>, %x: tensor<4x4xf32>, %p: tensor<256xf32> {zero.state = #p})
    -> (tensor<256xf32> {zero.updates = #p}, tensor<4x4xf32>) {
  %0 = zero.reduce_scatter %g unit 2 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %1 = zero.reduce_scatter %h unit 1 segment 0 group ["data"] reason "r" : tensor<64xf32> -> tensor<32xf32>
  %2 = nn.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %3 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %4 = nn.unary neg %2 : tensor<4x4xf32> -> tensor<4x4xf32>
  %5 = nn.kernel rows (%a = %p, %d = %0) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.binary sub %a, %d : tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  nn.return %5, %4 : tensor<256xf32>, tensor<4x4xf32>
}

// -----

// An update that another one reads before it may be moved up itself: then what
// follows it stands behind its new place, and behind its own operands.

// CHECK-LABEL: nn.program @order
// CHECK: zero.reduce_scatter
// CHECK-NEXT: nn.kernel rows (%{{.+}} = %b,
// CHECK: nn.matmul
// CHECK: nn.kernel rows (%{{.+}} = %a,
#s1 = #zero.state<unit = 0, segment = 0, "exp_avg", sharded = true>
#s2 = #zero.state<unit = 0, segment = 0, "param", sharded = true>
nn.program @order(%x: tensor<4x4xf32>, %g: tensor<32xf32>, %a: tensor<16xf32> {zero.state = #s1}, %b: tensor<16xf32> {zero.state = #s2})
    -> (tensor<16xf32> {zero.updates = #s1}, tensor<16xf32> {zero.updates = #s2}) {
  %e = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<32xf32> -> tensor<16xf32>
  %m = nn.matmul %x, %x : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %y = nn.reshape %m : tensor<4x4xf32> -> tensor<16xf32>
  %p = nn.kernel rows (%u = %b, %v = %a, %w = %e) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    %n1 = nn.binary sub %u, %v : tensor<16xf32>
    %n2 = nn.binary sub %n1, %w : tensor<16xf32>
    nn.yield %n2 : tensor<16xf32>
  }
  %q = nn.kernel rows (%u = %a, %v = %y) : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32> {
    %n = nn.binary sub %u, %v : tensor<16xf32>
    nn.yield %n : tensor<16xf32>
  }
  nn.return %q, %p : tensor<16xf32>, tensor<16xf32>
}

// -----

// The host updates when its gradients have come. What it gives back is gathered
// a unit later, so that the reductions between do not wait for the host.

// CHECK-LABEL: nn.program @offloaded
// CHECK: zero.reduce_scatter %{{.+}} unit 2
// CHECK-NEXT: %[[DOWN:.+]] = zero.offload %{{.+}} unit 2
// CHECK-NEXT: zero.reduce_scatter %{{.+}} unit 1
// CHECK-NEXT: %[[NEW:.+]] = nn.kernel rows (%{{.+}} = %m, %{{.+}} = %[[DOWN]])
// CHECK: %[[UP:.+]] = zero.fetch %[[NEW]] unit 2
// CHECK-NEXT: zero.offload %{{.+}} unit 1
// CHECK-NEXT: zero.reduce_scatter %{{.+}} unit 0
// CHECK-NEXT: zero.all_gather %[[UP]] unit 2
// CHECK-NEXT: zero.offload %{{.+}} unit 0
#m = #zero.state<unit = 2, segment = 0, "master", sharded = true>
#p = #zero.state<unit = 2, segment = -1, "param", sharded = false>
nn.program @offloaded(%g: tensor<512xf32>, %m: tensor<256xf32> {zero.state = #m},
                      %p: tensor<512xf32> {zero.state = #p})
    -> (tensor<256xf32> {zero.updates = #m}, tensor<512xf32> {zero.updates = #p},
        tensor<256xf32>, tensor<256xf32>) {
  %0 = zero.reduce_scatter %g unit 2 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %down2 = zero.offload %0 unit 2 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %1 = zero.reduce_scatter %g unit 1 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %down1 = zero.offload %1 unit 1 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %2 = zero.reduce_scatter %g unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
  %down0 = zero.offload %2 unit 0 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %3 = nn.kernel rows (%a = %m, %d = %down2) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.binary sub %a, %d : tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %up = zero.fetch %3 unit 2 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %4 = zero.all_gather %up unit 2 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<512xf32>
  nn.return %3, %4, %down1, %down0 : tensor<256xf32>, tensor<512xf32>, tensor<256xf32>, tensor<256xf32>
}

// -----

// Parameters that the program only replaces are brought and gathered behind
// their update, so that their buffers are free for the next one.

// CHECK-LABEL: nn.program @update
// CHECK: %[[A:.+]] = nn.kernel rows (%{{.+}} = %a)
// CHECK: %[[UP:.+]] = zero.fetch %[[A]] unit 1
// CHECK-NEXT: zero.all_gather %[[UP]] unit 1
// CHECK-NEXT: %[[B:.+]] = nn.kernel rows (%{{.+}} = %b)
// CHECK: zero.fetch %[[B]] unit 0
#a = #zero.state<unit = 1, segment = 0, "master", sharded = true>
#b = #zero.state<unit = 0, segment = 0, "master", sharded = true>
#p = #zero.state<unit = 1, segment = -1, "param", sharded = false>
#q = #zero.state<unit = 0, segment = -1, "param", sharded = false>
nn.program @update(%a: tensor<256xf32> {zero.state = #a}, %b: tensor<256xf32> {zero.state = #b})
    -> (tensor<256xf32> {zero.updates = #a}, tensor<256xf32> {zero.updates = #b},
        tensor<512xf32> {zero.updates = #p}, tensor<512xf32> {zero.updates = #q}) {
  %0 = nn.kernel rows (%x = %a) : (tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.unary neg %x : tensor<256xf32> -> tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %1 = zero.fetch %0 unit 1 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %2 = zero.all_gather %1 unit 1 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<512xf32>
  %3 = nn.kernel rows (%x = %b) : (tensor<256xf32>) -> tensor<256xf32> {
    %new = nn.unary neg %x : tensor<256xf32> -> tensor<256xf32>
    nn.yield %new : tensor<256xf32>
  }
  %4 = zero.fetch %3 unit 0 segment 0 bytes 1024 reason "r" : tensor<256xf32> -> tensor<256xf32>
  %5 = zero.all_gather %4 unit 0 group ["data"] reason "r" in_place : tensor<256xf32> -> tensor<512xf32>
  nn.return %0, %3, %2, %5 : tensor<256xf32>, tensor<256xf32>, tensor<512xf32>, tensor<512xf32>
}
