// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-fuse-step | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(zero-fuse-step{dump-gradients=true})' | FileCheck %s --check-prefix=KEEP

// With one micro-batch the sum of gradients is not carried: it is added to
// nothing, read where it is made, and not zeroed. Other states are as they were.

// CHECK-LABEL: nn.program @step
// CHECK-SAME: (%[[G:[^:]+]]: tensor<256xf32>
// CHECK-SAME: %[[L:[^:]+]]: tensor<1xf32>
// CHECK-SAME: %[[P:[^:]+]]: tensor<128xf32>
// CHECK-NEXT: %[[SUM:.+]] = zero.reduce_scatter %[[G]] unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
// CHECK-NEXT: %[[LOSS:.+]] = nn.binary add %[[L]], %[[L]]
// CHECK-NEXT: %[[NEW:.+]] = nn.binary sub %[[P]], %[[SUM]]
// CHECK-NEXT: nn.return %[[LOSS]], %[[NEW]]
// CHECK-NOT: nn.program
// CHECK: %[[G]] {nn.input
// CHECK: %[[L]] {zero.state = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}
// CHECK: %[[P]] {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>}
// CHECK: tensor<1xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}
// CHECK: tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>}

// Gradients that are to be read are kept, and zeroed by nobody.

// KEEP-LABEL: nn.program @step
// KEEP: %[[SUM:.+]] = zero.reduce_scatter %{{[a-z0-9]+}} unit 0
// KEEP: nn.return %[[SUM]], %
// KEEP-NOT: zero.state = #zero.state<unit = 0, segment = 0, "grad"
// KEEP: zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro(%g: tensor<256xf32> {nn.input = #nn.input<"g", per_sample = true>},
                   %sum: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
                   %l: tensor<1xf32> {zero.state = #zero.state<unit = -1, segment = -1, "loss", sharded = false>})
      -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
          tensor<1xf32> {zero.updates = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}) {
    %0 = zero.reduce_scatter %g, %sum unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32>, tensor<128xf32> -> tensor<128xf32>
    %1 = nn.binary add %l, %l : tensor<1xf32>
    nn.return %0, %1 : tensor<128xf32>, tensor<1xf32>
  }
  nn.program @update(%sum: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>},
                    %p: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>})
      -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "param", sharded = true>},
          tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    %0 = nn.binary sub %p, %sum : tensor<128xf32>
    %zero = nn.constant dense<0.0> : tensor<128xf32>
    nn.return %0, %zero : tensor<128xf32>, tensor<128xf32>
  }
}

// -----

// With more they stay apart.

// CHECK-LABEL: nn.program @micro
// CHECK-LABEL: nn.program @update
module attributes {zero.accumulate = 2 : i64} {
  nn.program @micro() {
    nn.return
  }
  nn.program @update() {
    nn.return
  }
}

// -----

// expected-error @below {{has no programs @micro and @update, or no 'zero.accumulate'; run zero-updates}}
module attributes {zero.accumulate = 1 : i64} {
  nn.program @micro() {
    nn.return
  }
}

// -----

module attributes {zero.accumulate = 1 : i64} {
  nn.program @micro(%sum: tensor<128xf32> {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>})
      -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    // expected-error @below {{reads a sum of gradients before it is made}}
    %0 = nn.binary add %sum, %sum : tensor<128xf32>
    nn.return %0 : tensor<128xf32>
  }
  nn.program @update() -> (tensor<128xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}) {
    %zero = nn.constant dense<0.0> : tensor<128xf32>
    nn.return %zero : tensor<128xf32>
  }
}
