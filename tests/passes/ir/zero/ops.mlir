// RUN: zerograph-opt %s | zerograph-opt | FileCheck %s --strict-whitespace
// RUN: zerograph-opt %s --mlir-print-op-generic | zerograph-opt | FileCheck %s --strict-whitespace

// Every op that is printed is parsed again, in every form of its syntax.

// CHECK: nn.program @hold
nn.program @hold(%flat: tensor<4096xf32>, %gw: tensor<16x64xf32>, %gb: tensor<64xf32>) {
  // CHECK: = zero.shard %{{[a-z0-9]+}} unit 0 segment 1 : tensor<4096xf32> -> tensor<512xf32>
  %s = zero.shard %flat unit 0 segment 1 : tensor<4096xf32> -> tensor<512xf32>
  // CHECK: = zero.view %{{[a-z0-9]+}}[256] : tensor<4096xf32> -> tensor<16x64xf32>
  %w = zero.view %flat[256] : tensor<4096xf32> -> tensor<16x64xf32>
  // CHECK: = zero.pack %{{[a-z0-9]+}}, %{{[a-z0-9]+}} at [0, 1024] unit 0 : tensor<16x64xf32>, tensor<64xf32> -> tensor<4096xf32>
  %g = zero.pack %gw, %gb at [0, 1024] unit 0 : tensor<16x64xf32>, tensor<64xf32> -> tensor<4096xf32>
  // CHECK: zero.release %{{[a-z0-9]+}} unit 0 : tensor<4096xf32>
  zero.release %flat unit 0 : tensor<4096xf32>
  nn.return
}

// CHECK: nn.program @gather
nn.program @gather(%s: tensor<512xf32>, %t: tensor<512xf32>) {
  // CHECK: = zero.all_gather %{{[a-z0-9]+}}, %{{[a-z0-9]+}} unit 0 group ["data"] reason "r" : tensor<512xf32>, tensor<512xf32> -> tensor<4096xf32>
  %0 = zero.all_gather %s, %t unit 0 group ["data"] reason "r" : tensor<512xf32>, tensor<512xf32> -> tensor<4096xf32>
  // CHECK: = zero.all_gather %{{[a-z0-9]+}}, %{{[a-z0-9]+}} unit 0 group ["data"] reason "r" in_place : tensor
  %1 = zero.all_gather %s, %t unit 0 group ["data"] reason "r" in_place : tensor<512xf32>, tensor<512xf32> -> tensor<4096xf32>
  // CHECK: %[[H:.*]] = zero.prefetch %{{[a-z0-9]+}} unit 0 group ["data"] reason "r" : tensor<512xf32> -> <tensor<2048xf32>>
  %h = zero.prefetch %s unit 0 group ["data"] reason "r" : tensor<512xf32> -> <tensor<2048xf32>>
  // CHECK: = zero.await %[[H]] : <tensor<2048xf32>> -> tensor<2048xf32>
  %2 = zero.await %h : <tensor<2048xf32>> -> tensor<2048xf32>
  nn.return
}

// CHECK: nn.program @reduce
nn.program @reduce(%g: tensor<4096xf32>, %acc: tensor<512xf32>, %loss: tensor<1xf32>) {
  // CHECK: = zero.reduce_scatter %{{[a-z0-9]+}} unit 0 segment 1 group ["data"] reason "r" in_place : tensor<4096xf32> -> tensor<512xf32>
  %0 = zero.reduce_scatter %g unit 0 segment 1 group ["data"] reason "r" in_place : tensor<4096xf32> -> tensor<512xf32>
  // CHECK: = zero.reduce_scatter %{{[a-z0-9]+}}, %{{[a-z0-9]+}} unit 0 segment 1 group ["data"] reason "r" : tensor<4096xf32>, tensor<512xf32> -> tensor<512xf32>
  %1 = zero.reduce_scatter %g, %acc unit 0 segment 1 group ["data"] reason "r" : tensor<4096xf32>, tensor<512xf32> -> tensor<512xf32>
  // CHECK: = zero.all_reduce %{{[a-z0-9]+}} group ["data"] reason "r" : tensor<1xf32> -> tensor<1xf32>
  %2 = zero.all_reduce %loss group ["data"] reason "r" : tensor<1xf32> -> tensor<1xf32>
  // CHECK: = zero.all_reduce %{{[a-z0-9]+}}, %{{[a-z0-9]+}} group ["data"] reason "r" : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
  %3 = zero.all_reduce %loss, %loss group ["data"] reason "r" : tensor<1xf32>, tensor<1xf32> -> tensor<1xf32>
  nn.return
}

// CHECK: nn.program @cross
nn.program @cross(%g: tensor<512xf32>, %lr: tensor<1xf64>) {
  // CHECK: = zero.offload %{{[a-z0-9]+}} unit 0 segment 1 bytes 2048 reason "r" : tensor<512xf32> -> tensor<512xf32, #zero<space host>>
  %0 = zero.offload %g unit 0 segment 1 bytes 2048 reason "r" : tensor<512xf32> -> tensor<512xf32, #zero<space host>>
  // CHECK: = zero.offload %{{[a-z0-9]+}} bytes 8 reason "r" : tensor<1xf64> -> tensor<1xf64, #zero<space host>>
  %1 = zero.offload %lr bytes 8 reason "r" : tensor<1xf64> -> tensor<1xf64, #zero<space host>>
  // CHECK: = zero.fetch %{{[a-z0-9.]+}} unit 0 bytes 2048 reason "r" : tensor<512xf32, #zero<space host>> -> tensor<512xf32>
  %2 = zero.fetch %0 unit 0 bytes 2048 reason "r" : tensor<512xf32, #zero<space host>> -> tensor<512xf32>
  nn.return
}

// Shards of a unit are spread over its axes, the others of the mesh hold copies.

// CHECK: module attributes {zero.mesh = #zero.mesh<["tensor" = 3, "data" = 2]>
module attributes {zero.mesh = #zero.mesh<["tensor" = 3, "data" = 2]>} {
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @shard(%a: tensor<512xf32>) {
    // CHECK: zero.shard
    %0 = zero.shard %a unit 0 segment 0 : tensor<512xf32> -> tensor<256xf32>
    nn.return
  }
}
