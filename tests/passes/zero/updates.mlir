// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(zero-updates{optimizer=sgd momentum=0.9 lr=0.1})' | FileCheck %s
// RUN: zerograph-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(zero-updates{optimizer=sgd momentum=0.9 lr=0.1 skip-nonfinite})' | FileCheck %s --check-prefix=SKIPS
// RUN: not zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(zero-updates{optimizer=rmsprop})' 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not zerograph-opt %s --split-input-file --pass-pipeline='builtin.module(zero-updates{optimizer=sgd nesterov=true})' 2>&1 | FileCheck %s --check-prefix=WRONG

// SKIPS: %[[UPDATES:.+]] = nn.compare ne %gradient_scale
// SKIPS: %[[EACH:.+]] = nn.broadcast %[[UPDATES]]
// SKIPS: nn.select %[[EACH]], %{{.+}}, %b.momentum_buffer
// SKIPS: nn.select %{{.+}}, %{{.+}}, %b.param

// NONE: knows no optimizer 'rmsprop'; there are sgd, adam, adamw, lion, adagrad
// WRONG: nesterov needs a momentum above 0

// Stage 0 gathers what was summed and updates everything; units in the order in
// which they are reduced. The sums are left zero.

// CHECK-LABEL: nn.program @update
// CHECK: %b.grad: tensor<128xf32>
// CHECK: %b.param: tensor<256xf32>
// CHECK: %b.momentum_buffer: tensor<256xf32>
// CHECK: %a.grad: tensor<128xf32>
// CHECK: zero.all_gather %b.grad unit 1 group ["data"] reason "every rank updates all parameters of b"
// CHECK: nn.constant dense<0.000000e+00> : tensor<128xf32>
// CHECK: zero.all_gather %a.grad unit 0
// CHECK: %b.grad {zero.state = #zero.state<unit = 1, segment = 0, "grad", sharded = true>}
// CHECK: %b.param {zero.state = #zero.state<unit = 1, segment = -1, "param", sharded = false>}
// CHECK: %b.momentum_buffer {zero.state = #zero.state<unit = 1, segment = -1, "momentum_buffer", sharded = false>}
// CHECK: {nn.scalar = #nn.scalar<"gradient_scale">}
// CHECK: %a.grad {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}
// CHECK: zero.updates = #zero.state<unit = 1, segment = -1, "momentum_buffer", sharded = false>
// CHECK: zero.updates = #zero.state<unit = 1, segment = -1, "param", sharded = false>
// CHECK: zero.updates = #zero.state<unit = 1, segment = 0, "grad", sharded = true>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%a: tensor<256xf32>, %b: tensor<256xf32>) {
    %0 = zero.reduce_scatter %b unit 1 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    %1 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    nn.return
  }
}

// -----

// Stages 1 and 2 update shards of whole parameters, and gather them in place.

// CHECK-LABEL: nn.program @update
// CHECK: %a.grad.0: tensor<128xf32>
// CHECK: %a.grad.1: tensor<128xf32>
// CHECK: %a.param: tensor<512xf32>
// CHECK: %[[OLD0:.+]] = zero.shard %a.param unit 0 segment 0
// CHECK: %[[NEW0:.+]] = nn.binary sub %[[OLD0]]
// CHECK: %[[OLD1:.+]] = zero.shard %a.param unit 0 segment 1
// CHECK: %[[NEW1:.+]] = nn.binary sub %[[OLD1]]
// CHECK: zero.all_gather %[[NEW0]], %[[NEW1]] unit 0 group ["data"] reason "updated parameters of a" in_place
// CHECK: %a.grad.0 {zero.state = #zero.state<unit = 0, segment = 0, "grad", sharded = true>}
// CHECK: %a.grad.1 {zero.state = #zero.state<unit = 0, segment = 1, "grad", sharded = true>}
// CHECK: %a.param {zero.state = #zero.state<unit = 0, segment = -1, "param", sharded = false>}
// CHECK: {zero.state = #zero.state<unit = 0, segment = 0, "momentum_buffer", sharded = true>}
// CHECK: {zero.state = #zero.state<unit = 0, segment = 1, "momentum_buffer", sharded = true>}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 1 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256, 256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%a: tensor<512xf32>) {
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<512xf32> -> tensor<128xf32>
    %1 = zero.reduce_scatter %a unit 0 segment 1 group ["data"] reason "r" : tensor<512xf32> -> tensor<128xf32>
    nn.return
  }
}

