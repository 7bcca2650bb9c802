// RUN: zerograph-opt %s --zero-expand-all-reduce | FileCheck %s

// A unit's all_reduce becomes one reduction a segment and one gather, all in
// place; a scalar's stays.

module attributes {zero.world = 2 : i64, zero.units = [#zero.unit<"fc", f32, elements = 1024, trainable = true, persistent = false, reason = "module", segments = [512, 512], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]} {
  // CHECK-LABEL: @step
  // CHECK: %[[A:.+]] = zero.reduce_scatter %arg0 unit 0 segment 0 group "data" reason "r" in_place : tensor<1024xf32> -> tensor<256xf32>
  // CHECK: %[[B:.+]] = zero.reduce_scatter %arg0 unit 0 segment 1 group "data" reason "r" in_place : tensor<1024xf32> -> tensor<256xf32>
  // CHECK: %[[G:.+]] = zero.all_gather %[[A]], %[[B]] unit 0 group "data" reason "r" in_place
  // CHECK: zero.all_reduce %arg1 unit -1
  // CHECK: return %[[G]]
  func.func @step(%g: tensor<1024xf32>, %loss: tensor<1xf32>) -> (tensor<1024xf32>, tensor<1xf32>) {
    %0 = zero.all_reduce %g unit 0 group "data" reason "r" : tensor<1024xf32> -> tensor<1024xf32>
    %1 = zero.all_reduce %loss unit -1 group "data" reason "loss" : tensor<1xf32> -> tensor<1xf32>
    return %0, %1 : tensor<1024xf32>, tensor<1xf32>
  }
}
