// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-reductions | FileCheck %s

// Each segment of a unit's gradients is added, where they are packed, to the
// rank's carried shard; the loss and the stop flag are added up on every rank.

// CHECK-LABEL: nn.program @micro
// CHECK-SAME: %fc.grad.0: tensor<256xf32>
// CHECK-SAME: %fc.grad.1: tensor<128xf32>
// CHECK-NEXT: %loss.sum: tensor<1xf32>
// CHECK-SAME: %stop: tensor<1xf32>
// CHECK-SAME: %stop.sum: tensor<1xf32>
// CHECK-NEXT: %[[LOSS:.+]] = nn.constant dense<2.0
// CHECK-NEXT: %[[G:.+]] = nn.constant dense<1.0
// CHECK-NEXT: %[[PACK:.+]] = zero.pack %[[G]]
// CHECK-NEXT: %[[A:.+]] = zero.reduce_scatter %[[PACK]], %fc.grad.0 unit 0 segment 0 group ["data"] reason "gradients of fc are complete"
// CHECK-NEXT: %[[B:.+]] = zero.reduce_scatter %[[PACK]], %fc.grad.1 unit 0 segment 1 group ["data"]
// CHECK-NEXT: nn.constant dense<3.0
// CHECK-NEXT: %[[ONE:.+]] = nn.reshape %[[LOSS]] : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT: %[[MEAN:.+]] = zero.all_reduce %[[ONE]], %loss.sum group ["data"] reason "the mean loss"
// CHECK-NEXT: %[[ALL:.+]] = zero.all_reduce %stop, %stop.sum group ["data"] reason "ranks stop after the same step"
// CHECK-NEXT: nn.return %[[A]], %[[B]], %[[MEAN]], %[[ALL]]
// CHECK: %fc.grad.0 {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}
// CHECK: %fc.grad.1 {zero.state = #zero.state<unit = 0, segment = 1, "grad", sharded = true>}
// CHECK: %loss.sum {zero.state = #zero.state<unit = -1, segment = -1, "loss", sharded = false>}
// CHECK: %stop {nn.scalar = #nn.scalar<"stop">}
// CHECK: %stop.sum {zero.state = #zero.state<unit = -1, segment = -1, "stop", sharded = false>}
// CHECK: tensor<256xf32> {zero.updates = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [#zero.unit<"fc", f32, elements = 768, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512, 256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
  nn.program @micro() -> (tensor<f32> {nn.output = "loss"}, tensor<768xf32> {zero.gradient = 0 : i64}) {
    %loss = nn.constant dense<2.0> : tensor<f32>
    %g = nn.constant dense<1.0> : tensor<4xf32>
    %pack = zero.pack %g at [0] unit 0 : tensor<4xf32> -> tensor<768xf32>
    %other = nn.constant dense<3.0> : tensor<4xf32>
    nn.return %loss, %pack : tensor<f32>, tensor<768xf32>
  }
}

// -----

// A loss of another type is reduced as f32, one of f64 as it is.

// CHECK-LABEL: nn.program @micro
// CHECK: %[[ONE:.+]] = nn.reshape {{.*}} -> tensor<1xf16>
// CHECK: %[[WIDE:.+]] = nn.convert %[[ONE]] : tensor<1xf16> -> tensor<1xf32>
// CHECK: zero.all_reduce %[[WIDE]]
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units []
  nn.program @micro() -> (tensor<f16> {nn.output = "loss"}) {
    %loss = nn.constant dense<2.0> : tensor<f16>
    nn.return %loss : tensor<f16>
  }
}

// -----

// CHECK-LABEL: nn.program @micro
// CHECK: zero.all_reduce {{.*}} : tensor<1xf64>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units []
  nn.program @micro() -> (tensor<f64> {nn.output = "loss"}) {
    %loss = nn.constant dense<2.0> : tensor<f64>
    nn.return %loss : tensor<f64>
  }
}

// -----

// expected-error @below {{has no zero.layout; run zero-layout}}
module attributes {zero.stage = 0 : i64} {
}

// -----

// expected-error @below {{has no program @micro; run zero-layout}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64} {
  zero.layout units []
}