// -----

// Stage 3 updates shards and gathers nothing; but for a persistent unit.

// CHECK-LABEL: nn.program @update
// CHECK: %a.shard: tensor<128xf32>
// CHECK-NOT: zero.all_gather {{.*}} unit 0
// CHECK: nn.binary sub %a.shard
// CHECK: zero.all_gather {{.*}} unit 1 {{.*}} in_place
// CHECK: %a.shard {zero.state = #zero.state<unit = 0, segment = 0, "param", sharded = true>}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 3 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = true>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 256, trainable = true, persistent = true, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%a: tensor<256xf32>, %b: tensor<256xf32>) {
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    %1 = zero.reduce_scatter %b unit 1 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    nn.return
  }
}

// -----

// The module says what each group is updated with, and what the optimizer
// keeps.

// CHECK-LABEL: nn.program @update
// CHECK: %gradient_scale {nn.scalar = #nn.scalar<"gradient_scale">}
// CHECK: zero.layout
// CHECK: states = [<"param", f64, sharded = false>, <"grad", f64, sharded = true>, <"momentum_buffer", f64, sharded = true>]
// CHECK: ] groups [
// CHECK-NEXT: #zero.group<"default", {lr = 1.000000e-01 : f64, momentum = {{.*}} : f64, nesterov = {{.*}} : f64, optimizer = "sgd", weight_decay = {{.*}} : f64}>
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 2 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f64, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f64, sharded = false>, <"grad", f64, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf64>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @micro(%a: tensor<512xf64>) {
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<512xf64> -> tensor<256xf64>
    nn.return
  }
}

// -----

// Each group has options of its own, scalars of its own, and states.

// CHECK-LABEL: nn.program @update
// CHECK: %a.param: tensor<256xf32>
// CHECK: %b.param: tensor<256xf32>
// CHECK-DAG: {nn.scalar = #nn.scalar<"gradient_scale">}
// CHECK-DAG: {nn.scalar = #nn.scalar<"learning_rate">}
// CHECK-DAG: {nn.scalar = #nn.scalar<"learning_rate", group = 1>}
// CHECK-NOT: nn.scalar = #nn.scalar<"gradient_scale", group = 1>
// CHECK: zero.layout units [
// CHECK: #zero.unit<"a"{{.*}}<"momentum_buffer"
// CHECK: #zero.unit<"b"
// CHECK-NOT: momentum_buffer
// CHECK: ] groups [
// CHECK-NEXT: #zero.group<"default", {lr = 1.000000e-01 : f64, momentum = 9.000000e-01 : f64
// CHECK-NEXT: #zero.group<"*.b", {lr = 5.000000e-01 : f64, momentum = 0.000000e+00 : f64
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 0 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>]>,
    #zero.unit<"b", f32, elements = 256, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [256], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"x.b", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0, group = 1>]>] groups [#zero.group<"default">, #zero.group<"*.b", {lr = 0.5 : f64, momentum = 0.0 : f64}>]
  nn.program @micro(%a: tensor<256xf32>, %b: tensor<256xf32>) {
    %0 = zero.reduce_scatter %a unit 0 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    %1 = zero.reduce_scatter %b unit 1 segment 0 group ["data"] reason "r" : tensor<256xf32> -> tensor<128xf32>
    nn.return
  }
}

// -----

// expected-error @below {{unit "a" has parameters of optimizer groups 0 and 1 (b); expected one group a unit, of 1}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 2 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f32, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f32, sharded = false>, <"grad", f32, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 0>, <<"b", module = "", trainable = true, init = normal>, tensor<4xf32>, offset = 256, group = 1>]>] groups [#zero.group<"default">]
  nn.program @micro() {
    nn.return
  }
}

// -----

// expected-error @below {{group "b": sgd has no eps}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 2 : i64} {
  zero.layout units [] groups [#zero.group<"a">, #zero.group<"b", {eps = 0.5 : f64}>]
  nn.program @micro() {
    nn.return
  }
}

// -----

// expected-error @below {{group "b": lr is no number, as 0.5 : f64}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 2 : i64} {
  zero.layout units [] groups [#zero.group<"a">, #zero.group<"b", {lr = 1 : i64}>]
  nn.program @micro() {
    nn.return
  }
}

// -----

// expected-error @below {{has no optimizer groups in its zero.layout}}
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 2 : i64} {
  zero.layout units []
  nn.program @micro() {
    nn.return
  }
}
