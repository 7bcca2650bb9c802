// RUN: zerograph-opt %s | FileCheck %s

// Values are named after the unit and what they are of it; of several segments
// each has its number. A view is named after the parameter.

// CHECK: %h.0.flat = zero.all_gather
// CHECK: %h.0.w = zero.view %h.0.flat[256]
// CHECK: %h.0.coming = zero.prefetch
// CHECK: %h.0.flat_0 = zero.await %h.0.coming
// CHECK: %h.0.shard.1 = zero.shard %h.0.flat unit 0 segment 1
// CHECK: %h.0.grad = zero.pack %h.0.w at [256] unit 0
// CHECK: %h.0.grad.shard.0 = zero.reduce_scatter %h.0.grad unit 0 segment 0
// CHECK: %sum = zero.all_reduce
// CHECK: zero.layout units [
// CHECK-NEXT: #zero.unit<"h.0"
// CHECK-SAME: placements = [{{$}}
// CHECK-NEXT: <<"h.0.w"
module attributes {zero.mesh = #zero.mesh<["data" = 2]>} {
  nn.program @step(%a: tensor<256xf32>, %b: tensor<256xf32>, %l: tensor<1xf32>) {
    %0 = zero.all_gather %a, %b unit 0 group ["data"] reason "r" : tensor<256xf32>, tensor<256xf32> -> tensor<1024xf32>
    %1 = zero.view %0[256] : tensor<1024xf32> -> tensor<4xf32>
    %2 = zero.prefetch %a, %b unit 0 group ["data"] reason "r" : tensor<256xf32>, tensor<256xf32> -> <tensor<1024xf32>>
    %3 = zero.await %2 : <tensor<1024xf32>> -> tensor<1024xf32>
    %4 = zero.shard %0 unit 0 segment 1 : tensor<1024xf32> -> tensor<256xf32>
    %5 = zero.pack %1 at [256] unit 0 : tensor<4xf32> -> tensor<1024xf32>
    %6 = zero.reduce_scatter %5 unit 0 segment 0 group ["data"] reason "r" : tensor<1024xf32> -> tensor<256xf32>
    %7 = zero.all_reduce %l group ["data"] reason "r" : tensor<1xf32> -> tensor<1xf32>
    nn.return
  }
  zero.layout units [
    #zero.unit<"h.0", f32, elements = 1024, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512, 512], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [<<"h.0.w", module = "h.0", trainable = true, init = normal>, tensor<4xf32>, offset = 256>]>
  ]
}
