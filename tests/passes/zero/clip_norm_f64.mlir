// RUN: zerograph-opt %s --zero-clip-norm='clip-norm=0.5 skip-nonfinite' | FileCheck %s

// A scale of f64 is not converted, and only what read it reads the new one.

// CHECK-LABEL: nn.program @update
// CHECK: %[[NORM:.+]] = nn.binary mul %{{.+}}, %gradient_scale : tensor<1xf64>
// CHECK: %[[CLIPPED:.+]] = nn.binary mul %gradient_scale, %{{.+}} : tensor<1xf64>
// CHECK: nn.binary mul %[[CLIPPED]], %learning_rate
module attributes {zero.mesh = #zero.mesh<["data" = 2]>, zero.stage = 1 : i64, zero.accumulate = 1 : i64} {
  zero.layout units [
    #zero.unit<"a", f64, elements = 512, trainable = true, persistent = false, reason = "module", axes = ["data"], segments = [512], states = [<"param", f64, sharded = false>, <"grad", f64, sharded = true>], placements = [<<"w", module = "", trainable = true, init = normal>, tensor<4xf64>, offset = 0>]>] groups [#zero.group<"default">]
  nn.program @update(%gradient_scale: tensor<1xf64> {nn.scalar = #nn.scalar<"gradient_scale">}, %learning_rate: tensor<1xf64> {nn.scalar = #nn.scalar<"learning_rate">}) -> (tensor<1xf64> {zero.updates = #zero.state<unit = 0, segment = -1, "param", sharded = false>}) {
    %0 = nn.binary mul %gradient_scale, %learning_rate : tensor<1xf64>
    nn.return %0 : tensor<1xf64>
  }
}
