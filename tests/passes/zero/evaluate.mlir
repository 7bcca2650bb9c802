// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --zero-evaluate | FileCheck %s

// The forward graph of an evaluation reads the units of training, gathered
// where ranks keep shards, and adds its loss times its weight up in f64.

// CHECK-LABEL: nn.program @micro
// CHECK-LABEL: nn.program @evaluate(
// CHECK-SAME: %x: tensor<4xf32>
// CHECK-SAME: %weight: tensor<1xf64>
// CHECK-SAME: %eval_loss: tensor<1xf64>
// CHECK-NEXT: %fc.shard: tensor<256xf32>
// CHECK-NEXT: %[[FLAT:.+]] = zero.all_gather %fc.shard unit 0 stay forward group ["data"] reason "forward of fc, first needed by nn.binary"
// CHECK-NEXT: %[[W:.+]] = zero.view %[[FLAT]][0]
// CHECK-NEXT: %[[Y:.+]] = nn.binary mul %x, %[[W]]
// CHECK-NEXT: zero.release %[[FLAT]] unit 0
// CHECK-NEXT: nn.reduce sum %[[Y]]
// CHECK-NEXT: %[[LOSS:.+]] = nn.reshape
// CHECK-NEXT: %[[ONE:.+]] = nn.reshape %[[LOSS]] : tensor<f32> -> tensor<1xf32>
// CHECK-NEXT: %[[WIDE:.+]] = nn.convert %[[ONE]] : tensor<1xf32> -> tensor<1xf64>
// CHECK-NEXT: %[[PART:.+]] = nn.binary mul %[[WIDE]], %weight : tensor<1xf64>
// CHECK-NEXT: %[[SUM:.+]] = zero.all_reduce %[[PART]], %eval_loss group ["data"] reason "the loss of all that is evaluated"
// CHECK-NEXT: nn.return %[[SUM]] : tensor<1xf64>
// CHECK: %weight {nn.scalar = #nn.scalar<"weight">}
// CHECK: %eval_loss {zero.state = #zero.state<unit = -1, segment = -1, "eval_loss", sharded = false>}
// CHECK: %fc.shard {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>}
// CHECK: tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = -1, "eval_loss", sharded = false>}
// CHECK: zero.layout
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 1 : i64} {
  nn.program @evaluate(%x: tensor<4xf32> {nn.input = #nn.input<"x", per_sample = true>}, %w: tensor<4xf32> {nn.parameter = #nn.parameter<"w", module = "fc", trainable = true, init = normal>}) -> (tensor<f32> {nn.output = "loss"}) {
    %y = nn.binary mul %x, %w : tensor<4xf32>
    %sum = nn.reduce sum %y [0] : tensor<4xf32> -> tensor<1xf32>
    %loss = nn.reshape %sum : tensor<1xf32> -> tensor<f32>
    nn.return %loss : tensor<f32>
  }
  nn.program @micro() {
    nn.return
  }
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

// A module that evaluates nothing stays as it is.

// CHECK-LABEL: nn.program @micro
// CHECK-NOT: nn.program
module {
  nn.program @micro() {
    nn.return
  }
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  // expected-error @below {{does not read parameter "w", which is trained; expected the model that is trained}}
  nn.program @evaluate(%x: tensor<f32> {nn.input = #nn.input<"x", per_sample = false>}) -> (tensor<f32> {nn.output = "loss"}) {
    nn.return %x : tensor<f32>
  }
  zero.layout units [#zero.unit<"fc", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>]
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  // expected-error @below {{reads parameter "v", which is in no unit of training}}
  nn.program @evaluate(%v: tensor<f32> {nn.parameter = #nn.parameter<"v", module = "fc", trainable = false, init = normal>}) -> (tensor<f32> {nn.output = "loss"}) {
    nn.return %v : tensor<f32>
  }
  zero.layout units []
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  // expected-error @below {{has results of types 'tensor<f32>', 'tensor<f32>'; expected one loss, besides metrics and what the loss counts}}
  nn.program @evaluate(%x: tensor<f32> {nn.input = #nn.input<"x", per_sample = false>}) -> (tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "x"}) {
    nn.return %x, %x : tensor<f32>, tensor<f32>
  }
  zero.layout units []
}

// -----

module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  // expected-error @below {{reads parameter "w" as 'f32', of which training keeps 'bf16'}}
  nn.program @evaluate(%w: tensor<f32> {nn.parameter = #nn.parameter<"w", module = "fc", trainable = true, init = normal>}) -> (tensor<f32> {nn.output = "loss"}) {
    nn.return %w : tensor<f32>
  }
  zero.layout units [#zero.unit<"fc", bf16, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", bf16, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "fc", trainable = true, init = normal>, tensor<f32>, offset = 0>]>]
}

// -----

// The count of the loss is added up beside it, with the same weight.

// CHECK-LABEL: nn.program @evaluate(
// CHECK: %[[PART:.+]] = nn.binary mul %{{.+}}, %weight : tensor<1xf64>
// CHECK: zero.all_reduce %[[PART]], %eval_loss group ["data"]
// CHECK: %[[COUNT:.+]] = nn.binary mul %count_{{[0-9]+}}, %weight : tensor<1xf64>
// CHECK: zero.all_reduce %[[COUNT]], %eval_count group ["data"] reason "what the evaluated loss counts"
// CHECK: tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = -1, "eval_loss", sharded = false>}
// CHECK: tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = -1, "eval_count", sharded = false>}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  nn.program @evaluate(%x: tensor<f64> {nn.input = #nn.input<"x", per_sample = false>}, %count: tensor<1xf64> {nn.input = #nn.input<"count", per_sample = false>})
      -> (tensor<f64> {nn.output = "loss"}, tensor<1xf64> {nn.loss_count}) {
    nn.return %x, %count : tensor<f64>, tensor<1xf64>
  }
  zero.layout units []
}

// -----

// Metrics have states of their own, by their places, wherever they stand.

// CHECK-LABEL: nn.program @evaluate(
// CHECK: %[[SUM:.+]] = zero.all_reduce %{{.+}}, %eval_metric.1 group ["data"] reason "the metric total"
// CHECK: %[[LOSS:.+]] = zero.all_reduce %{{.+}}, %eval_loss group ["data"] reason "the loss of all that is evaluated"
// CHECK: %[[FIRST:.+]] = zero.all_reduce %{{.+}}, %eval_metric.0 group ["data"] reason "the metric largest"
// CHECK: nn.return %[[SUM]], %[[LOSS]], %[[FIRST]]
// CHECK: tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = 1, "eval_metric", sharded = false>}
// CHECK: tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = -1, "eval_loss", sharded = false>}
// CHECK: tensor<1xf64> {zero.updates = #zero.state<unit = -1, segment = 0, "eval_metric", sharded = false>}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  nn.program @evaluate(%x: tensor<f32> {nn.input = #nn.input<"x", per_sample = false>}, %n: tensor<f64> {nn.input = #nn.input<"n", per_sample = false>}) -> (tensor<f64> {nn.output = "total", nn.metric = 1 : i64}, tensor<f32> {nn.output = "loss"}, tensor<f32> {nn.output = "largest", nn.metric = 0 : i64}) {
    nn.return %n, %x, %x : tensor<f64>, tensor<f32>, tensor<f32>
  }
  nn.program @micro() {
    nn.return
  }
  zero.layout units []
}
