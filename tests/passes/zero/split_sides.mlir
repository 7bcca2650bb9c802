// RUN: zerograph-opt %s --split-input-file --zero-split-sides | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --zg-kernels | FileCheck %s --check-prefix=KERNELS

// A sum of literals that both sides take is made on each, with what it is made
// of; literals, which kernels make where they need them, are not copied.

// CHECK-LABEL: nn.program @joined
// CHECK-NEXT: %[[PLACES:.+]] = nn.iota 1 : tensor<4x8xf32>
// CHECK-NEXT: %[[SUM:.+]] = nn.reduce sum %[[PLACES]] [1]
// CHECK-NEXT: %[[HOSTS:.+]] = nn.reduce sum %[[PLACES]] [1]
// CHECK-NEXT: %[[ROW:.+]] = nn.reshape %[[SUM]]
// CHECK-NEXT: %[[HOSTS_ROW:.+]] = nn.reshape %[[HOSTS]]
// CHECK-NEXT: nn.binary sub %a, %[[ROW]]
// CHECK-NEXT: nn.binary sub %b, %[[HOSTS_ROW]]

// So no kernel takes memory of both.

// KERNELS-LABEL: nn.program @joined
// KERNELS: nn.kernel rows (%{{[^,]+}} = %a) :
// KERNELS: nn.kernel rows (%{{[^,]+}} = %b) :
#a = #zero.state<unit = 0, segment = -1, "param", sharded = false>
#b = #zero.state<unit = 1, segment = -1, "param", sharded = false>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  nn.program @joined(%a: tensor<4xf32> {zero.state = #a}, %b: tensor<4xf32> {zero.state = #b})
      -> (tensor<4xf32> {zero.updates = #a}, tensor<4xf32> {zero.updates = #b}) {
    %places = nn.iota 1 : tensor<4x8xf32>
    %0 = nn.reduce sum %places [1] : tensor<4x8xf32> -> tensor<4x1xf32>
    %1 = nn.reshape %0 : tensor<4x1xf32> -> tensor<4xf32>
    %2 = nn.binary sub %a, %1 : tensor<4xf32>
    %3 = nn.binary sub %b, %1 : tensor<4xf32>
    nn.return %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 4, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [4], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 4, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [4], states = [<"param", f32, sharded = false, space = pinned>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// Nor does CSE leave one kernel that makes it for both.

// KERNELS-LABEL: nn.program @alone
// KERNELS: %[[OURS:.+]] = nn.kernel rows () : () -> tensor<4x1xi64>
// KERNELS: nn.kernel rows (%{{.+}} = %a, %{{.+}} = %[[OURS]]) :
// KERNELS: %[[HOSTS:.+]] = nn.kernel rows () : () -> tensor<4x1xi64>
// KERNELS: nn.kernel rows (%{{.+}} = %b, %{{.+}} = %[[HOSTS]]) :
#a = #zero.state<unit = 0, segment = -1, "param", sharded = false>
#b = #zero.state<unit = 1, segment = -1, "param", sharded = false>
module attributes {zero.mesh = #zero.mesh<["data" = 1]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  nn.program @alone(%a: tensor<4xf32> {zero.state = #a}, %b: tensor<4xf32> {zero.state = #b})
      -> (tensor<4xf32> {zero.updates = #a}, tensor<4xf32> {zero.updates = #b}) {
    %places = nn.iota 1 : tensor<4x3xi64>
    %0 = nn.reduce sum %places [1] : tensor<4x3xi64> -> tensor<4x1xi64>
    %1 = nn.reshape %0 : tensor<4x1xi64> -> tensor<4xi64>
    %2 = nn.gather %a, %1 : tensor<4xf32>, tensor<4xi64> -> tensor<4xf32>
    %3 = nn.gather %b, %1 : tensor<4xf32>, tensor<4xi64> -> tensor<4xf32>
    nn.return %2, %3 : tensor<4xf32>, tensor<4xf32>
  }
  zero.layout units [
    #zero.unit<"a", f32, elements = 4, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [4], states = [<"param", f32, sharded = false>], placements = [<<"v", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 4, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [4], states = [<"param", f32, sharded = false, space = pinned>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}
