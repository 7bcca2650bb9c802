// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-fuse-step | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(zero-fuse-step{dump-gradients=true})' | FileCheck %s --check-prefix=KEEP

// With one micro-batch the sum of gradients is not carried: it is added to
// nothing, read where it is made, and not zeroed. Other states are as they were.

// CHECK-LABEL: func.func @step
// CHECK-SAME: (%[[G:[a-z0-9]+]]: tensor<256xf32> {nn.input
// CHECK-SAME: %[[L:[a-z0-9]+]]: tensor<1xf32> {zero.state = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}
// CHECK-SAME: %[[P:[a-z0-9]+]]: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>})
// CHECK-SAME: -> (tensor<1xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}
// CHECK-SAME: tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}) {
// CHECK-NEXT: %[[SUM:.+]] = zero.reduce_scatter %[[G]] unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
// CHECK-NEXT: %[[LOSS:.+]] = nn.binary add %[[L]], %[[L]]
// CHECK-NEXT: %[[NEW:.+]] = nn.binary sub %[[P]], %[[SUM]]
// CHECK-NEXT: return %[[LOSS]], %[[NEW]]
// CHECK-NOT: func.func

// Gradients that are to be read are kept, and zeroed by nobody.

// KEEP-LABEL: func.func @step
// KEEP-NOT: zero.state = #zero.state<unit = 0, segment = 0, "grad"
// KEEP: zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
// KEEP: %[[SUM:.+]] = zero.reduce_scatter %{{[a-z0-9]+}} unit 0
// KEEP: return %[[SUM]], %
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 1 : i64, zero.units = [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]} {
  func.func @micro(%g: tensor<256xf32> {nn.input = #nn.input<"g", per_sample = true>},
                   %sum: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
                   %l: tensor<1xf32> {zero.state = #zero.state<unit = -1, segment = -1, "loss", sharded = false>})
      -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
          tensor<1xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}) {
    %0 = zero.reduce_scatter %g, %sum unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32>, tensor<128xf32> -> tensor<128xf32>
    %1 = nn.binary add %l, %l : tensor<1xf32>
    return %0, %1 : tensor<128xf32>, tensor<1xf32>
  }
  func.func @update(%sum: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
                    %p: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>})
      -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>},
          tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    %0 = nn.binary sub %p, %sum : tensor<128xf32>
    %zero = nn.constant dense<0.0> : tensor<128xf32>
    return %0, %zero : tensor<128xf32>, tensor<128xf32>
  }
}

// -----

// With more they stay apart.

// CHECK-LABEL: func.func @micro
// CHECK-LABEL: func.func @update
module attributes {zero.accumulate = 2 : i64} {
  func.func @micro() {
    return
  }
  func.func @update() {
    return
  }
}

// -----

// expected-error @below {{has no programs @micro and @update, or no 'zero.accumulate'; run zero-updates}}
module attributes {zero.accumulate = 1 : i64} {
  func.func @micro() {
    return
  }
}

// -----

module attributes {zero.accumulate = 1 : i64} {
  func.func @micro(%sum: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>})
      -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // expected-error @below {{reads a sum of gradients before it is made}}
    %0 = nn.binary add %sum, %sum : tensor<128xf32>
    return %0 : tensor<128xf32>
  }
  func.func @update() -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    %zero = nn.constant dense<0.0> : tensor<128xf32>
    return %zero : tensor<128xf32>
  }
}
