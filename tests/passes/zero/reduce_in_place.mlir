// RUN: zerograph-opt %s --split-input-file --zero-reduce-in-place | FileCheck %s

// Stages 0 and 1 keep whole gradients, so the sum takes their place. In stage 0
// the others' parts join it as soon as all segments are reduced.

// CHECK-LABEL: nn.program @step
// CHECK: %[[PACK:.+]] = zero.pack
// CHECK-NEXT: %[[A:.+]] = zero.reduce_scatter %[[PACK]] unit 0 segment 0 {{.*}} in_place
// CHECK-NEXT: %[[B:.+]] = zero.reduce_scatter %[[PACK]] unit 0 segment 1 {{.*}} in_place
// CHECK-NEXT: %[[ALL:.+]] = zero.all_gather %[[A]], %[[B]] unit 0 {{.*}} in_place
// CHECK-NEXT: nn.constant
// CHECK-NEXT: nn.unary neg %[[ALL]]
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256, 256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<512xf32>) -> tensor<512xf32> {
    %pack = zero.pack %g at [0] unit 0 : tensor<512xf32> -> tensor<512xf32>
    %0 = zero.reduce_scatter %pack unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<128xf32>
    %1 = zero.reduce_scatter %pack unit 0 segment 1 group ["data"] reason "r" : tensor<512xf32> -> tensor<128xf32>
    %between = nn.constant dense<1.0> : tensor<4xf32>
    %2 = zero.all_gather %0, %1 unit 0 group ["data"] reason "r" : tensor<128xf32>, tensor<128xf32> -> tensor<512xf32>
    %3 = nn.unary neg %2 : tensor<512xf32> -> tensor<512xf32>
    nn.return %3 : tensor<512xf32>
  }
}

// -----

// A sum that is kept has a place of its own, and so has one that is added to.

// CHECK-LABEL: nn.program @step
// CHECK-NOT: in_place
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<256xf32>) -> tensor<128xf32> {
    %pack = zero.pack %g at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    %0 = zero.reduce_scatter %pack unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    nn.return %0 : tensor<128xf32>
  }
  nn.program @micro(%g: tensor<256xf32>, %acc: tensor<128xf32>) {
    %pack = zero.pack %g at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    %0 = zero.reduce_scatter %pack, %acc unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32>, tensor<128xf32> -> tensor<128xf32>
    %1 = nn.unary neg %0 : tensor<128xf32> -> tensor<128xf32>
    nn.return
  }
}

// -----

// From stage 2 on the whole buffer is kept until its unit is updated, if that
// needs not wait for other units.

// CHECK-LABEL: nn.program @step
// CHECK: zero.reduce_scatter {{.*}} unit 0 {{.*}} in_place
// CHECK-NOT: in_place
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 2 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"c", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"u", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<256xf32>) -> (tensor<128xf32>, tensor<128xf32>) {
    %a = zero.pack %g at [0] unit 0 : tensor<256xf32> -> tensor<256xf32>
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    %b = zero.pack %g at [0] unit 1 : tensor<256xf32> -> tensor<256xf32>
    %1 = zero.reduce_scatter %b unit 1 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    %c = zero.pack %g at [0] unit 2 : tensor<256xf32> -> tensor<256xf32>
    %2 = zero.reduce_scatter %c unit 2 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    %3 = nn.unary neg %0 : tensor<128xf32> -> tensor<128xf32>
    %4 = nn.binary add %1, %2 : tensor<128xf32>
    %5 = nn.binary mul %4, %1 : tensor<128xf32>
    nn.return %3, %5 : tensor<128xf32>, tensor<128xf32>
  }
}

// -----

// A norm that reads the sums beside the gather changes nothing of it.

// CHECK-LABEL: nn.program @step
// CHECK: %[[PACK:.+]] = zero.pack
// CHECK-NEXT: %[[A:.+]] = zero.reduce_scatter %[[PACK]] unit 0 segment 0 {{.*}} in_place
// CHECK-NEXT: zero.all_gather %[[A]] unit 0 {{.*}} in_place
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @step(%g: tensor<512xf32>) -> (tensor<256xf32>, tensor<512xf32>) {
    %pack = zero.pack %g at [0] unit 0 : tensor<512xf32> -> tensor<512xf32>
    %0 = zero.reduce_scatter %pack unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<256xf32>
    %square = nn.binary mul %0, %0 : tensor<256xf32>
    %2 = zero.all_gather %0 unit 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<512xf32>
    %3 = nn.unary neg %2 : tensor<512xf32> -> tensor<512xf32>
    nn.return %square, %3 : tensor<256xf32>, tensor<512xf32>
  }
}
